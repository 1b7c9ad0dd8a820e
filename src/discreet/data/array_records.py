"""Arrays become records by public rules, number by number; whether they came from a file or from a program.

Bytes are divided by 255, unless they are stated to be no pixels; other numbers are taken as they are, but for
one that is not finite, which is 0.
A record whose label is none of the classes is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Float32s, Integers
from discreet.data.identity import Identities
from discreet.data.norm import scaled_with_constant
from discreet.data.records import Records
from discreet.data.spelling import person_name, spelling
from discreet.errors import DataError

Array = npt.NDArray[Any]

_LARGEST_LABEL = 2.0**53


@dataclass(frozen=True, slots=True, repr=False)
class Part:
    """Features and labels that lie in one place, of the same type whatever they hold.

    Attributes:
        where: what to call the place, for messages.
        features: real numbers, shape ``(n, ...)``.
        labels: shape ``(n,)``.

    Raises:
        DataError: if types or shapes are others; they are public, what they hold is not.
    """

    where: str
    features: Array
    labels: Array

    def __post_init__(self) -> None:
        require_labelled(self.where, self.features, self.labels)


@dataclass(frozen=True, slots=True, repr=False)
class ReadRecords:
    """The records of some parts, one part after the other.

    Attributes:
        records: those that can be used.
        identities: of their content.
        rows: which rows of the parts they were.
        notes: for the owner.
        guessed_pixels: whether bytes were taken for pixels without anybody's word.
    """

    records: Records
    identities: Identities
    rows: Integers
    notes: tuple[str, ...]
    guessed_pixels: bool


def records_of(parts: Sequence[Part], num_classes: int, *, pixels: bool | None = None) -> ReadRecords:
    """Reads the records of some parts by the rules of this module.

    Args:
        parts: at least one.
        num_classes: public number of classes.
        pixels: whether bytes are pixels, from 0 to 255, and not numbers such as token ids. None takes them
            for pixels, and says so.

    Raises:
        DataError: if the parts' records differ in shape.
    """
    shapes = {shape_of(part.features) for part in parts}
    if len(shapes) > 1:
        raise DataError(f"{parts[0].where}: all features must have one shape; got {sorted(shapes)}.")
    count = sum(len(part.labels) for part in parts)
    # Filled part by part: a copy of each and then one of all would hold everything twice.
    features = np.empty((count, *shapes.pop()), dtype=np.float32)
    first, notes = 0, list[str]()
    for part in parts:
        rows = features[first : first + len(part.labels)]
        read_numbers(part.features, rows, pixels=pixels)
        notes += pixels_note(part.features.dtype, part.where, pixels=pixels)
        notes += _made_finite(rows, part.where)
        first += len(rows)
    labels = np.concatenate([whole_labels(part.labels) for part in parts])
    kept = (labels >= 0) & (labels < num_classes)
    notes += _left_out(parts, kept, num_classes)
    records = Records(features, np.where(kept, labels, 0))
    return ReadRecords(
        records if kept.all() else records.take(kept),
        Identities.of_content(features, labels).take(kept),
        np.flatnonzero(kept).astype(np.int64),
        tuple(notes),
        any(guesses_pixels(part.features.dtype, pixels=pixels) for part in parts),
    )


def require_labelled(where: str, features: Any, labels: Any) -> None:
    """Refuses features and labels by type and shape alone, which are public; no record is read.

    Raises:
        DataError: if they are no arrays or tensors of real numbers, or differ in length.
    """
    require_arrays(where, features, labels)
    if not (is_real(features) and is_real(labels)):
        raise DataError(
            f"{where}: features must be real numbers and labels whole numbers; "
            f"got {features.dtype} and {labels.dtype}."
        )
    shape, count = tuple(features.shape), tuple(labels.shape)
    if not (shape and count == shape[:1]):
        raise DataError(f"{where}: every record must have one label; got shapes {shape} and {count}.")


def require_arrays(where: str, *given: Any) -> None:
    """Refuses what is no array or tensor.

    Raises:
        DataError: naming what it is.
    """
    for one in given:
        if not (hasattr(one, "dtype") and hasattr(one, "shape")):
            raise DataError(
                f"{where}: features and labels must be arrays or tensors; got {type(one).__name__}. "
                "Make them arrays of a type that no record decides, such as numpy.float32."
            )


def is_real(array: Any) -> bool:
    """Says whether an array or tensor is of real numbers, by its type."""
    named = str(array.dtype).removeprefix("torch.")
    try:
        dtype = np.dtype(np.float32 if named == "bfloat16" else named)
    except TypeError:  # a type that only another library has
        return False
    return np.issubdtype(dtype, np.integer) or np.issubdtype(dtype, np.floating)


def shape_of(features: Array) -> tuple[int, ...]:
    """Returns the shape of one record: a lone number is one feature."""
    return features.shape[1:] or (1,)


def read_numbers(raw: Array, rows: Float32s, *, pixels: bool | None) -> None:
    """Writes real numbers into ``rows``, each by itself; what float32 cannot hold becomes infinite."""
    raw = raw.reshape(rows.shape)
    if raw.dtype == np.uint8 and pixels is not False:
        np.divide(raw, np.float32(255.0), out=rows)
    else:
        with np.errstate(all="ignore"):
            rows[...] = raw


def guesses_pixels(kind: np.dtype[Any], *, pixels: bool | None) -> bool:
    """Says whether numbers of a type are taken for pixels without anybody's word."""
    return pixels is None and kind == np.uint8


