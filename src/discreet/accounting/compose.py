r"""Composition of discrete loss laws by one tilted Fourier transform, with its own error bounded.

Tilting by θ, p̃_ℓ ∝ p_ℓ e^{θℓ}, commutes with convolution and moves the tail that δ depends on into the bulk,
so that rounding, wrap-around and truncation are small *relative to δ* and not only absolutely. With K the log
moment generating function of the composed loss L and P̃ its tilted law,
 δ(ε) = e^{K(θ)} Ẽ[e^{−θL} (1 − e^{ε−L})₊] ≤ e^{K(θ) − θε} P̃[L > ε],
so an error of total variation η in P̃ costs at most e^{K(θ) − θε} η, which is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft
from scipy.optimize import brentq, minimize_scalar

from discreet.accounting.discretize import DiscreteLoss, grid
from discreet.arrays import Floats

_UNIT_ROUNDOFF = 2.0**-53
# Tilted probability that may lie outside the window of the transform; it is charged to δ all the same.
_LOG_OUTSIDE = math.log(1e-9)
# Chernoff orders at which the window is tried, from this many per standard deviation downward.
_FIRST_ORDER = 12.0
_ORDER_STEP = 2.0
_NUM_ORDERS = 24
# Relative error of one transform of length N is below 8 log2(N) roundoffs (Higham 2002, Theorem 24.2).
_FFT_FACTOR = 8.0
# Range in which log θ is sought, and the largest θε in units of log(1/δ).
_LOG_TILTS = (-3.0, 16.0)
_MOST_TILT = 4.0
# Terms below e^-40 of the leading one are bounded instead of summed.
_NEGLIGIBLE = 40.0
_MOST_WINDOW = 1 << 22
Part = tuple[DiscreteLoss, int]


class GridTooFine(Exception):
    """The composed loss needs a window that is ``excess`` times too large at this interval."""

    def __init__(self, excess: float) -> None:
        super().__init__(f"the window is {excess:.3g} times too large")
        self.excess = excess


@dataclass(frozen=True, slots=True)
class ComposedLoss:
    """The tilted law of the composed loss on a window, and what is needed to read δ from it.

    Attributes:
        interval: distance of neighbouring losses.
        losses: the window, ascending.
        tilted: tilted probabilities on the window.
        theta: the tilt.
        log_mgf: K(θ), so that probability = tilted · exp(K − θ·loss).
        error: bound on the total variation between ``tilted`` and the exact tilted law.
        infinity: probability of an infinite loss.
    """

    interval: float
    losses: Floats
    tilted: Floats
    theta: float
    log_mgf: float
    error: float
    infinity: float

    def delta_at(self, epsilon: float) -> float:
        """Returns an upper bound on δ(ε)."""
        reach = _NEGLIGIBLE / self.theta
        start, stop = np.searchsorted(self.losses, (epsilon, epsilon + reach), side="right")
        beyond = self.losses[start:stop] - epsilon
        near = float(np.sum(self.tilted[start:stop] * np.exp(-self.theta * beyond) * -np.expm1(-beyond)))
        bound = near + self.error + (math.exp(-_NEGLIGIBLE) if stop < len(self.losses) else 0.0)
        return min(
            1.0, self.infinity + math.exp(min(1.0, self.log_mgf - self.theta * epsilon + math.log(bound)))
        )

    def epsilon_at(self, delta: float) -> float:
        """Returns an upper bound on the smallest ε ≥ 0 with δ(ε) ≤ ``delta``; infinite if there is none."""
        if not delta > self.infinity:
            return math.inf
        if self.delta_at(0.0) <= delta:
            return 0.0
        high = float(self.losses[-1])
        if self.delta_at(high) > delta:
            return math.inf

        def excess(epsilon: float) -> float:
            return math.log(max(self.delta_at(epsilon), 1e-300)) - math.log(delta)

        root = float(brentq(excess, 0.0, high, xtol=1e-12, rtol=1e-10))
        while self.delta_at(root) > delta:
            root = root * (1.0 + 1e-9) + 1e-12
        return root


def compose(parts: Sequence[Part], delta: float) -> ComposedLoss:
    """Returns the law of the sum of all losses, each part ``count`` times, precise around δ = ``delta``.

    Guarantee:
        ``delta_at`` bounds the hockey-stick divergence of the composition of the discrete laws from above,
        at every ε; it is *tight* where δ(ε) is within some orders of magnitude of ``delta``.

    Raises:
        GridTooFine: if the composed loss spreads over more than 2²² grid points.

    Args:
        parts: discrete laws on one common grid, each with how often it occurs.
        delta: the δ at which precision is wanted, in (0, 1).
    """
    interval = parts[0][0].interval
    theta, _ = chernoff(parts, delta)
    tilted = [(_tilt(part, theta), count) for part, count in parts]
    low, high = _window(tilted)
    if high - low >= _MOST_WINDOW:
        raise GridTooFine((high - low) / _MOST_WINDOW)
    size = fft.next_fast_len(high - low + 1, real=True)
    probs, rounding = _convolve(tilted, low, size)
    return ComposedLoss(
        interval=interval,
        losses=grid(interval, low, size),
        tilted=probs,
        theta=theta,
        log_mgf=math.fsum(count * law.log_mgf for law, count in tilted),
        error=4.0 * math.exp(_LOG_OUTSIDE) + rounding,
        infinity=-math.expm1(math.fsum(count * math.log1p(-part.infinity) for part, count in parts)),
    )


@dataclass(frozen=True, slots=True)
class _Tilted:
    """One part after tilting: probabilities that sum to one, their logarithms, and log Σ p e^{θℓ}."""

    interval: float
    first: int
    probs: Floats
    log_probs: Floats
    log_mgf: float

    @property
    def losses(self) -> Floats:
        return grid(self.interval, self.first, len(self.probs))


def _tilt(part: DiscreteLoss, theta: float) -> _Tilted:
    """Tilts one part by ``theta``."""
    log_weights = _log(part.probs) + theta * part.losses
    log_mgf = _log_sum(log_weights)
    log_probs = log_weights - log_mgf
    return _Tilted(part.interval, part.first, np.exp(log_probs), log_probs, log_mgf)


def _log(probs: Floats) -> Floats:
    """Returns log probabilities, −∞ for none."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probs))


