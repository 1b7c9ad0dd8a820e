"""One silo's share of a planned noise law: blocks, threads and the stated distance from the law."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.mechanisms.blocks import Draw, added, fill
from discreet.mechanisms.domain import check_law, check_size
from discreet.mechanisms.polya import POLYA_TV, draw_polya
from discreet.mechanisms.rounded_gaussian import draw_rounded_gaussian, round_with_gaussian
from discreet.mechanisms.skellam import draw_skellam, skellam_tv
from discreet.mechanisms.thinning import draw_discrete_gaussian
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    IntegerNoise,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)
from discreet.randomness import RandomSource

# What the proofs of the laws take on trust, beside uniform random bits (docs/theory/integers.md, section 6).
SAMPLER_ASSUMPTION = (
    "float64 arithmetic, square roots and (where the platform has it) extended precision round to nearest as "
    "IEEE 754 asks; float64 log, log1p, exp, expm1, sinh and cosh are within 4 units in the last place; "
    "extended-precision log, log1p, sin and cos are within 2^-60, relative for logarithms; "
    "mpmath's intervals contain the values that they enclose"
)


def sample_share(law: IntegerNoise, size: int, randomness: RandomSource, *, workers: int = 1) -> Integers:
    """Draws ONE silo's share of ``law``, ``size`` coordinates, in grid units.

    Guarantee:
        The coordinates are independent and follow the stated law of one share up to total variation
        ``sampler_tv(law, size)``. ``law.num_silos`` is only the planned sum. The result is a function of
        ``randomness``, ``law`` and ``size``: neither ``workers`` nor the machine changes it.

    Args:
        law: the planned law.
        size: number of coordinates.
        randomness: source; it is consumed.
        workers: threads to use; changes the speed only.

    Returns:
        Integers of shape ``(size,)``.

    Raises:
        ConfigurationError: if the law is outside the samplers' domain (σ from 0.3 to 2^40 a share).

    Note:
        The running time depends on the drawn values (rejections and exact re-decisions): do not sample
        where an adversary can measure single calls (docs/integers.md).
    """
    check_law(law)
    check_size(size)
    out = np.empty(size, dtype=np.int64)
    fill(_drawer(law), out, randomness, workers=workers)
    return out


def add_share(values: Integers, law: IntegerNoise, randomness: RandomSource, *, workers: int = 1) -> None:
    """Adds to ``values``, in place, the very draws that `sample_share` would return: no second vector.

    Args:
        values: grid units, shape ``(size,)``.
        law: the planned law.
        randomness: source; it is consumed.
        workers: threads to use; changes the speed only.

    Raises:
        ConfigurationError: as `sample_share`.

    Example:
        >>> from discreet.randomness import SeededRandom
        >>> law, values = RoundedGaussianNoise(20.0, num_silos=1), np.arange(5)
        >>> add_share(values, law, SeededRandom(1))
        >>> bool(np.all(values == np.arange(5) + sample_share(law, 5, SeededRandom(1))))
        True
    """
    check_law(law)
    fill(added(_drawer(law)), values, randomness, workers=workers)


def round_with_noise(
    values: Floats, law: RoundedGaussianNoise, randomness: RandomSource, *, workers: int = 1
) -> Integers:
    """Adds real Gaussian noise to real ``values`` and rounds once: round(x + N(0, σ²)), exactly.

    Guarantee:
        Every result is a rounding of the Gaussian mechanism's, so that its privacy is that of real noise at
        the real sensitivity; for sums over silos see docs/theory/integers.md, Lemma 2. The result is a
        function of ``randomness``, ``values`` and ``law``.

    Args:
        values: grid units, shape ``(size,)``, magnitudes below 2^52. They are OVERWRITTEN: the result lies in
            their memory.
        law: σ is its ``silo_stddev``.
        randomness: source; it is consumed.
        workers: threads to use; changes the speed only.

    Raises:
        ConfigurationError: as `sample_share`.

    Example:
        >>> from discreet.randomness import SeededRandom
        >>> round_with_noise(np.array([0.5, -3.25]), RoundedGaussianNoise(20.0, 1), SeededRandom(1)).dtype
        dtype('int64')
    """
    check_law(law)
    out = values.view(np.int64)
    fill(
        lambda part, source, scratch: round_with_gaussian(law.silo_stddev, part, source, scratch),
        out,
        randomness,
        workers=workers,
    )
    return out


def sampler_tv(law: IntegerNoise, size: int) -> float:
    """Bounds the total variation between ``size`` draws and the stated law; the plan adds it to δ.

    The Gaussian samplers are exact: 0.
    """
    check_law(law)
    check_size(size)
    match law:
        case RoundedGaussianNoise() | DiscreteGaussianNoise():
            return 0.0
        case SkellamNoise():
            return size * skellam_tv(law.silo_variance)
        case PolyaNoise():
            return size * POLYA_TV
        case _:
            assert_never(law)


def _drawer(law: IntegerNoise) -> Draw:
    """Binds the parameters of one share."""
    match law:
        case RoundedGaussianNoise(silo_stddev=stddev):
            return lambda out, source, scratch: draw_rounded_gaussian(stddev, out, source, scratch)
        case DiscreteGaussianNoise(silo_stddev=stddev):
            return lambda out, source, scratch: draw_discrete_gaussian(stddev, out, source, scratch)
        case SkellamNoise(silo_variance=variance):
            return lambda out, source, scratch: draw_skellam(variance, out, source, scratch)
        case PolyaNoise(scale=scale, whole=whole):
            return lambda out, source, scratch: draw_polya(scale, whole, out, source, scratch)
        case _:
            assert_never(law)
