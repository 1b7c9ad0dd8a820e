"""Closed forms of the Gaussian mechanism: Balle and Wang (2018), Theorem 8; Dong, Roth, Su (2022)."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.accounting import Pld, Rdp
from discreet.accounting import delta as delta_of
from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon
from discreet.errors import ConfigurationError
from discreet.privacy.events import (
    Composed,
    GaussianNoise,
    PoissonSampling,
    PolyaNoise,
    Release,
)


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.1), (1.0, 1.0), (2.5, 0.0), (2.5, 4.0)])
def test_delta_is_the_hockey_stick_integral(mu: float, epsilon: float) -> None:
    # The optimal test accepts where the log ratio μx − μ²/2 exceeds ε.
    cut = epsilon / mu + mu / 2
    direct = norm.sf(cut - mu) - math.exp(epsilon) * norm.sf(cut)
    assert gaussian_delta(mu, epsilon) == pytest.approx(direct, rel=1e-12)


@settings(deadline=None)
@given(st.floats(1e-3, 30.0), st.floats(1e-30, 0.4))
def test_epsilon_meets_its_delta_and_hardly_more(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert epsilon == 0.0 or gaussian_delta(mu, epsilon * (1 - 1e-7)) > delta * (1 - 1e-9)


@pytest.mark.parametrize(("mu", "epsilon"), [(1.0, 40.0), (math.sqrt(10.0), 1000.0), (0.1, 1e6)])
def test_a_delta_too_small_for_a_float_is_rounded_up_and_never_pure_privacy(
    mu: float, epsilon: float
) -> None:
    """10 steps at noise multiplier 1 and ε = 1000: δ is about 1e-21503."""
    assert gaussian_delta(mu, epsilon) > 0.0
    step = Release(GaussianNoise(1.0 / mu), 1.0, dimension=1)
    for event in (step, replace(step, sampling=PoissonSampling(0.01))):
        for accountant in (Pld(), Rdp()):
            assert delta_of(event, epsilon=epsilon, accountant=accountant).delta > 0.0


def test_only_laplace_noise_and_no_release_at_all_have_a_delta_of_zero() -> None:
    laplace = Release(PolyaNoise(1.0, whole=1, num_silos=1), 1.0, 1)
    assert delta_of(laplace, epsilon=1.5).delta == 0.0
    assert delta_of(laplace, epsilon=0.5).delta > 0.0
    assert delta_of(Composed(()), epsilon=0.0).delta == 0.0
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert gaussian_delta(1.0, math.inf) == 0.0


@pytest.mark.parametrize(("mu", "delta"), [(math.nan, 0.1), (-1.0, 0.1), (1.0, math.nan), (1.0, 1.5)])
def test_nan_and_out_of_range_are_refused(mu: float, delta: float) -> None:
    with pytest.raises(ConfigurationError):
        gaussian_epsilon(mu, delta)


def test_no_noise_and_no_delta_promise_nothing() -> None:
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(1.0, 0.0) == math.inf
