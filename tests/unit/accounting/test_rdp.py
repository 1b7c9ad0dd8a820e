"""Rényi bounds against reference values and direct sums."""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from scipy.special import gammaln

from discreet.accounting.bounds import Conversion, Rdp
from discreet.accounting.pairs import Mixture
from discreet.accounting.poisson_binomial import poisson_binomial_rdp
from discreet.accounting.rdp import RdpCurve, gaussian_rdp
from discreet.accounting.rdp_sampling import (
    between_orders,
    fixed_size_rdp,
    mixture_rdp,
    poisson_gaussian_rdp,
    poisson_rdp,
)
from discreet.arrays import Floats
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import PoissonBinomialRelease
from discreet.privacy.units import NeighboringRelation


def orders(*values: float) -> Floats:
    return np.array(values, dtype=float)


@pytest.mark.parametrize("order", [1.3, 2.0, 3.7, 9.0, 33.0])
@pytest.mark.parametrize(("mu", "prob"), [(1.0, 0.01), (2.5, 0.2), (0.3, 0.9)])
def test_sampled_gaussian_against_quadrature(order: float, mu: float, prob: float) -> None:
    def integrand(x: mpf) -> mpf:
        ratio = 1 - prob + prob * mpmath.exp(mu * x - mu * mu / 2)
        return ratio**order * mpmath.npdf(x)

    with mpmath.workdps(30):
        peak = order * mu
        exact = mpmath.log(mpmath.quad(integrand, [-14, -3, 0, peak, peak + 4, peak + 14])) / (order - 1)
    found = poisson_gaussian_rdp(orders(order), mu, prob)[0]
    assert found == pytest.approx(float(exact), rel=1e-8, abs=1e-14)


def test_quadrature_and_binomials_agree_at_integers() -> None:
    alphas = orders(2, 3, 7, 20)
    upper = Mixture((0.9, 0.1), (0.0, 1.4))
    quad = mixture_rdp(alphas, upper, Mixture((1.0,), (0.0,)))
    assert np.allclose(quad, poisson_gaussian_rdp(alphas, 1.4, 0.1), rtol=1e-10)


def test_removing_is_worse_than_adding_at_every_order() -> None:
    # Mironov, Talwar, Zhang (2019), Theorem 5.
    alphas = orders(1.1, 2, 5, 17)
    present, absent = Mixture((0.9, 0.1), (0.0, 1.4)), Mixture((1.0,), (0.0,))
    mirrored = Mixture((0.9, 0.1), (0.0, -1.4))
    assert np.all(mixture_rdp(alphas, absent, mirrored) <= mixture_rdp(alphas, present, absent))


def test_full_participation_is_the_gaussian() -> None:
    alphas = orders(1.5, 2, 64)
    assert np.allclose(poisson_gaussian_rdp(alphas, 0.7, 1.0), gaussian_rdp(alphas, 0.7))


def test_high_orders_do_not_overflow() -> None:
    value = poisson_rdp(orders(4096), 0.5, lambda k: k * (k - 1) * 2.0)[0]
    assert value == pytest.approx(4096 * 2.0 - math.log(2) * 4096 / 4095, rel=1e-6)


def test_fixed_size_formula_term_by_term() -> None:
    # Wang, Balle, Kasiviswanathan (2019), Theorem 9, at α = 3, ε_j = j·0.5.
    q, e2, e3 = 0.1, math.exp(1.0), math.exp(2 * 1.5)
    direct = math.log(1 + q**2 * 3 * min(4 * (e2 - 1), 2 * e2) + 2 * q**3 * e3) / 2
    found = fixed_size_rdp(orders(3), q, lambda j: j * (j - 1) * 0.5)[0]
    assert found == pytest.approx(min(direct, 1.5), rel=1e-12)


def test_fixed_size_is_never_worse_than_no_sampling() -> None:
    alphas = orders(*range(2, 60))
    sampled = fixed_size_rdp(alphas, 0.5, lambda j: j * (j - 1) * 0.5)
    assert np.all(sampled <= alphas * 0.5 + 1e-12)


def test_chords_between_integers_bound_the_gaussian() -> None:
    found = between_orders(orders(1.5, 2, 2.5, 9), orders(2, 3), orders(2, 6))
    assert found[0] == pytest.approx(2.0)
    assert found[1] == pytest.approx(2.0)
    assert found[2] == pytest.approx(4 / 1.5)
    assert found[3] == math.inf


