r"""Several noisy local steps as one exact integer: Σ_s W_s q_s with integer step weights.

A silo that adds integer noise in every local step holds integer vectors q_1 … q_S (rounded gradient sum plus
noise, grid units) and moves its model by −Σ_s w_s q_s/scale. If every w_s is a public integer multiple W_s of
one unit, the same for all silos, the silo can send Σ_s W_s q_s: an integer, no second rounding, and the
decoded sum is the sum of the moves in infinite precision. This is the message of noisy-steps training, whose
aggregate guarantee is CONDITIONAL; nothing here changes that.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.encoding.exact_scaling import scaled
from discreet.errors import ConfigurationError

# Larger weights eat the ring; 2^24 resolves rates to 6e-8.
MAX_WEIGHT_BITS = 24
# Momentum over many steps has no small common unit; 2^-14 of the largest weight is far below any noise.
_RESOLUTION_BITS = 14
_MAX_CHANGE = Fraction(1, 100)
# Momentum at least halves the common unit at every step, so the last steps alone tell that it is too small.
_LAST = 64


@dataclass(frozen=True, slots=True)
class StepWeights:
    """Integer weights W_1 … W_S and the real move that one unit of weight and one grid unit times scale make.

    Attributes:
        weights: positive integers, one a step.
        unit: w_s = ``unit``·W_s exactly.
    """

    weights: tuple[int, ...]
    unit: Fraction

    def __post_init__(self) -> None:
        if not (self.weights and all(weight >= 1 for weight in self.weights)):
            raise ConfigurationError(f"step weights must be positive integers; got {self.weights}.")
        if not max(self.weights) < 1 << MAX_WEIGHT_BITS:
            raise ConfigurationError(
                f"step weights must have at most {MAX_WEIGHT_BITS} bits; the largest has "
                f"{max(self.weights).bit_length()}. Where silos take steps of their own under momentum, give "
                "all the same number. Use rates with a small common denominator, or dyadic momentum."
            )
        if not self.unit > 0:
            raise ConfigurationError(f"unit must be positive; got {self.unit}.")

    @property
    def total(self) -> int:
        """Σ W_s: how many times wider than one step's the ring's worst case is."""
        return sum(self.weights)

    def in_units_of(self, unit: Fraction) -> StepWeights:
        """Returns the same weights, counted in another unit, that all silos share.

        Raises:
            ConfigurationError: if this unit is no multiple of it, or the numbers become too large.
        """
        factor = self.unit / unit
        if factor.denominator != 1:
            raise ConfigurationError(f"unit must divide {self.unit}; got {unit}.")
        return StepWeights(tuple(factor.numerator * weight for weight in self.weights), unit)

    def combine(self, steps: Sequence[Integers]) -> Integers:
        """Returns Σ_s W_s q_s, exactly; the ring must have been planned for `total` times one step."""
        if len(steps) != len(self.weights):
            raise ConfigurationError(f"there must be {len(self.weights)} step vectors; got {len(steps)}.")
        out = np.zeros_like(steps[0])
        for weight, step in zip(self.weights, steps, strict=True):
            out += np.int64(weight) * step
        return out

    def move(self, combined: Integers, scale: float) -> Floats:
        """Returns −``unit``·combined/``scale``, the move of the model; each coordinate is rounded once."""
        return scaled(combined, -self.unit / Fraction(scale))


def planned_weights(rates: Sequence[Fraction], momentum: Fraction = Fraction(0)) -> StepWeights:
    r"""Weights of S steps with these learning rates and heavy-ball momentum: exact, or rounded if too long.

    v_s = m·v_{s−1} + q_s and θ_s = θ_{s−1} − γ_s v_s move the model by −Σ_s w_s q_s with
    w_s = Σ_{j≥s} γ_j m^{j−s}.

    Heavy-ball momentum halves, thirds, … the unit at every step, so the exact weights of many steps outgrow
    any ring. Rounded to 2^-14 of the largest, they are the algorithm: all silos use the same integers and the
    decoded sum is exact for them; a silo's own path follows the rates and the momentum as given.

    Raises:
        ConfigurationError: if a rate is not positive, the momentum is outside [0, 1), or the rates differ so
            much that rounding would change a weight by more than 1 %.

    Example:
        >>> planned_weights([Fraction(1, 10)] * 3, momentum=Fraction(1, 2)).weights
        (7, 6, 4)
        >>> planned_weights([Fraction(1, 10)] * 40, momentum=Fraction(1, 2)).weights[-3:]
        (14336, 12288, 8192)
    """
    return _planned(tuple(rates), momentum)


# A review asks for the weights of one plan again and again.
@functools.lru_cache(maxsize=16)
def _planned(rates: tuple[Fraction, ...], momentum: Fraction) -> StepWeights:
    over = _weights_over(rates, momentum)
    if _fit(_weights_over(rates[-_LAST:], momentum).exact()) and _fit(over.exact()):
        return StepWeights(*over.exact())
    rounded = over.rounded(_RESOLUTION_BITS)
    largest = max(over.numerators)
    for weight, numerator in zip(rounded.weights, over.numerators, strict=True):
        exactly = numerator << _RESOLUTION_BITS
        if abs(weight * largest - exactly) * _MAX_CHANGE.denominator > exactly * _MAX_CHANGE.numerator:
            raise ConfigurationError(
                f"step weights must be below 2^{MAX_WEIGHT_BITS}, or within 1 % when they are rounded to "
                f"2^-{_RESOLUTION_BITS} of the largest; one is {100 * (numerator / largest):.2g} % of it. "
                "Use rates that differ less, with a small common denominator, or dyadic momentum."
            )
    return rounded


def common_unit(weights: Collection[StepWeights]) -> Fraction:
    """Returns the largest unit in which all of these weights are integers."""
    units = [one.unit for one in weights]
    shared = math.lcm(*(unit.denominator for unit in units))
    return Fraction(math.gcd(*(int(unit * shared) for unit in units)), shared)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Exact weights as integers over one denominator, since fractions would take minutes to reduce."""

    numerators: list[int]
    denominator: int

    def exact(self) -> tuple[tuple[int, ...], Fraction]:
        """Returns the smallest integers in the weights' ratio, and the unit that they count."""
        common = math.gcd(*self.numerators)
        return tuple(value // common for value in self.numerators), Fraction(common, self.denominator)

    def rounded(self, bits: int) -> StepWeights:
        """Returns them in multiples of the largest over 2^``bits``, half to even, at least one."""
        largest = max(self.numerators)
        weights = (max(1, _nearest(value << bits, largest)) for value in self.numerators)
        return StepWeights(tuple(weights), Fraction(largest, self.denominator << bits))


def _weights_over(rates: Sequence[Fraction], momentum: Fraction) -> _Weights:
    """Returns the exact weights of the steps, the first one first."""
    if not (rates and all(rate > 0 for rate in rates)):
        raise ConfigurationError(f"learning rates must be positive; got {[float(r) for r in rates]}.")
    if not 0 <= momentum < 1:
        raise ConfigurationError(f"momentum must be in [0, 1); got {float(momentum)}.")
    shared, base = math.lcm(*(rate.denominator for rate in rates)), momentum.denominator
    power, carried, weights = 1, 0, []
    for rate in reversed(rates):  # the weight is carried / (shared · power)
        carried = int(rate * shared) * power + momentum.numerator * carried
        weights.append(carried)
        power *= base
    missing, numerators = 1, []
    for numerator in reversed(weights):  # the first step's weight has the largest power below it
        numerators.append(numerator * missing)
        missing *= base
    return _Weights(numerators, shared * (power // base))


def _fit(exact: tuple[tuple[int, ...], Fraction]) -> bool:
    return max(exact[0]) < 1 << MAX_WEIGHT_BITS


def _nearest(numerator: int, denominator: int) -> int:
    """Returns the integer next to a quotient of positive integers, half to even."""
    whole, rest = divmod(numerator, denominator)
    return whole + (2 * rest > denominator or (2 * rest == denominator and whole % 2 == 1))
