"""The middle of records and their directions, against a decomposition of the records themselves."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.kinds.blocks import FirstMoments, SecondMoments
from discreet.statistics.contribution import block_sum
from discreet.statistics.projection import directions, middle

BOUND, WIDTH = 2.0, 6


def records() -> np.ndarray:
    draws = np.random.default_rng(3)
    rows = draws.normal(0.4, [2.0, 1.0, 0.5, 0.2, 0.1, 0.0], (300, WIDTH))
    rows[:, -1] = 1.0
    return (BOUND * rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def sums(block: FirstMoments | SecondMoments) -> np.ndarray:
    return block_sum(block, records(), np.zeros(300, dtype=np.int64), None)


def test_without_noise_they_are_those_of_the_records() -> None:
    first, second = sums(FirstMoments(WIDTH, BOUND)), sums(SecondMoments(WIDTH, BOUND))
    inner = records()[:, :-1].astype(np.float64) / BOUND
    center = middle(first, 1e-9)
    np.testing.assert_allclose(center, inner.mean(axis=0), atol=1e-6)
    found = directions(second, center, np.sqrt(2) * first[-1], 3)
    _, _, expected = np.linalg.svd(inner - inner.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs((found * expected[:3]).sum(axis=1)), 1.0, atol=1e-6)
    np.testing.assert_allclose(found @ found.T, np.eye(3), atol=1e-6)
    assert (np.take_along_axis(found, np.abs(found).argmax(axis=1)[:, None], axis=1) > 0).all()


@pytest.mark.parametrize("variance", [1e9, np.inf])
def test_a_middle_that_noise_would_hide_is_none(variance: float) -> None:
    assert not middle(sums(FirstMoments(WIDTH, BOUND)), variance).any()
    assert not middle(-sums(FirstMoments(WIDTH, BOUND)), 1.0).any()
