"""Equal coins for neighbouring data sets: the stream of each call depends on the call's number only."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.randomness import Label, RandomSource, SeededRandom


class Coupled(RandomSource):
    """Gives the first n values of call k the same bits, however many values the call asks for.

    Silos draw one value a record and call, so a silo with one record more (at the end) sees the same coins
    for all the others. This is the coupling that the sensitivity proofs use.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(bytes(32))
        self._seed, self._calls = seed, 0

    def derive(self, *labels: Label) -> Coupled:
        word = SeededRandom(self._seed).derive(*labels).words(1)[0]
        return Coupled(int(word) >> 1)

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        self._calls += 1
        return SeededRandom(self._seed).derive(self._calls).words(count)
