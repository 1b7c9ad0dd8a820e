"""What a feature map answers to public records: so code is told from other code around the same weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Self

import numpy as np

from discreet.arrays import Float32s
from discreet.documents import shown
from discreet.errors import ConfigurationError
from discreet.randomness import SeededRandom

_RANGES = ((0.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (0.0, 0.01), (0.0, 30.0), (-30.0, 30.0))
_WHOLE = (1, 9, 255)
"""The largest whole number of a record: an answer of yes or no, a digit or short code, a byte."""

_RECORDS = len(_RANGES) + len(_WHOLE)
_SUMS = 8
_RELATIVE = 1e-3  # machines differ by some 1e-6 of a network's largest answer
_ABSOLUTE = 1e-4  # of the constant feature, which is 1
_LARGEST_RECORD = 1 << 24
_MOST_AXES = 8


@dataclass(frozen=True, slots=True)
class MapAnswers:
    """What a map gives for a few records that follow from their shape alone: signed sums of its features.

    Guarantee:
        If two maps give one of these records a feature that differs by more than is allowed for, one of its
        sums differs by more, but with probability 2^-8 over the signs at most: of two sums that differ in the
        sign of that feature alone, one does. Maps that answer all of these records alike, and others
        otherwise, are not told apart.

    Attributes:
        record_shape: of one record, as the map takes it.
        answers: eight sums for each public record, with six digits.

    Raises:
        ConfigurationError: for a shape that no record has, or another number of sums.
    """

    record_shape: tuple[int, ...]
    answers: tuple[float, ...]

    def __post_init__(self) -> None:
        shape = self.record_shape
        if not (0 < len(shape) <= _MOST_AXES and min(shape) >= 1 and math.prod(shape) <= _LARGEST_RECORD):
            raise ConfigurationError(
                f"'facts.map_answers.record_shape' must be 1 to {_MOST_AXES} positive lengths of product "
                f"{_LARGEST_RECORD} at most; got {shown(str(shape), 100)}. Plan again."
            )
        if not (len(self.answers) == _RECORDS * _SUMS and all(map(math.isfinite, self.answers))):
            raise ConfigurationError(
                f"'facts.map_answers.answers' must be {_RECORDS * _SUMS} finite numbers; got "
                f"{len(self.answers)}. Plan again."
            )

    @classmethod
    def of(cls, feature_map: Callable[[Float32s], Float32s], record_shape: tuple[int, ...]) -> Self:
        """Asks a map about the public records of a shape, one at a time.

        Raises:
            ConfigurationError: if the map answers zeros to all of them, as one does that fails: nothing would
                tell its code from other code.

        Example:
            >>> twice = MapAnswers.of(lambda records: 2 * records, (3,))
            >>> twice.unlike(MapAnswers.of(lambda records: 2 * records + 1e-7, (3,)))
            >>> twice.unlike(MapAnswers.of(lambda records: 3 * records, (3,))) is None
            False
        """
        draw = SeededRandom(0).derive("feature map")
        rows, length = list[Float32s](), math.prod(record_shape)
        records = [low + (high - low) * draw.uniform(length) for low, high in _RANGES]
        records += [np.floor((largest + 1) * draw.uniform(length)) for largest in _WHOLE]
        for record in records:
            (found,) = feature_map(record.astype(np.float32).reshape(1, *record_shape))
            # As training has them.
            rows.append(np.nan_to_num(found.ravel(), nan=0.0, posinf=0.0, neginf=0.0))
        features = np.array(rows, dtype=np.float64)
        if not features.any():
            raise ConfigurationError(
                "the feature map must answer public records, which tell its code from other code; for all "
                f"of them it raised, or gave zeros. Let it take records of shape {record_shape} that hold "
                f"numbers of 0 to 1, or whole ones of 0 to {_WHOLE[0]}, {_WHOLE[1]} or {_WHOLE[2]}."
            )
        sums = [
            features @ (1.0 - 2.0 * (draw.words(features.shape[1]) & 1).astype(np.float64))
            for _ in range(_SUMS)
        ]
        return cls(record_shape, tuple(float(f"{one:.6g}") for one in np.array(sums).T.ravel()))

    def unlike(self, other: MapAnswers) -> str | None:
        """Says where another map answers otherwise by more than machines differ; None if nowhere."""
        if other.record_shape != self.record_shape:
            return f"it takes records of shape {other.record_shape}, and not {self.record_shape}"
        stated, found = (np.reshape(one.answers, (_RECORDS, _SUMS)) for one in (self, other))
        allowed = _RELATIVE * np.abs(stated).max(axis=1, keepdims=True) + _ABSOLUTE
        excess = np.abs(found - stated) - allowed
        if not (excess > 0.0).any():
            return None
        place = np.unravel_index(int(excess.argmax()), excess.shape)
        return f"it answers public record {place[0] + 1} by {found[place]:.4g}, and not {stated[place]:.4g}"


def is_own(transform: str) -> bool:
    """Says whether a map's code or weights are somebody's own, so that nothing but its answers tells it."""
    return ":" in transform


def require_planned_map(name: str, stated: MapAnswers | None, found: MapAnswers) -> None:
    """Refuses a feature map that is not the one that a plan was made with.

    Args:
        name: of the map; the folder of a file in it is shown to nobody.
        stated: what the plan says; None in plans from before it was written.
        found: what the map answers here.

    Raises:
        ConfigurationError: if they differ, or the plan says nothing.
    """
    if stated is None:
        raise unplanned(name)
    if (difference := stated.unlike(found)) is not None:
        raise another_map(name, difference)


def another_map(name: str, difference: str = "it is another one") -> ConfigurationError:
    """Returns the refusal of a map that is not the planned one; a server is told of no difference."""
    return ConfigurationError(
        f"{_without_folder(name)!r} must be the feature map that the plan was made with; {difference}. "
        "Take the code and the versions that planned it, or plan again."
    )


def unplanned(name: str) -> ConfigurationError:
    """Returns the refusal of a map of which the plan does not say what it answers."""
    return ConfigurationError(
        f"the plan must state what {_without_folder(name)!r} answers to public records, by which its code is "
        "told from other code; an earlier version made it, and it does not. Use that version, or plan again."
    )


def _without_folder(name: str) -> str:
    scheme, _, rest = name.partition(":")
    return f"{scheme}:{PurePath(rest).name}"
