"""Arrays and data sets in memory become a pool: each silo by itself, and of a data set each record by itself.

Nothing is made an array that was none: the type of one made from a list hangs on every entry of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Float32s, Integers
from discreet.data.array_records import (
    Array,
    Part,
    features_of_array,
    guesses_pixels,
    identities_of_ids,
    is_real,
    pixels_note,
    read_numbers,
    records_of,
    require_arrays,
    require_labelled,
    scaled,
    shape_of,
    whole_labels,
)
from discreet.data.frames import values_of
from discreet.data.identity import Marks
from discreet.data.pool import SILO, Pool
from discreet.errors import DataError

_RECORDS = "the records"
_NO_DATASET = (tuple, list, str, bytes, Mapping)


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """What is publicly known of records in memory that are no tables.

    Attributes:
        feature_shape: shape of one record's features.
        num_classes: labels are below this.
        feature_norm_bound: if given, records are flattened, a constant feature is appended and each record is
            scaled to this L2 norm. None keeps shapes and promises no bound.
        id: what says whose record it is, in words; None if nothing does.
        pixels: whether bytes are pixels; see `discreet.data.array_records.records_of`.
        persons: whether ids are of persons.
    """

    feature_shape: tuple[int, ...]
    num_classes: int
    feature_norm_bound: float | None = None
    id: str | None = None
    pixels: bool | None = None
    persons: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a record as a model sees it."""
        return self.feature_shape if self.feature_norm_bound is None else (math.prod(self.feature_shape) + 1,)

    @property
    def members(self) -> str:
        """What a record consists of, for messages."""
        return _members(self.id is not None)


@dataclass(frozen=True, slots=True, repr=False)
class _Held:
    """What one silo holds: records that could be read, where they lay, and which took bytes for pixels."""

    part: Part
    ids: Sequence[object] | None
    places: Integers
    notes: tuple[str, ...] = ()
    guessed_pixels: bool = False


def pool_of_arrays(by_silo: Mapping[str, Any], facts: ArrayFacts, *, name: str) -> Pool:
    """Reads what every silo holds; numbers and labels by the rules of `discreet.data.array_records`.

    Guarantee:
        What becomes of a record hangs on itself alone and on ``facts``, if a data set gives each record by
        itself and the type of every array is public. A record of a data set that cannot be read as one of
        this shape is left out and counted.

    Args:
        by_silo: arrays or tensors ``(features, labels)``, or a data set of such pairs, by silo; with a third
            member, ids, if ``facts`` name one.
        facts: what is publicly known.
        name: what to call the data.

    Raises:
        DataError: if a silo holds something else, or arrays of another type or shape.
    """
    held = {silo: _held(by_silo[silo], facts, silo) for silo in sorted(by_silo)}
    found = records_of([own.part for own in held.values()], facts.num_classes, pixels=facts.pixels)
    places = np.concatenate([own.places for own in held.values()])[found.rows]
    whose = np.repeat(np.array(list(held), dtype=object), [len(own.places) for own in held.values()])
    identities = found.identities
    if facts.id is not None:
        ids = [one for own in held.values() for one in own.ids or ()]
        identities = identities_of_ids((ids[row] for row in found.rows.tolist()), persons=facts.persons)
    return Pool(
        name=name,
        records=scaled(found.records, facts.feature_norm_bound),
        marks=Marks(identities, places, named=facts.id is not None),
        num_classes=facts.num_classes,
        groups={SILO: whose[found.rows].tolist()},
        own_silos=SILO,
        feature_norm_bound=facts.feature_norm_bound,
        notes=(*(note for own in held.values() for note in own.notes), *found.notes),
        guessed_pixels=found.guessed_pixels or any(own.guessed_pixels for own in held.values()),
    )


def features_in_memory(features: Any, facts: ArrayFacts) -> Float32s:
    """Returns the features of an array or tensor by the rules that training read them by.

    Returns:
        Shape ``(n, *facts.shape)``.

    Raises:
        DataError: if it is no array of real numbers, or its records have another shape.
    """
    raw = real_array(features)
    _require_shape(raw, facts, _RECORDS)
    return features_of_array(raw, facts.feature_norm_bound, pixels=facts.pixels)


def require_held(held: Any, silo: str, *, ids: bool) -> None:
    """Refuses what is neither arrays nor a data set, by kinds, types and shapes alone; no record is read.

    Raises:
        DataError: naming the silo.
    """
    if isinstance(held, tuple):
        if len(held) != 2 + ids:
            raise DataError(f"{silo}: records must be {_members(ids)}; got a tuple of {len(held)}.")
        require_labelled(silo, held[0], held[1])
        return
    # Python looks these up at the type, too.
    map_style = hasattr(type(held), "__getitem__") and hasattr(type(held), "__len__")
    if isinstance(held, _NO_DATASET) or hasattr(type(held), "__array__") or not map_style:
        raise DataError(
            f"{silo}: records must be a tuple {_members(ids)} of arrays, or a data set of such tuples that "
            f"has a length; got {type(held).__name__}. Tables are for discreet.Frames."
        )