def _log_sum(log_weights: Floats) -> float:
    """Returns log Σ exp(log_weights) without overflow."""
    shift = float(log_weights.max())
    return math.log(float(np.sum(np.exp(log_weights - shift)))) + shift


def _coarse(part: DiscreteLoss) -> tuple[Floats, Floats]:
    """Returns losses and log probabilities in blocks, precise enough to choose a tilt."""
    block = max(1, len(part.probs) // 4096)
    starts = np.arange(0, len(part.probs), block)
    middle = part.losses[starts] + (block - 1) * part.interval / 2
    return middle, _log(np.add.reduceat(part.probs, starts))


def chernoff(parts: Sequence[Part], delta: float) -> tuple[float, float]:
    """Returns the θ that minimises ε = (K(θ) + log 1/δ)/θ, and that ε: the tilted mean of L is near it."""
    coarse = [(*_coarse(part), count) for part, count in parts]

    def objective(log_theta: float) -> float:
        theta = math.exp(log_theta)
        log_mgf = sum(count * _log_sum(log_probs + theta * losses) for losses, log_probs, count in coarse)
        return (log_mgf - math.log(delta)) / theta

    best = minimize_scalar(objective, bounds=_LOG_TILTS, method="bounded", options={"xatol": 1e-2})
    epsilon = max(0.0, float(best.fun))
    # A Gaussian has θε = 2 log(1/δ) + O(θ); bounded losses would send θ to infinity and δ out of reach.
    most = -_MOST_TILT * math.log(delta) / epsilon if epsilon > 0.0 else math.inf
    return min(math.exp(float(best.x)), max(most, math.exp(_LOG_TILTS[0]))), epsilon


def _window(tilted: Sequence[tuple[_Tilted, int]]) -> tuple[int, int]:
    """Returns grid indices between which the composed tilted loss stays but for 2·e^_LOG_OUTSIDE."""
    moments = []
    for law, count in tilted:
        mean = float(np.sum(law.probs * law.losses))
        moments.append(count * float(np.sum(law.probs * (law.losses - mean) ** 2)))
    interval = tilted[0][0].interval
    stddev = math.sqrt(math.fsum(moments)) + interval
    low = interval * sum(count * law.first for law, count in tilted)
    high = interval * sum(count * (law.first + len(law.probs) - 1) for law, count in tilted)
    orders = [_FIRST_ORDER / stddev / _ORDER_STEP**k for k in range(_NUM_ORDERS)]
    high = min(high, _least((_log_mgf(tilted, order) - _LOG_OUTSIDE) / order for order in orders))
    low = max(low, -_least((_log_mgf(tilted, -order) - _LOG_OUTSIDE) / order for order in orders))
    return math.floor(low / interval), math.ceil(high / interval)


def _least(values: Iterator[float]) -> float:
    """Returns the first local minimum: each value is a bound, and they fall and then rise."""
    best = next(values)
    for value in values:
        if value > best:
            break
        best = value
    return best


def _log_mgf(tilted: Sequence[tuple[_Tilted, int]], order: float) -> float:
    """Returns log E exp(order·L) under the composed tilted law."""
    return math.fsum(count * _log_sum(law.log_probs + order * law.losses) for law, count in tilted)


def _convolve(tilted: Sequence[tuple[_Tilted, int]], low: int, size: int) -> tuple[Floats, float]:
    """Returns the composed law on ``size`` losses from index ``low``, and a bound on its rounding in L1."""
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    transform_error = _FFT_FACTOR * math.log2(size) * _UNIT_ROUNDOFF
    error = 0.0
    for law, count in tilted:
        folded = np.zeros(-(-len(law.probs) // size) * size)
        folded[: len(law.probs)] = law.probs
        folded = folded.reshape(-1, size).sum(axis=0)
        product *= _power(fft.rfft(folded), count)
        error += count * (transform_error * math.sqrt(float(np.sum(folded**2))) + 8.0 * _UNIT_ROUNDOFF)
    base = sum(count * law.first for law, count in tilted)
    probs = np.roll(np.asarray(fft.irfft(product, size)), -((low - base) % size))
    return np.maximum(probs, 0.0), math.sqrt(size) * (error + transform_error)


def _power(base: npt.NDArray[np.complex128], exponent: int) -> npt.NDArray[np.complex128]:
    """Returns ``base`` to an integer power by repeated squaring, several times as fast as ``**``."""
    power = np.ones_like(base)
    while exponent:
        if exponent & 1:
            power *= base
        exponent >>= 1
        if exponent:
            base = base * base
    return power
