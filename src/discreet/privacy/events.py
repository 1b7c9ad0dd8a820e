"""What happened, as data: the events that plans promise, ledgers record and accountants interpret.

An event states facts only (noise law, sensitivity, sampling, repetitions). Accountants refuse what they do
not know. The meaning of an existing event or field never changes, so that old ledgers stay readable.

Units: for integer noise laws every length is in *grid units* (the integers that travel); for
`GaussianNoise` it is whatever unit the sensitivity is in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from discreet.errors import ConfigurationError


def _require_positive(owner: str, **values: float) -> None:
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise ConfigurationError(f"The {name!r} parameter of {owner} must be positive; got {value}.")


# --- noise laws: i.i.d. over coordinates, the sum over ``num_silos`` honest shares ---------------------


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """Real Gaussian noise of standard deviation ``stddev`` per coordinate of the released sum."""

    stddev: float

    def __post_init__(self) -> None:
        _require_positive("GaussianNoise", stddev=self.stddev)

    @property
    def variance(self) -> float:
        """Variance per coordinate of the released sum."""
        return self.stddev**2


@dataclass(frozen=True, slots=True)
class RoundedGaussianNoise:
    """The sum of ``num_silos`` independent draws of round(N(0, ``silo_stddev``²)); grid units."""

    silo_stddev: float
    num_silos: int

    def __post_init__(self) -> None:
        _require_positive("RoundedGaussianNoise", silo_stddev=self.silo_stddev, num_silos=self.num_silos)

    @property
    def variance(self) -> float:
        """Variance per coordinate of the sum: n(σ² + 1/12), exact up to exp(-2π²σ²)."""
        return self.num_silos * (self.silo_stddev**2 + 1.0 / 12.0)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianNoise:
    """The sum of ``num_silos`` independent draws of N_Z(0, ``silo_stddev``²); grid units.

    Canonne, Kamath, Steinke (2020), Definition 1; sums: Kairouz, Liu, Steinke (2021).
    """

    silo_stddev: float
    num_silos: int

    def __post_init__(self) -> None:
        _require_positive("DiscreteGaussianNoise", silo_stddev=self.silo_stddev, num_silos=self.num_silos)

    @property
    def variance(self) -> float:
        """Parameter variance of the sum, nσ²; the true variance is never larger."""
        return self.num_silos * self.silo_stddev**2


@dataclass(frozen=True, slots=True)
class SkellamNoise:
    """The sum of ``num_silos`` independent symmetric Skellam draws of variance ``silo_variance``; grid units.

    Agarwal, Kairouz, Liu (2021), Definition 2.2; the sum is Skellam of variance n times as large, exactly.
    """

    silo_variance: float
    num_silos: int

    def __post_init__(self) -> None:
        _require_positive("SkellamNoise", silo_variance=self.silo_variance, num_silos=self.num_silos)

    @property
    def variance(self) -> float:
        """Variance per coordinate of the sum."""
        return self.num_silos * self.silo_variance


@dataclass(frozen=True, slots=True)
class PolyaNoise:
    """The sum of ``num_silos`` shares, ``whole`` of which make discrete Laplace noise; grid units.

    A share is the difference of two negative binomials of shape r = 1/``whole``: P[k] = C(k + r − 1, k)
    (1 − p)^r p^k with p = exp(−1/``scale``). Shapes add up, and of shape 1 they are geometric: the sum of
    ``whole`` shares is the two-sided geometric law, exactly: probability proportional to exp(−|k|/``scale``);
    more only add to it.
    Goryczka, Xiong (2017), Section 4.2; Ghosh, Roughgarden, Sundararajan (2012).
    """

    scale: float
    whole: int
    num_silos: int

    def __post_init__(self) -> None:
        _require_positive("PolyaNoise", scale=self.scale, whole=self.whole, num_silos=self.num_silos)

    @property
    def variance(self) -> float:
        """Variance per coordinate of the sum: n/whole · 2p/(1 − p)²."""
        return self.num_silos / self.whole / (2.0 * math.sinh(0.5 / self.scale) ** 2)


IntegerNoise = RoundedGaussianNoise | DiscreteGaussianNoise | SkellamNoise | PolyaNoise
NoiseLaw = GaussianNoise | IntegerNoise


# --- sampling: how units enter a release -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NoSampling:
    """Every unit takes part in every release."""


@dataclass(frozen=True, slots=True)
class PoissonSampling:
    """Every unit takes part with probability ``prob``, independently of everything else."""

    prob: float

    def __post_init__(self) -> None:
        if not 0.0 < self.prob <= 1.0:
            raise ConfigurationError(
                f"The 'prob' parameter of PoissonSampling must be in (0, 1]; got {self.prob}."
            )


@dataclass(frozen=True, slots=True)
class RepeatedPoissonSampling:
    """Within one release every unit gets ``trials`` independent chances of ``prob`` each to take part.

    The sensitivity of the release is that of *one* part taken; all that a unit takes are added up. Fused
    local steps (several sampled sub-steps under one noise) and groups of units are of this kind.
    """

    prob: float
    trials: int

    def __post_init__(self) -> None:
        if not (0.0 < self.prob <= 1.0 and self.trials >= 1):
            raise ConfigurationError(
                "RepeatedPoissonSampling needs prob in (0, 1] and trials >= 1; "
                f"got prob={self.prob}, trials={self.trials}."
            )


@dataclass(frozen=True, slots=True)
class FixedSizeSampling:
    """Exactly ``sample_size`` of ``population`` units take part, uniformly without replacement."""

    sample_size: int
    population: int

    def __post_init__(self) -> None:
        if not 1 <= self.sample_size <= self.population:
            raise ConfigurationError(
                "The 'sample_size' parameter of FixedSizeSampling must be between 1 and the population "
                f"{self.population}; got {self.sample_size}."
            )


Sampling = NoSampling | PoissonSampling | RepeatedPoissonSampling | FixedSizeSampling


# --- events ------------------------------------------------------------------------------------------------


class SampledChange(Enum):
    """What adding or removing one unit does to a release that has sampled it.

    ``ADDED_OR_REMOVED``: one contribution appears or disappears.
    ``REPLACED``: the contribution of the sampled group that holds the unit (a shard) turns into another one.
    """

    ADDED_OR_REMOVED = "added-or-removed"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Release:
    """One release of a sum of vectors plus noise.

    Attributes:
        noise: law of the noise in the released sum, honest shares only.
        l2_sensitivity: how far one *sampled* contribution moves the sum in L2, compared with its absence, in
            the units of the noise law (grid units for integer noise, after rounding). A replaced
            contribution moves it by up to twice this much; accountants do that doubling themselves.
        dimension: number of coordinates.
        sampling: how units enter; with ``REPLACED``, how the groups that hold units enter.
        change: what adding or removing one unit does to the sampled contribution.
    """

    noise: NoiseLaw
    l2_sensitivity: float
    dimension: int
    sampling: Sampling = NoSampling()
    change: SampledChange = SampledChange.ADDED_OR_REMOVED

    def __post_init__(self) -> None:
        _require_positive("Release", l2_sensitivity=self.l2_sensitivity, dimension=self.dimension)


@dataclass(frozen=True, slots=True)
class PoissonBinomialRelease:
    """The sum of ``num_clients`` vectors of binomials: noise by encoding, none is added.

    Client j sends, per coordinate, Binomial(``num_trials``, p) with p in [1/2 − ``theta``, 1/2 + ``theta``]
    holding its value; a client with nothing to say sends p = 1/2. Who sends is public. Chen, Özgür, Kairouz
    (2022), Algorithm 1.
    """

    num_trials: int
    num_clients: int
    theta: float
    dimension: int

    def __post_init__(self) -> None:
        _require_positive(
            "PoissonBinomialRelease",
            num_trials=self.num_trials,
            num_clients=self.num_clients,
            dimension=self.dimension,
        )
        if not 0.0 < self.theta < 0.5:
            raise ConfigurationError(
                f"The 'theta' parameter of PoissonBinomialRelease must be in (0, 1/2); got {self.theta}."
            )


@dataclass(frozen=True, slots=True)
class Failure:
    """A bound that the other events rely on may fail with probability at most ``prob``; it is added to δ."""

    prob: float
    reason: str

    def __post_init__(self) -> None:
        if not 0.0 <= self.prob < 1.0:
            raise ConfigurationError(f"The 'prob' parameter of Failure must be in [0, 1); got {self.prob}.")


@dataclass(frozen=True, slots=True)
class StatisticalDistance:
    """What runs differs from what the other events describe, by total variation at most ``distance``.

    For every data set, over all outputs together. Unlike a `Failure` it counts (1 + e^ε) times in δ, since
    it may help the adversary on both of two neighbouring data sets. Sampler errors are of this kind.
    """

    distance: float
    reason: str

    def __post_init__(self) -> None:
        if not 0.0 <= self.distance < 1.0:
            raise ConfigurationError(
                f"The 'distance' parameter of StatisticalDistance must be in [0, 1); got {self.distance}."
            )


@dataclass(frozen=True, slots=True)
class Repeated:
    """``event``, ``count`` times, each adaptively chosen after the outputs of the earlier ones."""

    event: Event
    count: int

    def __post_init__(self) -> None:
        if not self.count >= 0:
            raise ConfigurationError(f"The 'count' parameter of Repeated must be >= 0; got {self.count}.")


@dataclass(frozen=True, slots=True)
class Composed:
    """All of ``events``, each adaptively chosen after the outputs of the earlier ones."""

    events: tuple[Event, ...]


Event = Release | PoissonBinomialRelease | Failure | StatisticalDistance | Repeated | Composed