def _members(ids: bool) -> str:
    return "(features, labels, ids)" if ids else "(features, labels)"


def real_array(features: Any) -> Array:
    """Returns records in an array or tensor as an array.

    Raises:
        DataError: if it is none of real numbers, one record after the other.
    """
    raw = _array(features, _RECORDS)
    if not is_real(raw) or not raw.ndim:
        raise DataError(
            f"{_RECORDS}: features must be an array of real numbers; got {raw.dtype}, {raw.shape}."
        )
    return raw


def stated_shape(held: Any) -> tuple[int, ...] | None:
    """Returns the shape of a record as arrays state it; None for a data set, which states none unread."""
    if not isinstance(held, tuple) or not held:
        return None
    shape = getattr(held[0], "shape", None)
    return tuple(map(int, shape[1:])) or (1,) if shape else None


def _held(held: Any, facts: ArrayFacts, silo: str) -> _Held:
    """Reads what a silo holds."""
    require_held(held, silo, ids=facts.id is not None)
    return _arrays(held, facts, silo) if isinstance(held, tuple) else _dataset(held, facts, silo)


def _arrays(held: tuple[Any, ...], facts: ArrayFacts, silo: str) -> _Held:
    """Reads arrays, which have one type and one shape for all records."""
    part = Part(silo, _array(held[0], silo), _array(held[1], silo))
    _require_shape(part.features, facts, silo)
    ids = None
    if facts.id is not None:
        ids = values_of(held[2])
        if len(ids) != len(part.labels):
            raise DataError(
                f"{silo}: there must be one {facts.id!r} for each of {len(part.labels)} records; "
                f"got {len(ids)}."
            )
    return _Held(part, ids, np.arange(len(part.labels)))


def _dataset(held: Any, facts: ArrayFacts, silo: str) -> _Held:
    """Reads a data set record by record; one that cannot be read decides nothing but that it is left out."""
    count = len(held)
    features = np.zeros((count, *facts.feature_shape), dtype=np.float32)
    labels = np.zeros(count, dtype=np.int64)
    ids: list[object] = []
    read = np.zeros(count, dtype=np.bool_)
    problems, kinds = Counter[str](), Counter[np.dtype[Any]]()
    for place in range(count):
        try:
            labels[place], own, kind = _record(held[place], facts, features[place])
        except (Exception, SystemExit) as error:  # whatever it is, only this record may hang on it
            problems[type(error).__name__] += 1
        else:
            read[place] = True
            ids += own
            kinds[kind] += 1
    notes = [
        note
        for kind, own_count in sorted(kinds.items(), key=lambda pair: str(pair[0]))
        for note in pixels_note(kind, f"{silo}: {own_count} of {count} records", pixels=facts.pixels)
    ]
    if left_out := int((~read).sum()):
        named = ", ".join(sorted(problems))
        notes.append(
            f"{silo}: {left_out} of {count} records cannot be read as {facts.members} of shape "
            f"{facts.feature_shape} ({named}); they are left out."
        )
        features, labels = features[read], labels[read]
    return _Held(
        Part(silo, features, labels),
        ids,
        np.flatnonzero(read).astype(np.int64),
        tuple(notes),
        any(guesses_pixels(kind, pixels=facts.pixels) for kind in kinds),
    )


def _record(record: Any, facts: ArrayFacts, row: Float32s) -> tuple[int, list[object], np.dtype[Any]]:
    """Writes one record's features into ``row``; returns its label, -1 for none, its id if any, and its type.

    Raises:
        Exception: of any kind, if it cannot be read.
    """
    raw, label, *ids = record
    features, labels = np.asarray(_on_host(raw)), np.asarray(_on_host(label)).reshape(1)
    if len(ids) != (facts.id is not None) or not (is_real(features) and is_real(labels)):
        raise DataError(f"a record must be {facts.members} of real numbers.")
    if (features.shape or (1,)) != facts.feature_shape:
        raise DataError(f"a record must have shape {facts.feature_shape}; got {features.shape}.")
    read_numbers(features, row, pixels=facts.pixels)
    return int(whole_labels(labels)[0]), [str(_plain(one)) for one in ids], features.dtype


def _array(value: Any, where: str) -> Array:
    """Returns an array or a tensor as an array."""
    require_arrays(where, value)
    return np.asarray(_on_host(value))


def _on_host(value: Any) -> Any:
    """Returns a tensor without its gradient and device, in a type that NumPy has; others as they are."""
    if not hasattr(value, "detach"):
        return value
    tensor = value.detach().cpu()
    return tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor


def _plain(value: Any) -> object:
    """Returns Python's own value of a scalar of NumPy or torch."""
    return value.item() if hasattr(value, "item") else value


def _require_shape(raw: Array, facts: ArrayFacts, where: str) -> None:
    """Compares the shape of an array's records with the public one."""
    if raw.ndim < 1 or shape_of(raw) != facts.feature_shape:
        raise DataError(
            f"{where}: every record must have the shape {facts.feature_shape}; got {raw.shape[1:]}. "
            "Give arrays of one shape, or another feature_shape."
        )
