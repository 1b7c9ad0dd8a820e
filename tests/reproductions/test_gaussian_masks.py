"""GOPA: the matrix of ADR 47 is the law of what parties show, and its factors are what theory says."""

from __future__ import annotations

import numpy as np
import pytest

import gaussian_masks

PATH = {(0, 1), (1, 2), (2, 3)}


def test_what_is_shown_has_the_covariance_and_adds_up() -> None:
    rng, ratio = np.random.default_rng(1), 3.0
    shown = np.array([gaussian_masks.shown(np.zeros(4), PATH, ratio, rng) for _ in range(20_000)])
    claimed = gaussian_masks.covariance(PATH, 4, ratio)
    assert np.cov(shown.T) == pytest.approx(claimed, abs=0.06 * claimed.max())
    assert shown.sum(1).var() == pytest.approx(4.0, rel=0.05)


@pytest.mark.statistical
def test_the_best_test_of_one_input_is_as_strong_as_claimed() -> None:
    """The linear statistic of Neyman and Pearson separates two inputs by μ, and the sum by less.

    20,000 rounds: the difference of means has a standard deviation of 0.01.
    """
    rng, ratio, moved = np.random.default_rng(2), 3.0, np.array([2.0, 0.0, 0.0, 0.0])
    weights = np.linalg.solve(gaussian_masks.covariance(PATH, 4, ratio), moved)
    scores = [
        np.array([gaussian_masks.shown(x, PATH, ratio, rng) @ weights for _ in range(20_000)])
        for x in (moved, 0.0 * moved)
    ]
    found = (scores[0].mean() - scores[1].mean()) / scores[1].std()
    claimed = 2.0 * np.sqrt(gaussian_masks.variance_factor(PATH, 4, ratio) / 4)
    assert found == pytest.approx(claimed, abs=0.05)
    assert claimed > 2.0 / np.sqrt(4) * 1.1


def test_factors_at_the_ends() -> None:
    complete = gaussian_masks.complete(6)
    assert gaussian_masks.variance_factor(complete, 6, 0.0) == pytest.approx(6.0)
    assert gaussian_masks.variance_factor(complete, 6, 1e3) == pytest.approx(1.0, abs=1e-5)
    parts = {(0, 1), (2, 3), (3, 4), (4, 5)}
    assert gaussian_masks.variance_factor(parts, 6, 1e3) == pytest.approx(3.0, abs=1e-4)
    laplacian = gaussian_masks.covariance(PATH, 4, 3.0) - np.eye(4)
    second = np.linalg.eigvalsh(laplacian)[1]
    assert 1.0 < gaussian_masks.variance_factor(PATH, 4, 3.0) <= 1.0 + 3.0 / (1.0 + second)


def test_a_missing_party_leaves_all_its_masks() -> None:
    rng, ratio = np.random.default_rng(3), 10.0
    edges = gaussian_masks.complete(5)
    sums = [gaussian_masks.shown(np.zeros(5), edges, ratio, rng)[1:].sum() for _ in range(4000)]
    assert np.std(sums) / 2.0 == pytest.approx(gaussian_masks.leftover_stddev(edges, 0, 5, ratio), rel=0.05)