def test_both_conversions_at_one_order() -> None:
    curve = RdpCurve(orders(8.0), orders(0.5), Conversion.MIRONOV)
    assert curve.epsilon_at(1e-5) == pytest.approx(0.5 + math.log(1e5) / 7)
    better = RdpCurve(orders(8.0), orders(0.5), Conversion.IMPROVED)
    assert better.epsilon_at(1e-5) == pytest.approx(
        0.5 + math.log(7 / 8) - (math.log(1e-5) + math.log(8)) / 7
    )
    for one in (curve, better):
        assert one.delta_at(one.epsilon_at(1e-5)) == pytest.approx(1e-5)


def test_poisson_binomial_against_all_worlds() -> None:
    # m = 2 trials, n = 3 clients, every combination of extreme probabilities of the others.
    theta, alpha = 0.2, 3.0

    def law(*trial_probs: float) -> Floats:
        out = np.ones(1)
        for p in trial_probs:
            out = np.convolve(out, [1 - p, p])
        return out

    worst = 0.0
    extremes = [0.3, 0.4, 0.5, 0.6, 0.7]
    for own, changed in ((a, b) for a in extremes for b in extremes):
        for first in extremes:
            for second in extremes:
                others = (first, first, second, second)
                p, q = law(own, own, *others), law(changed, changed, *others)
                worst = max(worst, math.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1))
    release = PoissonBinomialRelease(2, 3, theta, dimension=5)
    found = poisson_binomial_rdp(release, NeighboringRelation.REPLACE_ONE, orders(alpha))[0]
    assert 5 * worst * (1 - 1e-9) <= found <= 5 * worst * 2.0
    special = poisson_binomial_rdp(release, NeighboringRelation.REPLACE_SPECIAL, orders(alpha))[0]
    assert 0.0 < special < found


def test_more_clients_hide_more() -> None:
    values = [
        poisson_binomial_rdp(
            PoissonBinomialRelease(4, n, 0.25, 1), NeighboringRelation.REPLACE_ONE, orders(2.0)
        )[0]
        for n in (2, 8, 32, 128)
    ]
    assert values == sorted(values, reverse=True)
    # Chen, Özgür, Kairouz (2022): ε_α = O(θ² m α / n); four times the clients, about a quarter.
    assert values[3] == pytest.approx(values[2] / 4, rel=0.1)


def test_who_sends_is_public() -> None:
    with pytest.raises(UnsupportedAnalysisError, match="replace-one"):
        poisson_binomial_rdp(
            PoissonBinomialRelease(2, 3, 0.2, 1), NeighboringRelation.ADD_REMOVE, orders(2.0)
        )


def test_orders_must_exceed_one() -> None:
    with pytest.raises(ConfigurationError, match="above 1"):
        Rdp(orders=(1.0, 2.0))
    with pytest.raises(ConfigurationError, match="above 1"):
        Rdp(orders=(math.nan,))


def test_binomials_are_cached_right() -> None:
    alphas = orders(5)
    found = poisson_rdp(alphas, 0.3, lambda k: k * (k - 1) * 0.1)[0]
    terms = [
        math.exp(gammaln(6) - gammaln(k + 1) - gammaln(6 - k))
        * 0.7 ** (5 - k)
        * 0.3**k
        * math.exp(k * (k - 1) * 0.1)
        for k in range(6)
    ]
    assert found == pytest.approx(math.log(sum(terms)) / 4)


@pytest.mark.parametrize(("mu", "prob", "order"), [(0.1, 0.999, 256.0), (0.05, 0.5, 512.0), (1.0, 0.9, 60.0)])
def test_an_exchange_reaches_as_far_as_both_shifts_take_it(mu: float, prob: float, order: float) -> None:
    """Of N(a) against N(-b) the integrand has its peak at αa + (α − 1)b, past either of the two."""
    upper, lower = Mixture((1.0 - prob, prob), (0.0, mu)), Mixture((1.0 - prob, prob), (0.0, -mu))
    x = np.linspace(-40.0, 40.0 + 2.0 * order * mu, 2_000_001)
    logs = order * upper.log_density(x) + (1.0 - order) * lower.log_density(x)
    logs -= x * x / 2.0 + math.log(math.sqrt(2.0 * math.pi))
    exact = (np.log(np.exp(logs - logs.max()).sum() * (x[1] - x[0])) + logs.max()) / (order - 1.0)
    assert mixture_rdp(orders(order), upper, lower)[0] == pytest.approx(exact, rel=1e-9)
