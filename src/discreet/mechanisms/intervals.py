"""Real numbers known to lie between two bounds, rounded outward: the arithmetic of the exact samplers.

A thin layer over mpmath's stateless interval functions (its context objects are global, hence unsafe in
threads). Every operation returns an interval that contains every possible result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mpmath import libmp

MpiBounds = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Interval:
    """All reals between two bounds, computed with ``precision`` bits."""

    bounds: MpiBounds
    precision: int

    @classmethod
    def from_float(cls, value: float, precision: int) -> Interval:
        """The single real number that a float64 stands for."""
        point = libmp.from_float(value)
        return cls((point, point), precision)

    @classmethod
    def dyadic(cls, numerator: int, exponent: int, precision: int) -> Interval:
        """All reals in [numerator, numerator + 1] · 2^exponent."""
        low, high = (libmp.from_man_exp(n, exponent) for n in (numerator, numerator + 1))
        return cls((low, high), precision)

    @classmethod
    def pi(cls, precision: int) -> Interval:
        """The number π."""
        low = libmp.mpf_pi(precision, libmp.round_floor)
        return cls((low, libmp.mpf_pi(precision, libmp.round_ceiling)), precision)

    def _with(self, bounds: MpiBounds) -> Interval:
        return Interval(bounds, self.precision)

    def _coerce(self, other: Interval | float) -> MpiBounds:
        return (
            other.bounds if isinstance(other, Interval) else Interval.from_float(other, self.precision).bounds
        )

    def __add__(self, other: Interval | float) -> Interval:
        return self._with(libmp.mpi_add(self.bounds, self._coerce(other), self.precision))

    def __sub__(self, other: Interval | float) -> Interval:
        return self._with(libmp.mpi_sub(self.bounds, self._coerce(other), self.precision))

    def __mul__(self, other: Interval | float) -> Interval:
        return self._with(libmp.mpi_mul(self.bounds, self._coerce(other), self.precision))

    def __truediv__(self, other: Interval | float) -> Interval:
        return self._with(libmp.mpi_div(self.bounds, self._coerce(other), self.precision))

    def log(self) -> Interval:
        """Natural logarithm; a bound of zero gives minus infinity."""
        return self._with(libmp.mpi_log(self.bounds, self.precision))

    def exp(self) -> Interval:
        """The exponential function."""
        return self._with(libmp.mpi_exp(self.bounds, self.precision))

    def sqrt(self) -> Interval:
        """Square root of a non-negative interval."""
        return self._with(libmp.mpi_sqrt(self.bounds, self.precision))

    def cos_sin(self) -> tuple[Interval, Interval]:
        """Cosine and sine."""
        cosine, sine = libmp.mpi_cos_sin(self.bounds, self.precision)
        return self._with(cosine), self._with(sine)

    def cosh(self) -> Interval:
        """Hyperbolic cosine, through the exponential; the two ends are combined outward."""
        grown = self.exp()
        return (grown + Interval.from_float(1.0, self.precision) / grown) * 0.5

    def floor(self) -> int | None:
        """The common integer part of all members, or None if they do not share one."""
        if any(bound in (libmp.finf, libmp.fninf, libmp.fnan) for bound in self.bounds):
            return None
        low, high = (int(libmp.to_int(libmp.mpf_floor(bound, 0))) for bound in self.bounds)
        return low if low == high else None

    def is_below(self, other: Interval) -> bool | None:
        """True or False if every member is below (not below) every member of ``other``; None if unsure."""
        if libmp.mpf_lt(self.bounds[1], other.bounds[0]):
            return True
        return False if libmp.mpf_ge(self.bounds[0], other.bounds[1]) else None
