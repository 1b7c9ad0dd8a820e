"""Coins that belong to units: neighbours toss the same ones wherever in the data a unit is missing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Integers
from discreet.data import Records
from discreet.randomness import Label, RandomSource, SeededRandom

# A shard shuffles its own records: those coins belong to the shard, whatever else the silo holds.
_OF_A_GROUP = "shard"


class FollowingCoins(RandomSource):
    """Seeded coins of which each unit has its own: the coupling under which sensitivities are proven.

    A unit is a record, or a person with all of hers. Silos toss coins for units by `bernoulli`,
    `integers_below` and `permutation`, one for each unit in the order of the data. Here the coin of the unit
    at place j is the one numbered ``places[j]``, so a neighbour without the unit numbered k is given the
    numbers without k. Every other draw depends on its length and on its number among the draws of that length
    only.

    Args:
        seed: of all coins.
        places: one number for each unit, distinct, shape ``(n,)``.
    """

    def __init__(self, seed: int, places: Integers) -> None:
        super().__init__(bytes(32))
        self._seed = seed
        self._places = self._entered = places
        self._tosses = 0
        self._calls: Counter[int] = Counter()
        self._owners: Integers | None = None

    def derive(self, *labels: Label) -> FollowingCoins:
        """Returns another such source."""
        seed = int(SeededRandom(self._seed).derive(*labels).words(1)[0]) >> 1
        return FollowingCoins(seed, self._places[:0] if labels[0] == _OF_A_GROUP else self._places)

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Returns words by owner within a draw for records, else by the number of the call."""
        if self._owners is not None and len(self._owners) == count:
            stream = SeededRandom(self._seed).derive("records", self._tosses)
            return stream.words(int(self._owners.max(initial=-1)) + 1)[self._owners]
        self._calls[count] += 1
        return SeededRandom(self._seed).derive("call", count, self._calls[count]).words(count)

    def bernoulli(self, count: int, prob: float) -> Booleans:
        """Tosses a coin for each record, and remembers who entered."""
        owners = self._begin(count)
        coins = super().bernoulli(count, prob)
        if owners is not None:
            self._entered = owners[coins]
        self._owners = None
        return coins

    def integers_below(self, count: int, bound: int) -> Integers:
        """Draws a number for each record that entered."""
        self._begin(count)
        found = super().integers_below(count, bound)
        self._owners = None
        return found

    def permutation(self, count: int) -> Integers:
        """Permutes records, or the slots that they and empty ones fill."""
        own = self._places
        if 0 < len(own) <= count and int(own.max()) < count:
            self._tosses += 1
            self._owners = np.concatenate([own, np.setdiff1d(np.arange(count), own)])
        found = super().permutation(count)
        self._owners = None
        return found

    def _begin(self, count: int) -> Integers | None:
        """Says whose coins the next draw is about: all records', those that entered, or nobody's."""
        self._tosses += 1
        if count == len(self._places):
            self._owners = self._places
        elif count == len(self._entered):
            self._owners = self._entered
        else:
            self._owners = None
        return self._owners


def aligned(one: Records, other: Records) -> tuple[Integers, Integers] | None:
    """Numbers the units of neighbours so that a unit has one number in both.

    Returns:
        The numbers of each, if they hold the same units to the bit and in the same order but for one that is
        missing or another; else None.
    """
    first, second = _units(one), _units(other)
    shorter = min(len(first), len(second))
    same = next((place for place in range(shorter) if first[place] != second[place]), shorter)
    ends = (
        (same, same) if same == len(first) == len(second) else None,
        (same + 1, same),
        (same, same + 1),
        (same + 1, same + 1),
    )
    for end in ends:
        if end is not None and first[end[0] :] == second[end[1] :]:
            return _numbered(same, len(first), end[0]), _numbered(same, len(second), end[1])
    return None


def _numbered(same: int, count: int, end: int) -> Integers:
    """Gives ``same`` records the first numbers, one more the next, and those from ``end`` the following."""
    return np.concatenate([np.arange(end), same + 1 + np.arange(count - end)]).astype(np.int64)


def _units(records: Records) -> list[bytes]:
    """Returns what each unit holds: a record, or where it is known whose they are, a person's records."""
    rows = [
        row.tobytes() + int(label).to_bytes(8, "big", signed=True)
        for row, label in zip(records.features, records.labels, strict=True)
    ]
    if records.persons is None:
        return rows
    found: dict[int, bytes] = {}
    for person, row in zip(records.persons.tolist(), rows, strict=True):
        found[person] = found.get(person, b"") + row
    return [found[person] for person in sorted(found)]
