"""The two bounds on right guesses, against enumeration, convex optimisation and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import binom, norm

from discreet.audit import audited_epsilon_lower, audited_mu_lower, guessing_p_value, tradeoff_p_value
from discreet.errors import ConfigurationError
from discreet.privacy.tradeoff import GaussianTradeoff, PiecewiseTradeoff, TradeoffCurve


def theorem_5_2(epsilon: float, delta: float, m: int, r: int, v: int) -> float:
    """The formula of Steinke, Nasr, Jagielski (2023), Theorem 5.2, term by term."""
    accuracy = math.exp(epsilon) / (1.0 + math.exp(epsilon))
    mass = [math.comb(r, k) * accuracy**k * (1 - accuracy) ** (r - k) for k in range(r + 1)]

    def tail(k: int) -> float:
        return math.fsum(mass[max(0, k) :])

    worst = max(((tail(v - i) - tail(v)) / i for i in range(1, m + 1)), default=0.0)
    return min(1.0, tail(v) + 2.0 * m * delta * worst)


@settings(deadline=None)
@given(st.data())
def test_p_value_is_the_theorem(data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 25))
    r = data.draw(st.integers(0, m))
    v = data.draw(st.integers(0, r))
    epsilon = data.draw(st.floats(0.0, 4.0))
    delta = data.draw(st.sampled_from([0.0, 1e-6, 1e-3]))
    found = guessing_p_value(epsilon, delta, canaries=m, guesses=r, correct=v)
    assert found == pytest.approx(theorem_5_2(epsilon, delta, m, r, v), rel=1e-9, abs=1e-12)


def test_randomised_response_is_refuted_as_often_as_promised() -> None:
    """Randomised response meets the bound with equality, so the lower bound is wrong at just its rate."""
    epsilon, m, confidence = 1.0, 60, 0.9
    accuracy = math.exp(epsilon) / (1 + math.exp(epsilon))
    wrong = sum(
        float(binom.pmf(v, m, accuracy))
        for v in range(m + 1)
        if audited_epsilon_lower(canaries=m, guesses=m, correct=v, delta=0.0, confidence=confidence) > epsilon
    )
    assert 0.05 < wrong <= 0.1


def test_all_right_guesses_have_a_closed_form() -> None:
    """q^r = 1 − confidence at the bound."""
    bound = audited_epsilon_lower(canaries=50, guesses=20, correct=20, delta=0.0, confidence=0.95)
    q = 0.05 ** (1 / 20)
    assert bound == pytest.approx(math.log(q / (1 - q)), rel=1e-6)


def test_nothing_is_refuted_by_chance_results() -> None:
    assert audited_epsilon_lower(canaries=100, guesses=100, correct=50, delta=1e-5, confidence=0.95) == 0.0
    assert audited_mu_lower(canaries=100, guesses=100, correct=50, confidence=0.95) == 0.0


@pytest.mark.parametrize("counts", [(5, 6, 3), (5, 4, 5), (5, 4, -1)])
def test_impossible_counts_are_refused(counts: tuple[int, int, int]) -> None:
    m, r, v = counts
    with pytest.raises(ConfigurationError, match="0 <= correct <= guesses <= canaries"):
        guessing_p_value(1.0, 0.0, canaries=m, guesses=r, correct=v)
    with pytest.raises(ConfigurationError, match="0 <= correct <= guesses <= canaries"):
        tradeoff_p_value(GaussianTradeoff(1.0), canaries=m, guesses=r, correct=v)


# --- the trade-off bound -----------------------------------------------------------------------------------


def best_tail_by_linear_program(
    slopes: list[tuple[float, float]], m: int, guesses: int, correct: int
) -> float:
    """Maximises P[≥ correct] over all (p_0 … p_c′) that Theorem 3.2 allows for the sets {i, …, c′}.

    For a curve with 1 − f(x) = min of lines a + b·x every constraint is linear in p.
    """
    size = guesses + 1
    number = np.arange(size)
    rows, limits = [], []
    for i in range(1, guesses + 1):
        right = np.where(number >= i, number / m, 0.0)
        wrong = np.where(number >= i - 1, (guesses - number) / m, 0.0)
        for a, b in slopes:
            rows.append(right - b * wrong)
            limits.append(a)
    result = linprog(
        -np.where(number >= correct, 1.0, 0.0),
        A_ub=np.array(rows),
        b_ub=np.array(limits),
        A_eq=np.ones((1, size)),
        b_eq=[1.0],
        bounds=(0.0, 1.0),
    )
    assert result.success
    return float(-result.fun)


@pytest.mark.parametrize("epsilon_delta", [(0.5, 1e-3), (1.0, 0.0), (1.5, 0.01)])
@pytest.mark.parametrize("counts", [(10, 10, 8), (12, 6, 5), (20, 10, 9), (15, 15, 15)])
def test_tradeoff_p_value_is_the_optimum_of_the_theorem(
    epsilon_delta: tuple[float, float], counts: tuple[int, int, int]
) -> None:
    """The recursion must find the largest tail that the theorem leaves, not merely some bound."""
    epsilon, delta = epsilon_delta
    m, guesses, correct = counts
    lines = [(1.0, 0.0), (delta, math.exp(epsilon))]
    lines.append((1.0 - math.exp(-epsilon) * (1.0 - delta), math.exp(-epsilon)))
    curve = PiecewiseTradeoff(((epsilon, delta),))
    found = tradeoff_p_value(curve, canaries=m, guesses=guesses, correct=correct)
    assert found == pytest.approx(best_tail_by_linear_program(lines, m, guesses, correct), rel=2e-3)


@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_tradeoff_p_value_holds_for_every_guesser_of_a_small_mechanism(mu: float) -> None:
    """Exact for independent Gaussians: the best guesser has Bin(m, Φ(μ/2)) right guesses."""
    m = 8
    for correct, total in itertools.pairwise(range(m + 1)):
        exact = float(binom.sf(total - 1, m, norm.cdf(mu / 2)))
        assert tradeoff_p_value(GaussianTradeoff(mu), canaries=m, guesses=m, correct=total) >= exact
        assert correct < total


def test_gaussian_curve_and_its_piecewise_bound_agree() -> None:
    """A curve given by many (ε, δ) points lies just below the exact one, so its p-value is just larger."""
    exact = GaussianTradeoff(0.8)
    points = tuple((e, exact.delta(e)) for e in np.linspace(0.0, 5.0, 200))
    given_points: TradeoffCurve = PiecewiseTradeoff(points)
    smooth = tradeoff_p_value(exact, canaries=400, guesses=50, correct=42)
    pieces = tradeoff_p_value(given_points, canaries=400, guesses=50, correct=42)
    assert smooth <= pieces <= 1.05 * smooth


@pytest.mark.statistical
def test_gaussian_mechanism_is_refuted_at_most_as_often_as_promised() -> None:
    """300 runs at 90 % confidence: at most 10 % expected; 50 wrong ones have probability below 4e-4."""
    rng = np.random.default_rng(3)
    mu, m, side = 1.0, 200, 12
    wrong = 0
    for _ in range(300):
        included = rng.integers(0, 2, m)
        order = np.argsort(rng.normal(size=m) + mu * included)
        correct = int(included[order[-side:]].sum() + (1 - included[order[:side]]).sum())
        wrong += audited_mu_lower(canaries=m, guesses=2 * side, correct=correct, confidence=0.9) > mu
    assert wrong < 50
