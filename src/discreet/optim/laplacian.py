r"""Laplacian smoothing of released aggregates: θ moves by A⁻¹·mean with A = I + σ·(graph Laplacian).

Coordinates that are neighbours in flattening order (`discreet.models.flatten`: parameters in the model's
order, each row-major) pull one another, which lowers the variance of independent noise. It acts on what was
released, so it costs no privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solveh_banded

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.optim.contract import ServerRule


@dataclass(frozen=True, slots=True)
class Circulant:
    r"""Neighbours on a cycle: A v = v + σ·(2v_i - v_{i-1} - v_{i+1}), solved by FFT.

    Osher et al. (2018), equation 4; Liang et al. (DP-Fed-LS), equation 3.

    Example:
        >>> Circulant(1.0).smooth(np.array([1.0, 0.0, 0.0])).round(2).tolist()
        [0.5, 0.25, 0.25]
    """

    sigma: float

    def __post_init__(self) -> None:
        _require_sigma("Circulant", self.sigma)

    def smooth(self, vector: Floats) -> Floats:
        """Returns A⁻¹·``vector``."""
        angles = 2.0 * math.pi * np.arange(len(vector) // 2 + 1) / len(vector)
        spectrum = np.fft.rfft(vector) / (1.0 + self.sigma * (2.0 - 2.0 * np.cos(angles)))
        return np.fft.irfft(spectrum, n=len(vector))


@dataclass(frozen=True, slots=True)
class Chain:
    """Neighbours on a chain: the first and the last coordinate are not joined; a tridiagonal solve."""

    sigma: float

    def __post_init__(self) -> None:
        _require_sigma("Chain", self.sigma)

    def smooth(self, vector: Floats) -> Floats:
        """Returns A⁻¹·``vector``."""
        if len(vector) == 1:
            return vector.copy()
        bands = np.empty((2, len(vector)))
        bands[0], bands[1] = -self.sigma, 1.0 + 2.0 * self.sigma
        bands[1, 0] = bands[1, -1] = 1.0 + self.sigma
        return np.asarray(solveh_banded(bands, vector))


Smoother = Circulant | Chain


@dataclass(frozen=True, slots=True)
class LaplacianSmoothing:
    """Smooths the mean and hands it to ``rule``.

    Attributes:
        smoother: which graph, and how strongly (σ ≥ 0; zero is the rule alone).
        rule: what is done with the smoothed mean.
    """

    smoother: Smoother
    rule: ServerRule

    def init(self, dimension: int) -> Any:
        """Returns the state of ``rule``."""
        return self.rule.init(dimension)

    def step(self, state: Any, parameters: Floats, aggregate_mean: Floats) -> tuple[Any, Floats]:
        """Takes the step of ``rule`` along the smoothed mean."""
        return self.rule.step(state, parameters, self.smoother.smooth(aggregate_mean))


def _require_sigma(owner: str, sigma: float) -> None:
    if not (sigma >= 0.0 and math.isfinite(sigma)):
        raise ConfigurationError(f"The 'sigma' parameter of {owner} must be >= 0; got {sigma}.")
