"""Arrays in an ``.npz`` file become a pool: ``x``, ``y``, perhaps ``silo``, ``id``; or train and test part.

Never a pickle: object arrays are refused by NumPy itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.archives import read_arrays
from discreet.arrays import Float32s, Integers
from discreet.data.identity import Identities, Marks
from discreet.data.norm import scaled_with_constant
from discreet.data.pool import Pool
from discreet.data.records import Records
from discreet.data.spelling import identifier, spelling
from discreet.data.table import nearest_hint
from discreet.errors import DataError

SILO = "silo"
ID = "id"

_LARGEST_LABEL = 2.0**53

Part = tuple[str, str]
"""The names of the arrays of a part's features and labels."""


@dataclass(frozen=True, slots=True)
class _Readable:
    """The records of some parts of a file, the places they had there, and notes for the owner."""

    records: Records
    identities: Identities
    places: Integers
    count: int
    notes: tuple[str, ...]


def pool_of_npz(
    path: Path,
    *,
    num_classes: int | None,
    feature_norm_bound: float | None,
    keep_test_set: bool = True,
    id_array: str | None = None,
) -> Pool:
    """Reads the arrays of ``path``.

    The file holds ``x``, ``y`` and optionally ``silo`` (one text or number a record), or ``x_train``,
    ``y_train``, ``x_test``, ``y_test``; and optionally ``id`` (one text or number for each record that is
    not in a test set of its own). Byte images are divided by 255; other numbers are taken as they are, but
    for one that is not finite, which becomes 0. A record whose label is none of the classes is left out.

    Args:
        path: the file.
        num_classes: public number of classes; None if the file has an array ``classes`` of their names.
        feature_norm_bound: if given, records are flattened, a constant feature is appended and each record is
            scaled to this L2 norm, as linear models need. None keeps shapes and promises no bound.
        keep_test_set: if False, the file's own test records are put after the others.
        id_array: another name for ``id``, which must then be there.

    Raises:
        DataError: if the file or an array is missing or does not fit; or if test records are to be put among
            records that have silos of their own, because test records have none.
    """
    arrays = _arrays(path)
    classes = num_classes if num_classes is not None else _class_count(arrays, path.name)
    parts: list[Part] = [("x", "y")]
    if "x_train" in arrays:
        parts = [("x_train", "y_train"), ("x_test", "y_test")]
    if SILO in arrays and not keep_test_set and len(parts) > 1:
        raise DataError(f"{path.name}: keep_test_set must be true where records have silos of their own.")
    together = parts[:1] if keep_test_set else parts
    found = _readable(arrays, together, path.name, classes)
    apart = parts[len(together) :]
    test = _readable(arrays, apart, path.name, classes) if apart else None
    silos = _texts(arrays, SILO, found, path.name)
    ids = _texts(arrays, id_array or ID, found, path.name, needed=id_array is not None)
    identities = found.identities if ids is None else Identities.of_texts(list(map(identifier, ids)))
    return Pool(
        name=path.name,
        records=_scaled(found.records, feature_norm_bound),
        marks=Marks(identities, found.places, named=ids is not None),
        num_classes=classes,
        test=None if test is None else _scaled(test.records, feature_norm_bound),
        groups={} if silos is None else {SILO: silos},
        own_silos=None if silos is None else SILO,
        feature_norm_bound=feature_norm_bound,
        notes=found.notes if test is None else (*found.notes, *test.notes),
    )


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Loads every array."""
    try:
        return read_arrays(path)
    except OSError as error:
        raise DataError(f"the data must be a readable .npz file; {path}: {error.strerror}.") from None
    except ValueError as error:
        raise DataError(f"{error}.") from None


def _class_count(arrays: dict[str, npt.NDArray[Any]], name: str) -> int:
    """Returns the number of class names in the file; never looks at the labels, which are private."""
    if "classes" not in arrays:
        raise DataError(
            f"{name}: the number of classes must be known without looking at the records. "
            "Give num_classes, or put an array 'classes' with their names into the file."
        )
    return len(arrays["classes"])


def _readable(
    arrays: dict[str, npt.NDArray[Any]], parts: list[Part], file: str, num_classes: int
) -> _Readable:
    """Returns the records of some parts of the file, one part after the other."""
    found = [_part(arrays, part, file) for part in parts]
    where = f"{file}, arrays {' and '.join(repr(name) for part in parts for name in part)}"
    shapes = {raw.shape[1:] for raw, _ in found}
    if len(shapes) > 1:
        raise DataError(f"{where}: all features must have one shape; got {sorted(shapes)}.")
    # Filled part by part: a copy of each and then one of all would hold everything twice.
    features = np.empty((sum(len(raw) for raw, _ in found), *shapes.pop()), dtype=np.float32)
    first = 0
    for raw, _ in found:
        rows = features[first : first + len(raw)]
        if raw.dtype == np.uint8:
            np.divide(raw, np.float32(255.0), out=rows)
        else:
            with np.errstate(all="ignore"):
                rows[...] = raw
        first += len(raw)
    features = features[:, None] if features.ndim == 1 else features
    labels = np.concatenate([_whole_labels(own) for _, own in found])
    kept = (labels >= 0) & (labels < num_classes)
    notes = _made_finite(features, where)
    if left_out := int((~kept).sum()):
        notes += (
            f"{where}: {left_out} of {len(kept)} labels are not in [0, {num_classes}); these records are "
            "left out.",
        )
    records = Records(features, np.where(kept, labels, 0))
    return _Readable(
        records if kept.all() else records.take(kept),
        Identities.of_content(features, labels).take(kept),
        np.flatnonzero(kept).astype(np.int64),
        len(kept),
        notes,
    )


def _whole_labels(labels: npt.NDArray[Any]) -> Integers:
    """Returns labels as integers, -1 where one is no whole number: a gap turns a whole array into floats."""
    if np.issubdtype(labels.dtype, np.integer):
        return labels.astype(np.int64)
    whole = np.isfinite(labels) & (labels == np.floor(labels)) & (np.abs(labels) < _LARGEST_LABEL)
    return np.where(whole, labels, -1).astype(np.int64)


def _made_finite(features: Float32s, where: str) -> tuple[str, ...]:
    """Puts 0 where a number is not finite; returns a note about such records."""
    unusable = ~np.isfinite(features)
    count = int(unusable.any(axis=tuple(range(1, features.ndim))).sum())
    if not count:
        return ()
    features[unusable] = 0.0
    return (f"{where}: {count} of {len(features)} records hold NaN or Inf, which count as 0.",)


def _scaled(records: Records, bound: float | None) -> Records:
    """Scales the records to a bound, if there is one."""
    if bound is None:
        return records
    return Records(scaled_with_constant(records.features, bound), records.labels)


def _part(
    arrays: dict[str, npt.NDArray[Any]], part: Part, file: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Returns one part's features and labels as they are in the file."""
    for name in part:
        if name not in arrays:
            raise DataError(f"{file}: there is no array {name!r}.{nearest_hint(name, arrays)}")
    raw, labels = (arrays[name] for name in part)
    where = f"{file}, arrays {part[0]!r} and {part[1]!r}"
    real = np.issubdtype(raw.dtype, np.integer) or np.issubdtype(raw.dtype, np.floating)
    if not (real and (np.issubdtype(labels.dtype, np.integer) or np.issubdtype(labels.dtype, np.floating))):
        raise DataError(f"{where}: features must be real numbers and labels whole numbers.")
    if not (raw.ndim >= 1 and labels.shape == raw.shape[:1]):
        raise DataError(
            f"{where}: every record must have one label; got shapes {raw.shape} and {labels.shape}."
        )
    return raw, labels


def _texts(
    arrays: dict[str, npt.NDArray[Any]], array: str, found: _Readable, file: str, *, needed: bool = False
) -> list[str] | None:
    """Returns what an array of silos or ids says of each record, or None if there is no such array."""
    if array not in arrays and not needed:
        return None
    if array not in arrays:
        raise DataError(f"{file}: there is no array {array!r}.{nearest_hint(array, arrays)}")
    if arrays[array].shape != (found.count,):
        raise DataError(
            f"{file}: the array {array!r} must have one entry for each of {found.count} records; "
            f"got shape {arrays[array].shape}."
        )
    return [spelling(str(one)) for one in arrays[array][found.places].tolist()]
