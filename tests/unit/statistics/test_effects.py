"""Ratios of hazards and odds: exact without noise, and intervals that hold the truth with it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
import scipy

from discreet.arrays import Floats
from discreet.statistics import Covariate, hazards, logistic_regression
from discreet.statistics.equations import Link

EDGES = (0.0, 0.25, 0.5, 0.75, 1.0, math.inf)
COVARIATES = (Covariate("drug", ("old", "new")), Covariate("stage", ("I", "II", "III")))
SLOPES = (0.6, 0.4, 0.8)
SIGMA = 3.73 * math.sqrt(5)  # of one of five questions at ε = 1, δ = 1e-5


def followed(rng: np.random.Generator, n: int, slopes: Sequence[float] = SLOPES) -> Floats:
    drug, stage = rng.integers(0, 2, n), rng.choice(3, n, p=[0.5, 0.3, 0.2])
    hazard = 0.5 * np.exp(slopes[0] * (drug == 1) + slopes[1] * (stage == 1) + slopes[2] * (stage == 2))
    event, left = rng.exponential(1 / hazard), rng.exponential(1 / 0.3, n)
    time = np.minimum(event, left)
    place = np.minimum(np.searchsorted(EDGES, time, side="right") - 1, len(EDGES) - 2)
    happened = (event <= left) & (place < len(EDGES) - 2)
    found = np.zeros((2, 3, len(EDGES) - 1, 2))
    np.add.at(found, (drug, stage, place, np.where(happened, 0, 1)), 1)
    return found


def outcomes(rng: np.random.Generator, n: int, slopes: Sequence[float] = SLOPES) -> Floats:
    drug, stage = rng.integers(0, 2, n), rng.choice(3, n, p=[0.5, 0.3, 0.2])
    odds = np.exp(-1 + slopes[0] * (drug == 1) + slopes[1] * (stage == 1) + slopes[2] * (stage == 2))
    ill = rng.uniform(size=n) < odds / (1 + odds)
    found = np.zeros((2, 3, 2))
    np.add.at(found, (drug, stage, np.where(ill, 0, 1)), 1)
    return found


def exact(events: Floats, at_risk: Floats, link: Link) -> tuple[Floats, Floats]:
    """Maximises the binomial likelihood of drug × stage × period; returns the slopes and standard errors."""
    periods = events.shape[-1]

    def minus_log_likelihood(theta: Floats) -> float:
        total = 0.0
        for drug, stage, period in itertools.product(range(2), range(3), range(periods)):
            eta = theta[period]
            eta += theta[periods] * (drug == 1) + sum(theta[periods + k] * (stage == k) for k in (1, 2))
            p = -math.expm1(-math.exp(eta)) if link == "cloglog" else 1 / (1 + math.exp(-eta))
            d, m = events[drug, stage, period], at_risk[drug, stage, period]
            total -= d * math.log(p) + (m - d) * math.log1p(-p)
        return total

    start = np.append(np.full(periods, -1.0), np.zeros(3))
    found = scipy.optimize.minimize(minus_log_likelihood, start, method="BFGS", options={"gtol": 1e-5})
    step, size = 1e-4, len(start)
    moves = step * np.eye(size)
    hessian = np.array(
        [
            [
                sum(
                    one * other * minus_log_likelihood(found.x + one * moves[i] + other * moves[j])
                    for one, other in itertools.product((1, -1), repeat=2)
                )
                / (4 * step * step)
                for j in range(size)
            ]
            for i in range(size)
        ]
    )
    return found.x[periods:], np.sqrt(np.diag(np.linalg.inv(hessian)))[periods:]


def at_risk_of(counts: Floats) -> Floats:
    """Everybody in this bin or a later one, but for half of whoever is censored in this one."""
    whole = counts.sum(axis=-1)
    later = np.stack([whole[..., place:].sum(axis=-1) for place in range(whole.shape[-1])], axis=-1)
    found: Floats = (later - counts[..., 1] / 2)[..., :-1]
    return found


@pytest.mark.parametrize("link", ["cloglog", "logit"])
def test_without_noise_hazards_are_those_of_the_likelihood(link: Link) -> None:
    counts = followed(np.random.default_rng(0), 2_000)
    found = hazards(counts.ravel(), 0.0, EDGES, COVARIATES, link=link)
    slopes, errors = exact(counts[..., :-1, 0], at_risk_of(counts), link)
    for effect, slope, error in zip(found.effects, slopes, errors, strict=True):
        assert effect.log_ratio is not None
        assert effect.log_ratio.value == pytest.approx(slope, abs=1e-4)
        # The model's information and the likelihood's curvature agree up to sampling.
        assert effect.standard_error == pytest.approx(error, rel=0.03)
        assert effect.log_ratio.high - effect.log_ratio.value == pytest.approx(
            1.959964 * (effect.standard_error or 0.0)
        )


def test_without_noise_odds_are_those_of_the_likelihood() -> None:
    counts = outcomes(np.random.default_rng(1), 2_000)
    found = logistic_regression(counts.ravel(), 0.0, COVARIATES)
    slopes, errors = exact(counts[..., :1], counts.sum(axis=-1)[..., None], "logit")
    for effect, slope, error in zip(found.effects, slopes, errors, strict=True):
        assert effect.log_ratio is not None
        assert effect.ratio is not None
        assert effect.log_ratio.value == pytest.approx(slope, abs=1e-4)
        assert effect.ratio.value == pytest.approx(math.exp(slope), rel=1e-4)
        assert effect.standard_error == pytest.approx(error, rel=1e-4)


def test_an_odds_ratio_of_four_cells_is_the_textbooks() -> None:
    found = logistic_regression(np.array([30.0, 70.0, 60.0, 40.0]), 0.0, [Covariate("x", ("a", "b"))])
    (effect,) = found.effects
    assert effect.ratio is not None
    assert effect.p_value is not None
    assert found.p_value is not None
    assert effect.ratio.value == pytest.approx(60 * 70 / (40 * 30))
    assert effect.standard_error == pytest.approx(math.sqrt(1 / 30 + 1 / 70 + 1 / 60 + 1 / 40))
    # The score test of a 2 × 2 table is Pearson's.
    pearson = scipy.stats.chi2_contingency([[30, 70], [60, 40]], correction=False).pvalue
    assert found.p_value == pytest.approx(pearson)


def test_another_reference_turns_a_ratio_around() -> None:
    counts = np.array([30.0, 70.0, 60.0, 40.0])
    (one,) = logistic_regression(counts, 9.0, [Covariate("x", ("a", "b"))]).effects
    (other,) = logistic_regression(counts, 9.0, [Covariate("x", ("a", "b"), reference=1)]).effects
    assert one.log_ratio is not None
    assert other.log_ratio is not None
    assert one.log_ratio.value == pytest.approx(-other.log_ratio.value)
    assert one.log_ratio.low == pytest.approx(-other.log_ratio.high)
    assert other.name == "x = a"


@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["cloglog", "logistic"])
@pytest.mark.parametrize("n", [1_000, 10_000])
def test_intervals_hold_the_truth_and_tests_reject_seldom(kind: str, n: int) -> None:
    """300 seeds of three effects: 5 standard deviations of a share of 95 % are 3.6 points."""
    held, rejected, told = [], [], 0
    for seed in range(300):
        rng = np.random.default_rng([seed, n])
        for slopes in (SLOPES, (0.0, 0.0, 0.0)):
            counts = followed(rng, n, slopes) if kind == "cloglog" else outcomes(rng, n, slopes)
            noisy = (counts + rng.normal(0, SIGMA, counts.shape)).ravel()
            if kind == "cloglog":
                found = hazards(noisy, SIGMA**2, EDGES, COVARIATES)
            else:
                found = logistic_regression(noisy, SIGMA**2, COVARIATES)
            if slopes == SLOPES:
                ends = [one.log_ratio for one in found.effects]
                held += [one.low <= at <= one.high for one, at in zip(ends, SLOPES, strict=True) if one]
                told += sum(one is not None for one in ends)
            elif found.p_value is not None:
                rejected.append(found.p_value <= 0.05)
    assert told > 0.75 * 900
    assert 0.914 <= np.mean(held) <= 0.986
    assert np.mean(rejected) <= 0.113


@pytest.mark.statistical
def test_an_interval_that_forgets_the_noise_misses() -> None:
    held = []
    for seed in range(200):
        rng = np.random.default_rng([seed, 7])
        noisy = followed(rng, 10_000) + rng.normal(0, 3 * SIGMA, (2, 3, 5, 2))
        found = hazards(noisy.ravel(), 1.0, EDGES, COVARIATES)
        held += [
            one.log_ratio.low <= at <= one.log_ratio.high
            for one, at in zip(found.effects, SLOPES, strict=True)
            if one.log_ratio
        ]
    assert np.mean(held) < 0.85


def test_the_noise_of_the_numbers_at_risk_is_counted() -> None:
    """The law of the noise is checked against noise: the same records, drawn 400 times."""
    counts = followed(np.random.default_rng(3), 20_000)
    sigma, drawn = 30.0, []
    rng = np.random.default_rng(4)
    for _ in range(400):
        noisy = counts + rng.normal(0, sigma, counts.shape)
        first = hazards(noisy.ravel(), sigma**2, EDGES, COVARIATES).effects[0]
        assert first.log_ratio is not None
        drawn.append(first.log_ratio.value)
    whole = hazards(counts.ravel(), sigma**2, EDGES, COVARIATES).effects[0].standard_error
    sampling = hazards(counts.ravel(), 0.0, EDGES, COVARIATES).effects[0].standard_error
    assert whole is not None
    assert sampling is not None
    # A standard deviation of 400 draws is known to 3.5 %.
    assert math.sqrt(whole**2 - sampling**2) == pytest.approx(float(np.std(drawn)), rel=0.15)
    (exactly, *_) = hazards(counts.ravel(), 0.0, EDGES, COVARIATES).effects
    assert exactly.log_ratio is not None
    # Noise in the numbers at risk moves the middle by no more than the mean of 400 draws is uncertain.
    assert abs(np.mean(drawn) - exactly.log_ratio.value) < 4 * np.std(drawn) / 20


def test_noise_hides_what_it_hides() -> None:
    rng = np.random.default_rng(5)
    noisy = followed(rng, 100) + rng.normal(0, 60.0, (2, 3, 5, 2))
    found = hazards(noisy.ravel(), 3600.0, EDGES, COVARIATES)
    assert all(effect.log_ratio is None for effect in found.effects)
    assert found.rows()[1].remark == "cannot be told at this noise; against old"


def test_a_level_of_few_is_left_out_with_its_units_and_a_reference_of_few_leaves_nothing() -> None:
    counts = outcomes(np.random.default_rng(6), 4_000)
    counts[:, 2] = 1.0
    found = logistic_regression(counts.ravel(), 25.0, COVARIATES)
    drug, second, third = found.effects
    assert found.rows()[0].remark == "without stage = III, of too few with or without the outcome"
    assert found.rows()[4].remark == "against I; p < 0.001"
    without = [COVARIATES[0], Covariate("stage", ("I", "II"))]
    kept = logistic_regression(counts[:, :2].ravel(), 25.0, without)
    assert (drug, second) == kept.effects
    assert kept.rows()[0].remark == ""
    assert third.log_ratio is None
    of_few = [COVARIATES[0], Covariate("stage", ("I", "II", "III"), reference=2)]
    assert all(one.log_ratio is None for one in logistic_regression(counts.ravel(), 25.0, of_few).effects)


@pytest.mark.parametrize("all_of", [[0.0, 50.0, 30.0, 20.0], [50.0, 0.0, 30.0, 20.0], [0.0] * 4])
def test_a_level_in_which_all_or_none_have_the_outcome_is_not_told(all_of: list[float]) -> None:
    found = logistic_regression(np.array(all_of), 0.0, [Covariate("x", ("a", "b"))])
    assert found.effects[0].log_ratio is None


def test_everybody_may_have_the_event_in_the_end() -> None:
    counts = followed(np.random.default_rng(8), 3_000)
    counts[..., 1] = 0.0
    found = hazards(counts[..., :-1, :].ravel(), 0.0, EDGES[:-1], COVARIATES)
    assert all(effect.log_ratio is not None for effect in found.effects)
