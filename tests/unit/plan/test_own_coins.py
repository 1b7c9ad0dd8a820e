"""docs/theory/rows.md, Theorems A and B, on small mechanisms whose laws are written out in full."""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest

Law = npt.NDArray[np.float64]

CELLS, FAR = 64, 25
GOOD = (-1, 0, 1)
GAMMAS = tuple(math.exp(epsilon) for epsilon in (-2.0, -0.5, 0.0, 0.3, 1.0, 3.0, 6.0))


def noise(width: float) -> Law:
    """A discrete Gaussian on a circle."""
    places = (np.arange(CELLS) + CELLS // 2) % CELLS - CELLS // 2
    weights = np.exp(-0.5 * (places / width) ** 2)
    return weights / weights.sum()


NOISE = noise(2.0)


def shifted(shift: int, prob: float) -> Law:
    """The unit takes part with ``prob`` and then moves the sum by ``shift``."""
    return (1.0 - prob) * NOISE + prob * np.roll(NOISE, shift)


def hockey_stick(first: Law, second: Law, gamma: float) -> float:
    return float(np.maximum(first - gamma * second, 0.0).sum())


def most(gamma: float, prob: float, *, replaced: bool) -> float:
    """What every pair of contributions within the bound can reach."""
    pairs = itertools.product(GOOD, GOOD) if replaced else ((v, 0) for v in GOOD)
    return max(
        max(
            hockey_stick(shifted(a, prob), shifted(b, prob), gamma),
            hockey_stick(shifted(b, prob), shifted(a, prob), gamma),
        )
        for a, b in pairs
    )


def laws(table: npt.NDArray[np.int64], others: Law, prob: float) -> list[Law]:
    """Given each coin of the others, the law over the unit's own coins (uniform)."""
    return [
        weight * np.mean([shifted(int(v), prob) for v in row], axis=0)
        for row, weight in zip(table, others, strict=True)
    ]


def drawn(generator: np.random.Generator, bad: float) -> npt.NDArray[np.int64]:
    """Shifts for 8 coins of the others and 4 of the unit, a few of them far out of bounds."""
    table = generator.choice(GOOD, size=(8, 4))
    return np.where(generator.random((8, 4)) < bad, FAR, table)


@pytest.mark.parametrize("prob", [0.2, 1.0])
@pytest.mark.parametrize("seed", range(40))
def test_events_of_a_units_own_coins_are_covered_by_twice_their_probability(seed: int, prob: float) -> None:
    """Both neighbours have coins of their own; nothing is multiplied by e^ε, up to e^6."""
    generator = np.random.default_rng(seed)
    others = generator.dirichlet(np.ones(8))
    first, second = drawn(generator, 0.1), drawn(generator, 0.1)
    beta = max(float(others @ (table == FAR).mean(axis=1)) for table in (first, second))
    views = laws(first, others, prob), laws(second, others, prob)
    for gamma in GAMMAS:
        limit = most(gamma, prob, replaced=True) + 2.0 * beta
        for left, right in (views, views[::-1]):
            reached = sum(hockey_stick(a, b, gamma) for a, b in zip(left, right, strict=True))
            assert reached <= limit + 1e-12


@pytest.mark.parametrize("prob", [0.2, 1.0])
@pytest.mark.parametrize("seed", range(40))
def test_a_unit_that_is_there_or_not_needs_it_once(seed: int, prob: float) -> None:
    """The step that a unit is given may be revealed; without the unit it is drawn and not used."""
    generator = np.random.default_rng(seed)
    others = generator.dirichlet(np.ones(8))
    table = drawn(generator, 0.1)
    beta = float(others @ (table == FAR).mean(axis=1))
    present, absent = laws(table, others, prob), laws(np.zeros_like(table), others, prob)
    for gamma in GAMMAS:
        limit = most(gamma, prob, replaced=False) + beta
        for left, right in ((present, absent), (absent, present)):
            assert sum(hockey_stick(a, b, gamma) for a, b in zip(left, right, strict=True)) <= limit + 1e-12


def test_the_probability_is_needed_once_at_least() -> None:
    """A far contribution shows: at e^6 nothing but it is left."""
    table = np.zeros((1, 10), dtype=np.int64)
    table[0, 0] = FAR
    present, absent = laws(table, np.ones(1), 1.0), laws(np.zeros_like(table), np.ones(1), 1.0)
    reached = hockey_stick(present[0], absent[0], GAMMAS[-1])
    assert reached > most(GAMMAS[-1], 1.0, replaced=False) + 0.09


@pytest.mark.parametrize("seed", range(20))
def test_two_rounds_add_their_probabilities_although_the_second_looks_at_the_first(seed: int) -> None:
    """Theorem A: in round two the bad event is another one for every output of round one."""
    generator = np.random.default_rng(seed)
    others = generator.dirichlet(np.ones(4))
    bad = generator.random((CELLS, 4)) < 0.1
    beta = max(float((others * row).sum()) for row in bad)
    first = generator.random(4) < 0.1
    beta = max(beta, float(others @ first))
    for gamma in GAMMAS:
        reached = 0.0
        for coin, weight in enumerate(others):
            start = (shifted(FAR if first[coin] else 1, 1.0), NOISE)
            for output in range(CELLS):
                for later, share in enumerate(others):
                    move = FAR if bad[output, later] else (-1 if output % 2 else 1)
                    pair = start[0][output] * shifted(move, 1.0), start[1][output] * NOISE
                    reached += weight * share * hockey_stick(*pair, gamma)
        honest = sum(
            hockey_stick(start * shifted(1, 1.0), NOISE[output] * NOISE, gamma)
            for output, start in enumerate(shifted(1, 1.0))
        )
        assert reached <= honest + 2.0 * beta + 1e-12
