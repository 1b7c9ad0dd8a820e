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


def pool_of_npz(path: Path, *, num_classes: int | None, feature_norm_bound: float | None) -> Pool:
    """Reads the arrays of ``path``.

    The file holds ``x``, ``y`` and optionally ``silo`` (one text or number a record), or ``x_train``,
    ``y_train``, ``x_test``, ``y_test``. Byte images are divided by 255; other numbers are taken as they are.

    Args:
        path: the file.
        num_classes: public number of classes; None if the file has an array ``classes`` of their names.
        feature_norm_bound: if given, records are flattened, a constant feature is appended and each record is
            scaled to this L2 norm, as linear models need. None keeps shapes and promises no bound.

    Raises:
        DataError: if the file or an array is missing or does not fit.
    """
    arrays = _arrays(path)
    classes = num_classes if num_classes is not None else _class_count(arrays, path.name)
    train, test = ("x", "y"), None
    if "x_train" in arrays:
        train, test = ("x_train", "y_train"), ("x_test", "y_test")
    records = _records(arrays, train, path.name, feature_norm_bound)
    return Pool(
        name=path.name,
        records=records,
        num_classes=classes,
        test=None if test is None else _records(arrays, test, path.name, feature_norm_bound),
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
    arrays: dict[str, npt.NDArray[Any]], names: tuple[str, str], file: str, bound: float | None
) -> Records:
    """Returns one part of the file as records."""
    for name in names:
        if name not in arrays:
            raise DataError(f"{file}: there is no array {name!r}.{nearest_hint(name, arrays)}")
    raw, labels = (arrays[name] for name in names)
    where = f"{file}, arrays {names[0]!r} and {names[1]!r}"
    if not (np.issubdtype(raw.dtype, np.number) and np.issubdtype(labels.dtype, np.integer)):
        raise DataError(f"{where}: features must be numbers and labels integers.")
    features = raw.astype(np.float32)
    if raw.dtype == np.uint8:
        features /= np.float32(255.0)
    records = checked_records(_at_least_flat(features), labels.astype(np.int64), where=where)
    if bound is None:
        return records
    return Records(scaled_with_constant(records.features, bound), records.labels)


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