def pixels_note(kind: np.dtype[Any], where: str, *, pixels: bool | None) -> tuple[str, ...]:
    """Returns a note about numbers of a type that are divided by 255 unasked, or asked for and are not."""
    if guesses_pixels(kind, pixels=pixels):
        return (
            f"{where}: bytes are taken for pixels and divided by 255. Set pixels = true if so; "
            "or pixels = false for whole numbers such as token ids.",
        )
    if pixels and _whole_but_no_bytes(kind):
        return (
            f"{where}: {kind} is taken as it is; pixels = true divides bytes alone. "
            "Convert the records to uint8 if they are pixels.",
        )
    return ()


def require_bytes(raw: Array, *, pixels: bool | None) -> None:
    """Refuses whole numbers where bytes are pixels, for only a byte would be divided by 255.

    Raises:
        DataError: naming their type.
    """
    if pixels and _whole_but_no_bytes(raw.dtype):
        raise DataError(
            f"the records must be bytes (uint8), or real numbers of 0 to 1, where pixels = true; got "
            f"{raw.dtype}, which nothing would divide by 255. Convert them to uint8 if they are pixels."
        )


def undivided_note(raw: Array, where: str, *, pixels: bool | None) -> tuple[str, ...]:
    """Returns a note about records above 1 where bytes are pixels, which are at most 1, if there are any."""
    if not (pixels and np.issubdtype(raw.dtype, np.floating)):
        return ()
    count = int((raw > 1.0).any(axis=tuple(range(1, raw.ndim))).sum())
    return (
        f"{where}: {count} of {len(raw)} records hold numbers above 1, which are taken as they are; "
        "pixels = true divides bytes alone by 255. Give bytes (uint8), or divide them if they are pixels.",
    ) * bool(count)


def _whole_but_no_bytes(kind: np.dtype[Any]) -> bool:
    return np.issubdtype(kind, np.integer) and kind != np.uint8


def features_of_array(raw: Array, bound: float | None, *, pixels: bool | None) -> Float32s:
    """Returns features by the rules that training reads them by; no label is needed.

    Args:
        raw: real numbers, shape ``(n, ...)``.
        bound: the public norm bound, if there is one.
        pixels: whether bytes are pixels; see `records_of`.

    Raises:
        DataError: if they are pixels, and these whole numbers no bytes.
    """
    require_bytes(raw, pixels=pixels)
    rows = np.empty((len(raw), *shape_of(raw)), dtype=np.float32)
    read_numbers(raw, rows, pixels=pixels)
    _made_finite(rows, "")
    return rows if bound is None else scaled_with_constant(rows, bound)


def scaled(records: Records, bound: float | None) -> Records:
    """Flattens the records, appends a constant and scales them to a bound, if there is one."""
    if bound is None:
        return records
    return records.with_features(scaled_with_constant(records.features, bound))


def identities_of_ids(ids: Iterable[object], *, persons: bool = False) -> Identities:
    """Returns what tells records of different ids apart, however a number among them is spelled.

    Args:
        ids: one for each record.
        persons: whether ids are of persons, who are known by their exact texts.
    """
    known = person_name if persons else spelling
    return Identities.of_texts([known(str(one)) for one in ids])


def whole_labels(labels: Array) -> Integers:
    """Returns labels as integers, -1 where one is no whole number: a gap turns a whole array into floats."""
    if np.issubdtype(labels.dtype, np.integer):
        return labels.astype(np.int64)
    whole = np.isfinite(labels) & (labels == np.floor(labels)) & (np.abs(labels) < _LARGEST_LABEL)
    return np.where(whole, labels, -1).astype(np.int64)


def _made_finite(features: Float32s, where: str) -> tuple[str, ...]:
    """Puts 0 where a number is not finite; returns a note about such records."""
    unusable = ~np.isfinite(features)
    if notes := not_finite_note(unusable, where):
        features[unusable] = 0.0
    return notes


def not_finite_note(unusable: Booleans, where: str) -> tuple[str, ...]:
    """Returns a note about the records in which some number is not finite, if there are any."""
    count = int(unusable.any(axis=tuple(range(1, unusable.ndim))).sum())
    return (f"{where}: {count} of {len(unusable)} records hold NaN or Inf, which count as 0.",) * bool(count)


def _left_out(parts: Sequence[Part], kept: Booleans, num_classes: int) -> list[str]:
    """Returns a note about every part in which a label is none of the classes."""
    notes, first = [], 0
    for part in parts:
        own = kept[first : first + len(part.labels)]
        first += len(own)
        if count := int((~own).sum()):
            notes.append(
                f"{part.where}: {count} of {len(own)} labels are not in [0, {num_classes}); these records "
                "are left out."
            )
    return notes
