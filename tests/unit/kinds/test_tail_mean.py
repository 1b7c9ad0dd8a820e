"""The last model of a training is the mean of its last ones, and no model before it is."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.kinds import TailMeanConfig
from discreet.rounds.memory import from_arrays, to_arrays

MOVES = [np.array([1.0, -2.0]), np.array([3.0, 0.5]), np.array([-1.0, 4.0]), np.array([2.0, 2.0])]


def models(rounds: int, share: float | None = None) -> list[Floats]:
    """The models of ``rounds`` rounds, with a checkpoint after every one."""
    rule = TailMeanConfig(kind="tail-mean", share=share)
    state, model, found = rule.init(2), np.zeros(2), []
    for move in MOVES[:rounds]:
        state, model = rule.step(state, model, move, rounds)
        state = from_arrays(rule.init(2), to_arrays(state))
        found.append(model)
    return found


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
def test_the_mean_of_the_last_half(rounds: int) -> None:
    path = np.cumsum(MOVES[:rounds], axis=0)
    found = models(rounds)
    np.testing.assert_array_equal(np.reshape(found[:-1], (-1, 2)), path[:-1])
    np.testing.assert_allclose(found[-1], path[-((rounds + 1) // 2) :].mean(axis=0))


@pytest.mark.parametrize(("share", "last"), [(0.25, 1), (0.26, 2), (0.75, 3), (1.0, 4)])
def test_the_mean_of_another_share(share: float, last: int) -> None:
    path = np.cumsum(MOVES, axis=0)
    np.testing.assert_allclose(models(4, share)[-1], path[-last:].mean(axis=0))
