"""Closed forms of the Gaussian mechanism: Balle and Wang (2018), Theorem 8; Dong, Roth, Su (2022)."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon, gaussian_mu, gaussian_tradeoff
from discreet.errors import ConfigurationError


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.1), (1.0, 1.0), (2.5, 0.0), (2.5, 4.0)])
def test_delta_is_the_hockey_stick_integral(mu, epsilon):
    # The optimal test accepts where the log ratio μx − μ²/2 exceeds ε.
    cut = epsilon / mu + mu / 2
    direct = norm.sf(cut - mu) - math.exp(epsilon) * norm.sf(cut)
    assert gaussian_delta(mu, epsilon) == pytest.approx(direct, rel=1e-12)


@settings(deadline=None)
@given(st.floats(1e-3, 30.0), st.floats(1e-30, 0.4))
def test_epsilon_meets_its_delta_and_hardly_more(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert epsilon == 0.0 or gaussian_delta(mu, epsilon * (1 - 1e-7)) > delta * (1 - 1e-9)


@settings(deadline=None)
@given(st.floats(0.01, 20.0), st.floats(1e-12, 0.1))
def test_mu_inverts_epsilon(mu, delta):
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon > 0.0:
        assert gaussian_mu(epsilon, delta) == pytest.approx(mu, rel=1e-7)


def test_tradeoff_of_no_shift_is_the_diagonal():
    assert gaussian_tradeoff(0.0, 0.3) == pytest.approx(0.7)


@pytest.mark.parametrize(("mu", "delta"), [(math.nan, 0.1), (-1.0, 0.1), (1.0, math.nan), (1.0, 1.5)])
def test_nan_and_out_of_range_are_refused(mu, delta):
    with pytest.raises(ConfigurationError):
        gaussian_epsilon(mu, delta)


def test_no_noise_and_no_delta_promise_nothing():
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(1.0, 0.0) == math.inf
