"""Noise laws seen as Gaussian noise: how much variance, and what the comparison costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.accounting.lattice import (
    discrete_sum_ratio,
    kernel_variance,
    rounded_sum_ratio,
    smoothing_ratio,
)
from discreet.accounting.skellam import skellam_against_discrete_gaussian
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    GaussianNoise,
    NoiseLaw,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)

# A sum over silos whose lattice error is larger than this in total is not used; one silo's noise is.
_MAX_SUM_COST = 1e-2
# Total log ratio that smoothing a discrete Gaussian may cost.
_SMOOTHING_COST = 1e-8


@dataclass(frozen=True, slots=True)
class GaussianView:
    """A noise law compared with a post-processing of N(0, ``stddev``²).

    Guarantee:
        For all events S about all coordinates of all releases together, on every data set, the two joint
        laws satisfy A(S) ≤ e^log_ratio B(S) + tail in both directions.

    Attributes:
        stddev: of the Gaussian, in the units of the law.
        log_ratio: total over all coordinates.
        tail: total over all coordinates.
    """

    stddev: float
    log_ratio: float
    tail: float


def gaussian_view(noise: NoiseLaw, num_draws: int, tail: float) -> GaussianView | None:
    """Returns the best view of ``noise`` for ``num_draws`` coordinates in all, or ``None`` if there is none.

    Args:
        noise: the law of one coordinate.
        num_draws: coordinates times releases.
        tail: probability that the comparison may give away (only Skellam noise uses it).
    """
    match noise:
        case GaussianNoise(stddev=stddev):
            return GaussianView(stddev, 0.0, 0.0)
        case RoundedGaussianNoise(silo_stddev=stddev, num_silos=silos):
            silos, cost = usable_silos(rounded_sum_ratio(stddev**2, silos), num_draws, silos)
            return GaussianView(stddev * math.sqrt(silos), cost, 0.0)
        case DiscreteGaussianNoise(silo_stddev=stddev, num_silos=silos):
            silos, cost = usable_silos(discrete_sum_ratio(stddev**2, silos), num_draws, silos)
            return _smoothed(silos * stddev**2, num_draws, cost, 0.0)
        case SkellamNoise():
            ratio = skellam_against_discrete_gaussian(noise.variance, num_draws, tail)
            return None if ratio is None else _smoothed(noise.variance, num_draws, ratio.bound, ratio.tail)
        case PolyaNoise():
            return None


def usable_silos(ratio: float, num_draws: int, num_silos: int) -> tuple[int, float]:
    """Returns how many silos' noise counts, and the log ratio that summing them costs.

    Where summing coarse noise would cost too much, one silo's noise is used alone: the integers of the others
    are independent of it, and adding them is post-processing.
    """
    cost = num_draws * ratio
    return (num_silos, cost) if cost <= _MAX_SUM_COST else (1, 0.0)


def _smoothed(variance: float, num_draws: int, log_ratio: float, tail: float) -> GaussianView | None:
    """Adds the comparison of N_ℤ(0, variance) with a smoothed Gaussian."""
    kernel = kernel_variance(_SMOOTHING_COST / num_draws)
    if kernel > variance / 2.0:
        return None
    cost = log_ratio + num_draws * smoothing_ratio(kernel)
    return GaussianView(math.sqrt(variance - kernel), cost, tail)
