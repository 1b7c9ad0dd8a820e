"""The inversion table: boundaries, the guide, and words that hit a boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.inversion import InversionTable
from discreet.randomness import RandomSource, SeededRandom


class Scripted(RandomSource):
    """Gives the words that a test wants; key material after them is from a fixed key."""

    def __init__(self, words: list[int]) -> None:
        super().__init__(bytes(32))
        self._script = np.array(words, dtype=np.uint64)

    def derive(self, *_labels: Any) -> Any:
        return self

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        head, self._script = self._script[:count], self._script[count:]
        return np.concatenate([head, super().words(count - len(head))])


def test_values_follow_the_boundaries(drawn: Callable[..., Any]) -> None:
    table = InversionTable.from_weights(-1, [1, 2, 1])
    quarter = 1 << 62
    words = [0, quarter - 1, quarter + 1, 3 * quarter - 1, 3 * quarter + 1, 2**64 - 1]
    assert drawn(table.draw, 6, Scripted(words)).tolist() == [-1, -1, 0, 0, 1, 1]


def test_a_word_on_a_dyadic_boundary_belongs_to_the_right(drawn: Callable[..., Any]) -> None:
    table = InversionTable.from_weights(0, [1, 1])
    assert table.boundaries == (1 << 127,)
    assert drawn(table.draw, 1, Scripted([1 << 63])).tolist() == [1]


def test_a_word_on_a_boundary_is_prolonged(drawn: Callable[..., Any]) -> None:
    """1/3 in binary is 0101…: the word 0x5555… is undecided, and further digits split it one to two."""
    table = InversionTable.from_weights(0, [1, 2])
    words = [0x5555_5555_5555_5555] * 3000
    draws = drawn(table.draw, 3000, Scripted(words))
    # Binomial(3000, 1/3): ± 4.5 standard deviations; a false alarm with probability 1e-5 (fixed seed).
    assert abs(np.count_nonzero(draws == 0) - 1000) < 4.5 * 26
    assert drawn(table.draw, 2, Scripted([0x5555_5555_5555_5554, 0x5555_5555_5555_5556])).tolist() == [0, 1]


def test_many_cells_agree_with_plain_search(drawn: Callable[..., Any]) -> None:
    weights = [(7 * i) % 13 + 1 for i in range(900)]
    table = InversionTable.from_weights(-450, weights)
    words = SeededRandom(1).words(50_000)
    expected = np.searchsorted(table.leading, words, side="right") - 450
    assert np.array_equal(drawn(table.draw, 50_000, SeededRandom(1)), expected)


def test_zero_weights_are_never_drawn(drawn: Callable[..., Any]) -> None:
    table = InversionTable.from_weights(0, [1, 0, 0, 1])
    assert set(drawn(table.draw, 1000, SeededRandom(2)).tolist()) == {0, 3}
