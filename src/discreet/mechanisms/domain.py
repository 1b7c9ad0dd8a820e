"""Which parameters the samplers accept, checked in one place before any bit is drawn."""

from __future__ import annotations

from typing import assert_never

from discreet.errors import ConfigurationError
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    IntegerNoise,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)

MIN_STDDEV = 0.3
MAX_STDDEV = 2.0**40
# A table of the law has about 100·scale entries.
LAPLACE_SCALES = (2.0**-4, 2.0**12)


def check_stddev(name: str, stddev: float) -> None:
    """Refuses a standard deviation (grid units) outside the domain of the samplers.

    Raises:
        ConfigurationError: naming ``name`` and the knob.
    """
    if not (stddev >= MIN_STDDEV):
        raise ConfigurationError(
            f"{name} must be at least {MIN_STDDEV} grid units; got {stddev}. Raise the scale (more bits) or "
            "the noise multiplier."
        )
    if not (stddev <= MAX_STDDEV):
        raise ConfigurationError(
            f"{name} must be at most 2^40 grid units; got {stddev}. Lower the scale (fewer bits)."
        )


def check_law(law: IntegerNoise) -> None:
    """Refuses a law whose single share lies outside the domain of the samplers."""
    match law:
        case RoundedGaussianNoise() | DiscreteGaussianNoise():
            check_stddev("silo_stddev", law.silo_stddev)
        case SkellamNoise():
            check_stddev("the square root of silo_variance", law.silo_variance**0.5)
        case PolyaNoise(scale=scale):
            low, high = LAPLACE_SCALES
            if not low <= scale <= high:
                raise ConfigurationError(
                    f"the scale of discrete Laplace noise must be from {low} to {high:g} units; got "
                    f"{scale:.6g}. Change epsilon, or use Gaussian noise."
                )
        case _:
            assert_never(law)


def check_size(size: int) -> None:
    """Refuses a negative number of draws."""
    if not size >= 0:
        raise ConfigurationError(f"size must be >= 0; got {size}.")
