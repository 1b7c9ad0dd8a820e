r"""Noise a·arsinh(N/a) against Gaussian noise at the same (ε, δ), for one number that moves by 1.

Run: python reproductions/arsinh_noise.py

van Dijk and Nguyen suggest it for its short tails, N ~ N(0, s²). A tail that falls faster than a Gaussian
one makes rare outputs decisive: s must grow, and the deviation of the noise with it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

EPSILON, DELTA = 1.0, 1e-5
_POINTS = 200_001
# Beyond so many deviations of N there is less than 1e-300 of its probability.
_TAIL = 38.0


def density(x: npt.NDArray[np.float64], width: float, stddev: float) -> npt.NDArray[np.float64]:
    """Returns the density of a·arsinh(N/a) at ``x``; ``width`` is a, ``stddev`` that of N."""
    edge = width * math.asinh(_TAIL * stddev / width)
    inside = np.clip(x, -edge, edge) / width
    normal = np.exp(-0.5 * (width * np.sinh(inside) / stddev) ** 2) / (stddev * math.sqrt(2.0 * math.pi))
    return np.asarray(np.where(np.abs(x) < edge, normal * np.cosh(inside), 0.0))


def cost(width: float, stddev: float) -> tuple[float, float]:
    """Returns δ at ε = 1 for a shift by 1, and the noise's standard deviation; by the trapezoidal rule."""
    edge = width * math.asinh(_TAIL * stddev / width)
    x = np.linspace(-edge, edge + 1.0, _POINTS)
    step = float(x[1] - x[0])
    here, moved = density(x, width, stddev), density(x - 1.0, width, stddev)
    delta = step * float(np.maximum(0.0, here - math.exp(EPSILON) * moved).sum())
    return delta, math.sqrt(step * float((here * x * x).sum()))


def needed_stddev(width: float) -> float:
    """Returns the deviation of noise of this width that is (1, 1e-5)-private; infinite if there is none.

    Example:
        >>> round(needed_stddev(20.0), 2)
        5.11
    """
    tried = [float(stddev) for stddev in np.geomspace(1.0, 1e6, 40)]
    enough = next((k for k, stddev in enumerate(tried) if cost(width, stddev)[0] <= DELTA), None)
    if enough is None:
        return math.inf
    stddev = brentq(lambda s: cost(width, s)[0] - DELTA, tried[enough - 1], tried[enough])
    return cost(width, float(stddev))[1]


def main() -> None:
    """Prints what docs/claims.md shows."""
    print("standard deviation of noise for epsilon = 1, delta = 1e-5, a number that moves by 1")
    for name, width in (("Gaussian", 1e6), ("a = 50", 50.0), ("a = 20", 20.0), ("a = 10", 10.0)):
        stddev = needed_stddev(width)
        print(f"  {name}: {stddev:.2f}" if math.isfinite(stddev) else f"  {name}: none, up to s = 1e6")


if __name__ == "__main__":
    main()
