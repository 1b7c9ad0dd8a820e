"""Intervals that know how far off float64 is: the samplers' own functions run on them as they run on arrays.

A `Rounded` stands for every pair of a real number in ``value`` and a float64 within ``error`` of it. Each
operation encloses the real results and adds what rounding to nearest can do: u·2^e for results of magnitude
at most 2^(e+1), u = 2^-53 (Higham 2002, section 2.2), and 2^-1074 where a result may underflow. NumPy's
functions call the methods of the same name on arrays of objects, so that a function of the samplers, called
with arrays of `Rounded`, returns a bound on its own rounding error over a whole box of arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from mpmath import libmp

from discreet.mechanisms.intervals import Interval

PRECISION = 128
UNIT = 2.0**-53
# What `discreet.mechanisms.SAMPLER_ASSUMPTION` grants the library's functions: 4 units, in halves.
LIBRARY = 8.0
_UNDERFLOW = 2.0**-1074


def point(value: float) -> Interval:
    """The interval of one float64."""
    return Interval.from_float(value, PRECISION)


def ratio(value: Fraction) -> Interval:
    """An interval around a rational number."""
    top, bottom = (libmp.from_int(number) for number in (value.numerator, value.denominator))
    return Interval((top, top), PRECISION) / Interval((bottom, bottom), PRECISION)


def magnitude(interval: Interval) -> Interval:
    """The largest absolute value, as an interval of one number."""
    top = libmp.mpi_abs(interval.bounds, PRECISION)[1]
    return Interval((top, top), PRECISION)


def smallest(interval: Interval) -> Interval:
    """The smallest absolute value, as an interval of one number."""
    bottom = libmp.mpi_abs(interval.bounds, PRECISION)[0]
    return Interval((bottom, bottom), PRECISION)


def upper(interval: Interval) -> float:
    """A float64 that is not below any member; an interval without a finite end proves nothing."""
    top = float(libmp.to_float(interval.bounds[1], rnd=libmp.round_up))
    if not math.isfinite(top):
        raise ArithmeticError(f"an enclosure must be finite; got {top}. Split the box.")
    return top


def half_last_place(size: Interval) -> Interval:
    """Rounding's largest error for results of at most this magnitude: u times the power of two below it."""
    upper(size)
    _, mantissa, exponent, bits = size.bounds[1]
    power = exponent + bits - 1 - (mantissa == 1)
    return point(0.0) if mantissa == 0 else point(math.ldexp(UNIT, power))


@dataclass(frozen=True, slots=True)
class Rounded:
    """Reals in ``value``, each with a float64 at most ``error``'s upper end away."""

    value: Interval
    error: Interval

    @classmethod
    def box(cls, low: float, high: float, error: float = 0.0) -> Rounded:
        """All reals from ``low`` to ``high``, known to float64 within ``error``."""
        both = (libmp.from_float(low), libmp.from_float(high))
        return cls(Interval(both, PRECISION), point(error))

    def _of(self, other: Rounded | float) -> Rounded:
        return other if isinstance(other, Rounded) else Rounded.box(float(other), float(other))

    def _computed(self, value: Interval, error: Interval) -> Rounded:
        """The result of one operation whose operands' errors have come to ``error``."""
        return Rounded(value, error + half_last_place(magnitude(value) + error) + _UNDERFLOW)

    def __add__(self, other: Rounded | float) -> Rounded:
        other = self._of(other)
        return self._computed(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Rounded | float) -> Rounded:
        other = self._of(other)
        return self._computed(self.value - other.value, self.error + other.error)

    def __mul__(self, other: Rounded | float) -> Rounded:
        other = self._of(other)
        if other.is_power_of_two():
            return Rounded(self.value * other.value, self.error * magnitude(other.value) + _UNDERFLOW)
        error = magnitude(self.value) * other.error + magnitude(other.value) * self.error
        return self._computed(self.value * other.value, error + self.error * other.error)

    def __truediv__(self, other: Rounded | float) -> Rounded:
        other = self._of(other)
        least = smallest(other.value) - other.error
        if not libmp.mpf_gt(least.bounds[0], libmp.fzero):
            raise ZeroDivisionError("the divisor's box contains zero; split it.")
        quotient = self.value / other.value
        return self._computed(quotient, (self.error + magnitude(quotient) * other.error) / least)

    def is_power_of_two(self) -> bool:
        """Whether this is one number, and a product with it is exact."""
        low, high = self.value.bounds
        return low == high and low[1] == 1 and self.error.bounds[1] == libmp.fzero

    def __neg__(self) -> Rounded:
        return Rounded(self.value * -1.0, self.error)

    def __rsub__(self, other: float) -> Rounded:
        return self._of(other) - self

    def __rtruediv__(self, other: float) -> Rounded:
        return self._of(other) / self

    __radd__ = __add__
    __rmul__ = __mul__

    def _function(self, value: Interval, slope: Interval) -> Rounded:
        """A library function whose derivative is at most ``slope`` between the real and the float."""
        error = magnitude(slope) * self.error
        # Strictly above, so that a result that is a power of two counts with its own last place.
        size = magnitude(value) + error + _UNDERFLOW
        return Rounded(value, error + half_last_place(size) * LIBRARY + _UNDERFLOW)

    def _reach(self) -> Interval:
        """Everything between a real and its float."""
        error = Interval((libmp.mpf_neg(self.error.bounds[1]), self.error.bounds[1]), PRECISION)
        return self.value + error

    def sqrt(self) -> Rounded:
        """Square root, correctly rounded."""
        slope = point(0.5) / self._reach().sqrt()
        return self._computed(self.value.sqrt(), magnitude(slope) * self.error)

    def log(self) -> Rounded:
        """Natural logarithm."""
        return self._function(self.value.log(), point(1.0) / self._reach())

    def log1p(self) -> Rounded:
        """ln(1 + x)."""
        return self._function((self.value + 1.0).log(), point(1.0) / (self._reach() + 1.0))

    def exp(self) -> Rounded:
        """The exponential function."""
        return self._function(self.value.exp(), self._reach().exp())

    def expm1(self) -> Rounded:
        """exp(x) − 1."""
        return self._function(self.value.exp() - 1.0, self._reach().exp())

    def sinh(self) -> Rounded:
        """Hyperbolic sine."""
        grown = self.value.exp()
        return self._function((grown - point(1.0) / grown) * 0.5, self._reach().cosh())

    def cosh(self) -> Rounded:
        """Hyperbolic cosine."""
        grown = magnitude(self._reach()).exp()
        return self._function(self.value.cosh(), (grown - point(1.0) / grown) * 0.5)

    @property
    def worst(self) -> float:
        """The error's upper end."""
        return upper(self.error)


def array(*numbers: Rounded) -> np.ndarray:
    """The array that a sampler's function takes in place of float64."""
    out = np.empty(len(numbers), dtype=object)
    out[:] = numbers
    return out
