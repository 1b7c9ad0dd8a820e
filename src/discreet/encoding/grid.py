r"""From public bounds to a grid (scale) and a ring (bits): the smallest that cannot wrap unnoticed.

Everything here is a function of public numbers. The worst case is the default: every silo's update has L2
norm at most ``silo_bound``, hence no coordinate of the sum exceeds N·``silo_bound``, whatever the data are.
With ``rotated`` the same norm is spread by a public random rotation and the bound holds but for
``wrap_prob``, which is shared with the tail of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.encoding.ring import SignalBound, bits_for, check_bits
from discreet.encoding.rotation import flattened_bound, rotation_error
from discreet.encoding.rounding import RoundedSensitivity, arithmetic_error, rounded_l2_bound
from discreet.errors import ConfigurationError, HowTo
from discreet.mechanisms import MIN_STDDEV, per_silo, sample_tail_bound
from discreet.privacy.events import DiscreteGaussianNoise, IntegerNoise
from discreet.secagg.ring import MAX_BITS

# An update whose norm float64 computes to be this much over its bound is still accepted.
NORM_TOLERANCE = 2.0**-20

WRAP_PROB = 2.0**-40

# The noise of the final plan may be this much wider than the request's approximate multiplier says.
_NOISE_SLACK = 1.05
# A silo's share needs room above the samplers' smallest standard deviation (rounding adds variance 1/12).
_MIN_SHARE_STDDEV = 2.0 * MIN_STDDEV
_SCALE_BITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GridRequest:
    r"""The requirements on a grid; real units unless said otherwise.

    Attributes:
        l2_sensitivity: how far adding or removing one unit moves one silo's update in L2, before rounding.
        silo_bound: public bound on the L2 norm of any silo's update.
        num_silos: largest number of updates in one sum.
        dimension: number of coordinates.
        rounds: number of sums.
        noise_multiplier: approximate central standard deviation ÷ sensitivity after rounding.
        num_honest: how many silos' noise that multiplier counts; the ring must hold everyone's.
        max_inflation: how much rounding may raise the sensitivity, relative.
        wrap_prob: bound on the probability that any coordinate of any round wraps.
        min_stddev: smallest admissible central standard deviation, grid units.
        rounding_beta: failure probability of the rounding bound, each time; 0 asks for the certain bound.
        float_error: bound on ‖computed − exact update‖₂ from floating-point summation, for either neighbour.
        rotated: spread updates by a random rotation and use the probabilistic bound.
        noise_first: add real Gaussian noise and round then, which costs no sensitivity at all; for rounded
            Gaussian noise. ``max_inflation`` is then what rounding may add to one share's deviation.
    """

    l2_sensitivity: float
    silo_bound: float
    num_silos: int
    dimension: int
    rounds: int
    noise_multiplier: float
    num_honest: int | None = None
    max_inflation: float = 0.01
    wrap_prob: float = WRAP_PROB
    min_stddev: float = 0.0
    rounding_beta: float = 1e-12
    float_error: float = 0.0
    rotated: bool = False
    noise_first: bool = False

    def __post_init__(self) -> None:
        for name in ("l2_sensitivity", "silo_bound", "num_silos", "dimension", "rounds", "noise_multiplier"):
            _require("GridRequest", name, getattr(self, name))
        for name in ("min_stddev", "float_error"):
            _require("GridRequest", name, getattr(self, name), or_zero=True)
        _require("GridRequest", "max_inflation", self.max_inflation)
        if self.num_honest is not None and not 1 <= self.num_honest <= self.num_silos:
            raise ConfigurationError(f"num_honest must be from 1 to {self.num_silos}; got {self.num_honest}.")
        if not 0.0 < self.wrap_prob <= WRAP_PROB:
            raise ConfigurationError(
                f"wrap_prob must be in (0, 2^-40]; got {self.wrap_prob}. Lower wrap_prob."
            )
        if not 0.0 <= self.rounding_beta < 1.0:
            raise ConfigurationError(f"rounding_beta must be in [0, 1); got {self.rounding_beta}.")
        if not self.silo_bound >= self.l2_sensitivity:
            raise ConfigurationError(
                f"silo_bound must be at least l2_sensitivity={self.l2_sensitivity}; got {self.silo_bound}. "
                "Raise silo_bound to the norm of the largest update that a silo may send."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The agreed grid and ring of a plan.

    Attributes:
        scale: grid units per real unit; at most 17 significant bits, so that scaling a float32 is exact.
        bits: width of the ring.
        l2_sensitivity: after rounding (before it with ``noise_first``), grid units; what accounting uses.
        rounding_failure_prob: per round, added to δ; 0.0 if the certain bound is smaller.
        silo_bound: largest L2 norm of one update, real units; `encode` enforces it.
        dimension: number of coordinates.
        num_silos: largest number of updates in one sum.
        rounds: number of sums that share ``wrap_prob``.
        wrap_prob: bound on the probability that any coordinate of any round wraps.
        rotated: whether updates are rotated before rounding.
        noise_first: whether noise is added before the rounding, so that rounding moves no sensitivity.
    """

    scale: float
    bits: int
    l2_sensitivity: float
    rounding_failure_prob: float
    silo_bound: float
    dimension: int
    num_silos: int
    rounds: int
    wrap_prob: float
    rotated: bool
    noise_first: bool = False

    def __post_init__(self) -> None:
        for name in ("scale", "l2_sensitivity", "silo_bound", "dimension", "num_silos", "rounds"):
            _require("Grid", name, getattr(self, name))
        check_bits(self.bits)
        if not self.scale * self.silo_bound >= 1.0:
            raise ConfigurationError(
                f"an update at its bound must reach at least one grid unit; scale={self.scale} and "
                f"silo_bound={self.silo_bound} leave {self.scale * self.silo_bound:.3g}. Raise the scale."
            )

    def with_noise(self, law: IntegerNoise) -> Grid:
        """Returns this grid with the width that the final noise needs."""
        return replace(self, bits=required_bits(self, law))

    @property
    def payload_bytes(self) -> int:
        """Bytes of one packed update, without its header."""
        return -(-self.dimension * self.bits // 8)


def plan_grid(request: GridRequest) -> Grid:
    r"""Chooses the narrowest ring that meets ``request``, and then the finest grid that still fits it.

    Guarantee:
        Adding or removing one unit moves the rounded update by at most ``l2_sensitivity`` (grid units),
        except with probability ``rounding_failure_prob`` over one round's dither; float64 errors included.
        With ``noise_first`` it is the update before noise and rounding that moves by at most so much.

    Raises:
        ConfigurationError: if no ring of at most 62 bits will do; the message names the knob.
    """
    coarsest = _coarsest_scale(request)
    coarsest = math.ceil(coarsest / _step(coarsest)) * _step(coarsest)
    bits = bits_for(_magnitude(request, coarsest))
    if not bits <= MAX_BITS:
        raise ConfigurationError(
            f"the ring must have at most {MAX_BITS} bits; num_silos={request.num_silos}, "
            f"silo_bound={request.silo_bound}, l2_sensitivity={request.l2_sensitivity}, "
            f"noise_multiplier={request.noise_multiplier} and max_inflation={request.max_inflation} "
            f"need {bits}. Lower silo_bound (the batch bound), raise max_inflation, or set rotated=True.",
            see=HowTo.RING,
        )
    scale = _finest_scale(request, coarsest, bits)
    rounded = _sensitivity(request, scale)
    return Grid(
        scale=scale,
        bits=bits,
        l2_sensitivity=rounded.bound,
        rounding_failure_prob=rounded.failure_prob,
        silo_bound=request.silo_bound,
        dimension=request.dimension,
        num_silos=request.num_silos,
        rounds=request.rounds,
        wrap_prob=request.wrap_prob,
        rotated=request.rotated,
        noise_first=request.noise_first,
    )


def rounded_sensitivity(request: GridRequest, grid: Grid) -> RoundedSensitivity:
    """Returns how far a unit moves integers of ``grid``, which was made for a request that differs in that.

    Guarantee:
        That of `plan_grid` for a unit whose update moves by ``request.l2_sensitivity``.
    """
    return _sensitivity(request, grid.scale)


def required_bits(grid: Grid, law: IntegerNoise) -> int:
    """Smallest width at which no coordinate of any round wraps, but for probability ``grid.wrap_prob``.

    ``law.num_silos`` counts the honest shares that privacy relies on; the ring must hold the noise of all
    ``grid.num_silos`` silos, so that is what is checked here.

    Raises:
        ConfigurationError: if more than 62 bits are needed.
    """
    prob = grid.wrap_prob / (2.0 * grid.dimension * grid.rounds)
    signal = _signal_bound(grid, grid.scale, prob)
    everyone = per_silo(law, max(grid.num_silos, law.num_silos))
    bits = bits_for(signal.magnitude + sample_tail_bound(everyone, prob))
    if not bits <= MAX_BITS:
        raise ConfigurationError(
            f"the ring must have at most {MAX_BITS} bits; this noise and a signal of {signal.magnitude:.4g} "
            f"grid units need {bits}. Lower silo_bound or the noise, or set rotated=True.",
            see=HowTo.RING,
        )
    return bits


def _signal_bound(owner: GridRequest | Grid, scale: float, prob: float) -> SignalBound:
    """Bounds every coordinate of the rounded sum; each silo's rounding adds less than 1."""
    norm = owner.num_silos * owner.silo_bound * scale * (1.0 + 2.0 * NORM_TOLERANCE)
    if owner.rotated:
        return SignalBound(flattened_bound(norm, owner.dimension, prob) + owner.num_silos, prob)
    return SignalBound(norm + owner.num_silos, 0.0)


def _magnitude(request: GridRequest, scale: float) -> float:
    """Signal and noise of one coordinate of the sum, with the noise that the request expects."""
    prob = request.wrap_prob / (2.0 * request.dimension * request.rounds)
    everyone = math.sqrt(request.num_silos / (request.num_honest or request.num_silos))
    stddev = request.noise_multiplier * _sensitivity(request, scale).bound * everyone * _NOISE_SLACK
    noise = DiscreteGaussianNoise(stddev, num_silos=1)
    return _signal_bound(request, scale, prob).magnitude + sample_tail_bound(noise, prob)


def _sensitivity(request: GridRequest, scale: float) -> RoundedSensitivity:
    """Sensitivity after summation in floating point, rotation, scaling and rounding; grid units."""
    norm = scale * request.silo_bound
    moved = arithmetic_error(norm, request.dimension)
    if request.rotated:
        moved += norm * rotation_error(request.dimension)
    before = scale * (request.l2_sensitivity + 2.0 * request.float_error) + 2.0 * moved
    if request.noise_first:
        return RoundedSensitivity(before, 0.0)
    return rounded_l2_bound(before, request.dimension, request.rounding_beta)


def _coarsest_scale(request: GridRequest) -> float:
    """Smallest scale (to 1e-6) that meets max_inflation, min_stddev and the samplers' domain."""
    min_stddev = max(request.min_stddev, _min_share_stddev(request) * math.sqrt(request.num_silos))

    def suffices(scale: float) -> bool:
        bound = _sensitivity(request, scale).bound
        inflated = bound > scale * request.l2_sensitivity * (1.0 + request.max_inflation)
        return not inflated and request.noise_multiplier * bound >= min_stddev

    high = 1.0 / request.l2_sensitivity
    while not suffices(high):
        high *= 2.0
        if not high * request.l2_sensitivity <= 2.0**MAX_BITS:
            raise ConfigurationError(
                f"no grid keeps the rounding inflation within max_inflation={request.max_inflation} with "
                f"float_error={request.float_error} and silo_bound={request.silo_bound} at "
                f"l2_sensitivity={request.l2_sensitivity}. Raise max_inflation, lower silo_bound, or "
                "accumulate in float64."
            )
    low = high / 2.0
    while suffices(low):
        low, high = low / 2.0, low
    while high - low > 1e-6 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _min_share_stddev(request: GridRequest) -> float:
    """Smallest deviation of one share: the samplers' domain, or what makes rounding's 1/12 small."""
    if not request.noise_first:
        return _MIN_SHARE_STDDEV
    return max(_MIN_SHARE_STDDEV, 1.0 / math.sqrt(12.0 * ((1.0 + request.max_inflation) ** 2 - 1.0)))


def _finest_scale(request: GridRequest, coarsest: float, bits: int) -> float:
    """Largest short multiple of the same step whose sums still fit; finer costs nothing on the wire."""
    low = coarsest
    while bits_for(_magnitude(request, 2.0 * low)) <= bits:
        low *= 2.0
    step = _step(low)
    fits, too_fine = round(low / step), round(2.0 * low / step)
    while too_fine - fits > 1:
        middle = (fits + too_fine) // 2
        if bits_for(_magnitude(request, middle * step)) <= bits:
            fits = middle
        else:
            too_fine = middle
    return fits * step


def _step(scale: float) -> float:
    """Spacing of the scales of ``_SCALE_BITS`` significant bits around ``scale``."""
    return float(2.0 ** (math.floor(math.log2(scale)) - _SCALE_BITS + 1))


def _require(owner: str, name: str, value: float, *, or_zero: bool = False) -> None:
    ok = value >= 0 if or_zero else value > 0
    if not (ok and math.isfinite(value)):
        what = "finite and >= 0" if or_zero else "positive and finite"
        raise ConfigurationError(f"The {name!r} parameter of {owner} must be {what}; got {value}.")
