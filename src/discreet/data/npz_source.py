"""Arrays in an ``.npz`` file become a pool: ``x``, ``y``, perhaps ``silo``, ``id``; or train and test part.

Never a pickle: object arrays are refused by NumPy itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.archives import read_arrays
from discreet.arrays import Integers
from discreet.data.array_records import (
    Array,
    Part,
    identities_of_ids,
    is_real,
    not_finite_note,
    records_of,
    scaled,
    whole_labels,
)
from discreet.data.identity import Marks
from discreet.data.pool import Pool
from discreet.data.spelling import spelling
from discreet.data.table import nearest_hint
from discreet.errors import DataError

SILO = "silo"
ID = "id"


def pool_of_npz(
    path: Path,
    *,
    num_classes: int | None,
    feature_norm_bound: float | None,
    keep_test_set: bool = True,
    id_array: str | None = None,
    pixels: bool | None = None,
    persons: bool = False,
) -> Pool:
    """Reads the arrays of ``path``.

    The file holds ``x``, ``y`` and optionally ``silo`` (one text or number a record), or ``x_train``,
    ``y_train``, ``x_test``, ``y_test``; and optionally ``id`` (one text or number for each record that is
    not in a test set of its own). Numbers and labels are read by the rules of `discreet.data.array_records`.

    Args:
        path: the file.
        num_classes: public number of classes; None if the file has an array ``classes`` of their names.
        feature_norm_bound: if given, records are flattened, a constant feature is appended and each record is
            scaled to this L2 norm, as linear models need. None keeps shapes and promises no bound.
        keep_test_set: if False, the file's own test records are put after the others.
        id_array: another name for ``id``, which must then be there.
        pixels: whether bytes are pixels; see `discreet.data.array_records.records_of`.
        persons: whether ids are of persons.

    Raises:
        DataError: if the file or an array is missing or does not fit; or if test records are to be put among
            records that have silos of their own, because test records have none.
    """
    arrays = _arrays(path)
    classes = num_classes if num_classes is not None else _class_count(arrays, path.name)
    names = [("x", "y")]
    if "x_train" in arrays:
        names = [("x_train", "y_train"), ("x_test", "y_test")]
    if SILO in arrays and not keep_test_set and len(names) > 1:
        raise DataError(f"{path.name}: keep_test_set must be true where records have silos of their own.")
    parts = [_part(arrays, *both, path.name) for both in names]
    together = parts[:1] if keep_test_set else parts
    apart = parts[len(together) :]
    count = sum(len(part.labels) for part in together)
    found = records_of(together, classes, pixels=pixels)
    test = records_of(apart, classes, pixels=pixels) if apart else None
    silos = _entries(arrays, SILO, found.rows, count, path.name)
    ids = _entries(arrays, id_array or ID, found.rows, count, path.name, needed=id_array is not None)
    identities = found.identities if ids is None else identities_of_ids(ids, persons=persons)
    return Pool(
        name=path.name,
        records=scaled(found.records, feature_norm_bound),
        marks=Marks(identities, found.rows, named=ids is not None),
        num_classes=classes,
        test=None if test is None else scaled(test.records, feature_norm_bound),
        groups={} if silos is None else {SILO: [spelling(str(one)) for one in silos]},
        own_silos=None if silos is None else SILO,
        feature_norm_bound=feature_norm_bound,
        notes=found.notes if test is None else (*found.notes, *test.notes),
        guessed_pixels=found.guessed_pixels,
    )


@dataclass(frozen=True, slots=True, repr=False)
class NpzRows:
    """Records of a file as they are in it: to predict their labels, or to compare them.

    Attributes:
        features: the array ``x``.
        labels: those of ``y``, -1 where one is no whole number or no label is asked for.
        named: what an array says of each record, if one was asked for and is there.
        notes: for the owner.
    """

    features: Array
    labels: Integers
    named: tuple[str, ...] | None
    notes: tuple[str, ...]


def rows_of_npz(path: Path, *, labelled: bool, named_by: str | None, needed: bool = True) -> NpzRows:
    """Reads ``x`` of a file, and ``y`` if ``labelled``.

    Args:
        path: the file.
        labelled: whether labels are asked for.
        named_by: the array with a text or number for each record; None asks for none.
        needed: whether that array must be there.

    Raises:
        DataError: if the file or an array is missing or does not fit.
    """
    arrays, file = _arrays(path), path.name
    if "x" not in arrays:
        raise DataError(f"{file}: there is no array 'x'.{nearest_hint('x', arrays)}")
    features = arrays["x"]
    if not (is_real(features) and features.ndim):
        raise DataError(f"{file}: 'x' must be real numbers; got {features.dtype}, shape {features.shape}.")
    if not features.size:
        raise DataError(f"{file}: 'x' must hold a record, and records a number; got shape {features.shape}.")
    labels = np.full(len(features), -1, dtype=np.int64)
    if labelled:
        labels = whole_labels(_part(arrays, "x", "y", file).labels)
    rows = np.arange(len(features))
    found = None if named_by is None else _entries(arrays, named_by, rows, len(rows), file, needed=needed)
    named = None if found is None else tuple(map(str, found))
    return NpzRows(features, labels, named, not_finite_note(~np.isfinite(features), file))


def _arrays(path: Path) -> dict[str, Array]:
    """Loads every array."""
    try:
        return read_arrays(path)
    except OSError as error:
        raise DataError(f"the data must be a readable .npz file; {path}: {error.strerror}.") from None
    except ValueError as error:
        raise DataError(f"{error}.") from None


def _class_count(arrays: dict[str, Array], name: str) -> int:
    """Returns the number of class names in the file; never looks at the labels, which are private."""
    if "classes" not in arrays:
        raise DataError(
            f"{name}: the number of classes must be known without looking at the records. "
            "Give num_classes, or put an array 'classes' with their names into the file."
        )
    return len(arrays["classes"])


def _part(arrays: dict[str, Array], features: str, labels: str, file: str) -> Part:
    """Returns one part's features and labels as they are in the file."""
    for name in (features, labels):
        if name not in arrays:
            raise DataError(f"{file}: there is no array {name!r}.{nearest_hint(name, arrays)}")
    return Part(f"{file}, arrays {features!r} and {labels!r}", arrays[features], arrays[labels])


def _entries(
    arrays: dict[str, Array], array: str, rows: Integers, count: int, file: str, *, needed: bool = False
) -> list[object] | None:
    """Returns what an array of silos or ids says of each record, or None if there is no such array."""
    if array not in arrays and not needed:
        return None
    if array not in arrays:
        raise DataError(f"{file}: there is no array {array!r}.{nearest_hint(array, arrays)}")
    if arrays[array].shape != (count,):
        raise DataError(
            f"{file}: the array {array!r} must have one entry for each of {count} records; "
            f"got shape {arrays[array].shape}."
        )
    entries: list[object] = arrays[array][rows].tolist()
    return entries
