"""Which records are held out, and which ones are too many: public coins that each record has for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Integers
from discreet.data.identity import Identities
from discreet.errors import DataError

Words = npt.NDArray[np.uint64]

_WORDS = 2**64
_ALL_SILOS = ""  # the name of no silo

OTHERS = "*"
"""Stands for every silo that is not named, where there is a number for each silo."""


def held_out(
    features: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    *,
    test_fraction: float,
    split_seed: int,
    silo: str,
    ids: npt.NDArray[Any] | None = None,
) -> Booleans:
    """Says which records of ``silo`` are held out, for a data source of your own (``module:function``).

    Guarantee:
        Each record is decided by itself: removing or adding one, at any place, moves no other between
        training and test. Equal records, or records of equal id, are held out together.

    Args:
        features: the records as they were read, before anything is worked out from several numbers of a
            record or from several records; shape ``(n, ...)``.
        labels: shape ``(n,)``.
        test_fraction: probability that a record is held out, in [0, 1).
        split_seed: public seed.
        silo: public name of the silo.
        ids: one number or text for each record, in place of its content; None takes the content.

    Returns:
        True for a record that is held out, shape ``(n,)``.

    Raises:
        DataError: if ``test_fraction`` is outside [0, 1).

    Example:
        >>> x, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
        >>> everything = held_out(x, y, test_fraction=0.5, split_seed=0, silo="a")
        >>> fewer = held_out(x[1:], y[1:], test_fraction=0.5, split_seed=0, silo="a")
        >>> bool((everything[1:] == fewer).all())
        True
    """
    known = Identities.of_content(features, labels)
    if ids is not None:
        known = Identities.of_texts([str(one) for one in ids.tolist()])
    return test_rows(known, test_fraction=test_fraction, split_seed=split_seed, silo=silo)


def test_rows(identities: Identities, *, test_fraction: float, split_seed: int, silo: str) -> Booleans:
    """Says which records of ``silo`` are held out: those whose public coin is below ``test_fraction``.

    Guarantee:
        A record's coin is a function of its identity, the seed and the silo's name. So the law of the split
        may be conditioned on, and "one training record more or less" stays one record.

    Raises:
        DataError: if ``test_fraction`` is outside [0, 1).
    """
    if not 0.0 <= test_fraction < 1.0:
        raise DataError(f"test_fraction must be in [0, 1); got {test_fraction}.")
    if test_fraction == 0.0:
        return np.zeros(len(identities), dtype=np.bool_)
    threshold = np.uint64(int(test_fraction * _WORDS))
    return identities.words("held out", split_seed, silo) < threshold


def lowest(words: Words, count: int) -> Booleans:
    """Says which are the ``count`` lowest words, or all; of equal ones, those that come first."""
    kept = np.zeros(len(words), dtype=np.bool_)
    kept[np.argsort(words, kind="stable")[:count]] = True
    return kept


class Side(Enum):
    """Which of the records take part: those that a training uses, those that it holds out, or all."""

    TRAINING = "training"
    HELD_OUT = "held-out"
    ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Split:
    """Which of a silo's records are held out, and which are more than its public capacity.

    Attributes:
        test_fraction: probability that a record is held out.
        seed: public.
        capacity: bound on the training records of every silo, or of each by name; None: no bound. On its
            persons, where persons are given.
        side: which records take part.
    """

    test_fraction: float
    seed: int
    capacity: int | Mapping[str, int] | None = None
    side: Side = Side.TRAINING

    def held_out(self, identities: Identities, silo: str) -> Booleans:
        """Says which records of ``silo`` take no part; those of `test_rows`, or all others."""
        return self._apart(identities, silo)

    def persons_held_out(self, identities: Identities) -> Booleans:
        """Says which records are of persons that take no part: by one coin a person, the same at all silos.

        A coin that hung on the silo's name could train on a person at one silo and measure on it at another.
        """
        return self._apart(identities, _ALL_SILOS)

    def _apart(self, identities: Identities, silo: str) -> Booleans:
        held = test_rows(identities, test_fraction=self.test_fraction, split_seed=self.seed, silo=silo)
        return ~held if self.side is Side.HELD_OUT else held

    def used(self, identities: Identities, silo: str) -> tuple[Booleans, tuple[str, ...]]:
        """Says which training records of ``silo`` are used: all, or as many as fit that hash lowest.

        Guarantee:
            Where there are more than fit, one record more pushes at most one other out. So a guarantee for
            one record assumes that there are not, which `discreet.config.data_assumptions` says.

        Returns:
            True for a record that is used, shape ``(n,)``, and a note for the owner about the others.
        """
        capacity = self.capacity_of(silo)
        if capacity is None or len(identities) <= capacity:
            return np.ones(len(identities), dtype=np.bool_), ()
        kept = lowest(self.capacity_words(identities, silo), capacity)
        return kept, self.surplus_note(silo, len(kept), capacity)

    def capacity_words(self, identities: Identities, silo: str) -> Words:
        """Returns the words of training records of ``silo``; where not all fit, the lowest are used."""
        return identities.words("capacity", self.seed, silo)

    def surplus_note(self, silo: str, records: int, capacity: int) -> tuple[str, ...]:
        """Returns a note for the owner of more records than fit."""
        return (
            f"silo {silo!r}: {records - capacity} of {records} {self.side.value} records are more than its "
            f"record_capacity of {capacity}; they are left out, and the guarantee for one record assumes "
            "that there are none. Agree on a larger capacity.",
        )

    def persons_used(
        self, identities: Identities, persons: Integers, silo: str
    ) -> tuple[Booleans, int, tuple[str, ...]]:
        """Says which training records of ``silo`` are of persons that fit, as `used` says it of records.

        Args:
            identities: of the persons, one for each record, shape ``(n,)``.
            persons: their numbers.
            silo: public name.

        Returns:
            True for a record that is used, how many persons were too many, and a note about them.
        """
        capacity = self.capacity_of(silo)
        own, first, whose = np.unique(persons, return_index=True, return_inverse=True)
        if capacity is None or len(own) <= capacity:
            return np.ones(len(persons), dtype=np.bool_), 0, ()
        chosen = lowest(self.capacity_words(identities.take(first.astype(np.int64)), silo), capacity)
        return (
            chosen[whose],
            len(own) - capacity,
            (
                f"silo {silo!r}: {len(own) - capacity} of {len(own)} {self.side.value} persons are more than "
                f"its person.capacity of {capacity}; they are left out, and the guarantee for one person "
                "assumes that there are none. Agree on a larger capacity.",
            ),
        )

    def capacity_of(self, silo: str) -> int | None:
        """Returns the bound on the training records, or persons, of a silo; None: there is none."""
        if not isinstance(self.capacity, Mapping):
            return self.capacity
        return self.capacity.get(silo, self.capacity.get(OTHERS))
