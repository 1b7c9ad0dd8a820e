"""Muon: matrices move as far in weak directions as in strong ones, and misfits are refused by the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from discreet.arrays import Floats
from discreet.kinds import MuonConfig
from discreet.kinds.orthogonal import orthogonalised


def with_values(values: list[float], shape: tuple[int, int]) -> tuple[Floats, Floats, Floats]:
    """A matrix with these singular values, and its singular vectors."""
    generator = np.random.default_rng(1)
    left = np.linalg.qr(generator.normal(size=(shape[0], len(values))))[0]
    right = np.linalg.qr(generator.normal(size=(shape[1], len(values))))[0]
    return left * values @ right.T, left, right


@pytest.mark.parametrize("shape", [(4, 9), (9, 4), (4, 4)])
def test_singular_vectors_stay_and_values_become_alike(shape: tuple[int, int]) -> None:
    matrix, left, right = with_values([7.0, 1.0, 0.3, 0.03], shape)
    found = left.T @ orthogonalised(matrix) @ right
    assert np.abs(found - np.diag(np.diag(found))).max() < 1e-9
    assert 0.68 < np.diag(found).min() <= np.diag(found).max() < 1.21


def test_what_is_almost_nothing_stays_small() -> None:
    matrix, left, right = with_values([1.0, 1e-7], (3, 5))
    assert 0.0 < (left.T @ orthogonalised(matrix) @ right)[1, 1] < 1e-4
    assert not orthogonalised(np.zeros((3, 5))).any()
    assert not orthogonalised(np.zeros(3)).any()


def test_each_array_of_the_model_moves_by_itself() -> None:
    shapes = ((2, 1, 2, 2), (3,), (6, 2))
    rule = MuonConfig(kind="muon", learning_rate=0.5, momentum=0.8, decay=0.9, shapes=shapes)
    means = np.random.default_rng(2).normal(size=(2, 23))
    state, model = rule.init(23), np.zeros(23)
    velocity, wanted = np.zeros(23), np.zeros(23)
    for place, mean in enumerate(means):
        state, model = rule.step(state, model, mean, rounds=2)
        velocity = 0.8 * velocity + mean
        kernel, bias, tall = np.split(mean + 0.8 * velocity, [8, 11])
        moves = (
            orthogonalised(kernel.reshape(2, 4)),
            bias / np.linalg.norm(bias),
            np.sqrt(3.0) * orthogonalised(tall.reshape(6, 2)),
        )
        wanted += 0.5 * 0.9**place * np.concatenate([move.ravel() for move in moves])
    np.testing.assert_allclose(model, wanted, rtol=1e-12)


def test_only_the_direction_of_a_mean_counts() -> None:
    rule = MuonConfig(kind="muon", shapes=((3, 4),))
    mean = np.random.default_rng(3).normal(size=12)
    moves = [rule.step(rule.init(12), np.zeros(12), factor * mean, rounds=1)[1] for factor in (1.0, 1e-3)]
    np.testing.assert_allclose(moves[0], moves[1], rtol=1e-9)


@pytest.mark.parametrize("shapes", [None, (), ((),), ((3, 0),), ((2.5,),), ((1,) * 9,), ((2**33,),)])
def test_shapes_that_are_none_are_refused(shapes: Any) -> None:
    with pytest.raises(ValidationError):
        MuonConfig.model_validate({"kind": "muon"} | ({} if shapes is None else {"shapes": shapes}))
