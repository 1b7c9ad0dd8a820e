r"""Rényi differential privacy: curves, their composition by addition, and their conversion to (ε, δ).

Legend: α order, ε_α Rényi divergence bound of that order (Mironov 2017).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.accounting.bounds import Conversion
from discreet.arrays import Floats


@dataclass(frozen=True, slots=True)
class RdpCurve:
    """Rényi bounds at some orders, with the rule that turns them into (ε, δ).

    Attributes:
        orders: α > 1, shape ``(n,)``.
        values: ε_α, shape ``(n,)``; infinite where nothing is known.
        conversion: Canonne, Kamath, Steinke (2020), Proposition 12, or Mironov (2017), Proposition 3.
    """

    orders: Floats
    values: Floats
    conversion: Conversion

    def epsilon_at(self, delta: float) -> float:
        """Returns the smallest ε ≥ 0 over all orders."""
        return self.optimum(delta)[0]

    def optimum(self, delta: float) -> tuple[float, float]:
        """Returns the smallest ε ≥ 0 and the order that gives it."""
        if not delta > 0.0:
            return math.inf, float(self.orders[0])
        if delta >= 1.0:
            return 0.0, float(self.orders[0])
        a = self.orders
        match self.conversion:
            case Conversion.IMPROVED:
                bounds = self.values + np.log1p(-1.0 / a) - (math.log(delta) + np.log(a)) / (a - 1.0)
            case Conversion.MIRONOV:
                bounds = self.values - math.log(delta) / (a - 1.0)
        best = int(np.argmin(bounds))
        return max(0.0, float(bounds[best])), float(a[best])

    def delta_at(self, epsilon: float) -> float:
        """Returns the smallest δ over all orders."""
        a = self.orders
        match self.conversion:
            case Conversion.IMPROVED:
                logs = (a - 1.0) * (self.values + np.log1p(-1.0 / a) - epsilon) - np.log(a)
            case Conversion.MIRONOV:
                logs = (a - 1.0) * (self.values - epsilon)
        return float(math.exp(min(0.0, float(np.min(logs)))))


def gaussian_rdp(orders: Floats, mu: float) -> Floats:
    """Returns ε_α = αμ²/2 of the Gaussian mechanism (Mironov 2017, Proposition 7)."""
    return orders * (mu * mu / 2.0)
