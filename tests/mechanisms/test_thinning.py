"""The identity behind the discrete Gaussian: accepting with 1/cosh(kt/σ²) leaves exactly N_Z(0, σ²)."""

from __future__ import annotations

import pytest
from mpmath import mp, mpf, workprec

from discreet.mechanisms.box_muller import error_bound
from discreet.mechanisms.thinning import _tolerance


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_accepted_mass_is_proportional_to_the_discrete_gaussian(sigma: float) -> None:
    with workprec(100):

        def accepted(k: int) -> mpf:
            return mp.quad(
                lambda t: mp.exp(-((k + t) ** 2) / (2 * mpf(sigma) ** 2)) / mp.cosh(k * t / mpf(sigma) ** 2),
                mp.linspace(-0.5, 0.5, 21),
            )

        for k in range(1, 5):
            ratio = accepted(k) / accepted(0)
            assert abs(ratio / mp.exp(-(mpf(k) ** 2) / (2 * mpf(sigma) ** 2)) - 1) < mpf(10) ** -12


@pytest.mark.parametrize("sigma", [0.3, 1.0, 2.0**8, 2.0**20, 2.0**40])
def test_tolerance_covers_the_error_of_the_distance(sigma: float) -> None:
    """Moves t by the Gaussian's error bound at the farthest k and compares the rejection probability."""
    farthest = 9.42 * sigma + 0.5
    error = error_bound(sigma)
    with workprec(200):
        reject = [1 - 1 / mp.cosh(mpf(farthest) * t / mpf(sigma) ** 2) for t in (mpf(0.5) - error, mpf(0.5))]
        assert abs(reject[1] - reject[0]) <= _tolerance(sigma)
    assert _tolerance(sigma) < 2.0**-20
