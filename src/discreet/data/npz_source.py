"""Arrays in an ``.npz`` file become a pool: ``x``, ``y`` and perhaps ``silo``, or a train and a test part.

Never a pickle: object arrays are refused by NumPy itself.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.data.norm import scaled_with_constant
from discreet.data.pool import Pool, checked_records
from discreet.data.records import Records
from discreet.data.table import nearest_hint
from discreet.errors import DataError

SILO = "silo"

Part = tuple[str, str]
"""The names of the arrays of a part's features and labels."""


def pool_of_npz(
    path: Path, *, num_classes: int | None, feature_norm_bound: float | None, keep_test_set: bool = True
) -> Pool:
    """Reads the arrays of ``path``.

    The file holds ``x``, ``y`` and optionally ``silo`` (one text or number a record), or ``x_train``,
    ``y_train``, ``x_test``, ``y_test``. Byte images are divided by 255; other numbers are taken as they are.

    Args:
        path: the file.
        num_classes: public number of classes; None if the file has an array ``classes`` of their names.
        feature_norm_bound: if given, records are flattened, a constant feature is appended and each record is
            scaled to this L2 norm, as linear models need. None keeps shapes and promises no bound.
        keep_test_set: if False, the file's own test records are put after the others.

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
    records = _records(arrays, together, path.name, feature_norm_bound)
    apart = parts[len(together) :]
    return Pool(
        name=path.name,
        records=records,
        num_classes=classes,
        test=_records(arrays, apart, path.name, feature_norm_bound) if apart else None,
        groups=_groups(arrays, len(records), path.name),
        own_silos=SILO if SILO in arrays else None,
        feature_norm_bound=feature_norm_bound,
    )


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Loads every array."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path.name} must be an .npz archive of named arrays; it is a single array.")
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        reason = error.strerror or "it is not an .npz archive"
        raise DataError(f"the data must be a readable .npz file; {path}: {reason}.") from None
    except (ValueError, EOFError, zipfile.BadZipFile):
        raise DataError(
            f"{path.name} must be an .npz file of plain arrays, without pickled objects."
        ) from None


def _class_count(arrays: dict[str, npt.NDArray[Any]], name: str) -> int:
    """Returns the number of class names in the file; never looks at the labels, which are private."""
    if "classes" not in arrays:
        raise DataError(
            f"{name}: the number of classes must be known without looking at the records. "
            "Give num_classes, or put an array 'classes' with their names into the file."
        )
    return len(arrays["classes"])


def _records(
    arrays: dict[str, npt.NDArray[Any]], parts: list[Part], file: str, bound: float | None
) -> Records:
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
            rows[...] = raw
        first += len(raw)
    labels = np.concatenate([own.astype(np.int64) for _, own in found])
    records = checked_records(_at_least_flat(features), labels, where=where)
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
    if not (np.issubdtype(raw.dtype, np.number) and np.issubdtype(labels.dtype, np.integer)):
        raise DataError(f"{where}: features must be numbers and labels integers.")
    if not (raw.ndim >= 1 and labels.shape == raw.shape[:1]):
        raise DataError(
            f"{where}: every record must have one label; got shapes {raw.shape} and {labels.shape}."
        )
    return raw, labels


def _at_least_flat(features: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Gives records of a single number a feature axis."""
    return features[:, None] if features.ndim == 1 else features


def _groups(arrays: dict[str, npt.NDArray[Any]], count: int, name: str) -> dict[str, list[str]]:
    """Returns the silo column, if there is one."""
    if SILO not in arrays:
        return {}
    if arrays[SILO].shape != (count,):
        raise DataError(
            f"{name}: the array 'silo' must have one entry for each of {count} records; "
            f"got shape {arrays[SILO].shape}."
        )
    return {SILO: [str(silo) for silo in arrays[SILO].tolist()]}
