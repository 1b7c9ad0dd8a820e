"""The families of integer noise that a plan may choose from, and the law that a request leads to."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum
from typing import assert_never

from discreet.errors import ConfigurationError
from discreet.mechanisms.domain import MIN_STDDEV, check_law
from discreet.mechanisms.rounded_gaussian import rounded_variance
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    IntegerNoise,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)

# One unit in the last place of every float64 step below, with room: a law is never below its request.
_ROUND_UP = 1.0 + 2.0**-48


class NoiseFamily(Enum):
    """Which integer law the silos draw their shares from."""

    ROUNDED_GAUSSIAN = "rounded-gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"
    SKELLAM = "skellam"
    DISCRETE_LAPLACE = "discrete-laplace"


def law_for(family: NoiseFamily, *, variance: float, num_silos: int) -> IntegerNoise:
    r"""Returns the law whose sum over ``num_silos`` honest shares has at least ``variance`` per coordinate.

    For the discrete Gaussian ``variance`` is the parameter σ², as in `DiscreteGaussianNoise.variance`.

    Args:
        family: which law.
        variance: requested variance of the sum, grid units squared.
        num_silos: how many honest shares are summed.

    Raises:
        ConfigurationError: if a share would leave the samplers' domain; the message names the knob.

    Example:
        >>> law = law_for(NoiseFamily.SKELLAM, variance=640.0, num_silos=10)
        >>> law.variance >= 640.0
        True
    """
    if not num_silos >= 1:
        raise ConfigurationError(f"num_silos must be >= 1; got {num_silos}.")
    if not (variance > 0 and math.isfinite(variance)):
        raise ConfigurationError(
            f"variance must be positive and finite (grid units squared); got {variance}."
        )
    share = variance / num_silos * _ROUND_UP
    law: IntegerNoise
    match family:
        case NoiseFamily.ROUNDED_GAUSSIAN:
            law = RoundedGaussianNoise(_stddev_before_rounding(share), num_silos)
        case NoiseFamily.DISCRETE_GAUSSIAN:
            law = DiscreteGaussianNoise(math.sqrt(share), num_silos)
        case NoiseFamily.SKELLAM:
            law = SkellamNoise(share, num_silos)
        case NoiseFamily.DISCRETE_LAPLACE:
            # 2p/(1 − p)² = 1/(2 sinh²(1/2b)), solved for b.
            scale = 0.5 / math.asinh(1.0 / math.sqrt(2.0 * variance)) * _ROUND_UP
            law = PolyaNoise(scale, num_silos, num_silos)
        case _:
            assert_never(family)
    check_law(law)
    return law


def per_silo(law: IntegerNoise, num_silos: int) -> IntegerNoise:
    """Returns the same share summed over another number of honest silos (dropouts, colluders, one silo).

    Example:
        >>> per_silo(SkellamNoise(64.0, num_silos=10), 1).variance
        64.0
    """
    if not num_silos >= 1:
        raise ConfigurationError(f"num_silos must be >= 1; got {num_silos}.")
    return replace(law, num_silos=num_silos)


def _stddev_before_rounding(share_variance: float) -> float:
    """Solves ``rounded_variance(σ) >= share_variance`` for σ; 1/12 of it comes from the rounding."""
    needed = share_variance - 1.0 / 12.0
    if not needed >= MIN_STDDEV**2:
        raise ConfigurationError(
            "the variance of one silo's rounded-Gaussian share must be at least "
            f"{MIN_STDDEV**2 + 1 / 12:.4f} in grid units squared; got {share_variance:.4g}. "
            "Raise the scale (more bits) or the noise."
        )
    stddev = math.sqrt(needed)
    # Rounding a narrow Gaussian adds slightly less than 1/12; the shortfall decreases in σ, so adding the
    # shortfall at the smaller σ suffices.
    shortfall = max(0.0, stddev**2 + 1.0 / 12.0 - rounded_variance(stddev))
    return math.sqrt(needed + shortfall) * _ROUND_UP
