r"""Laplacian smoothing of released aggregates: θ moves by A⁻¹·mean with A = I + σ·(graph Laplacian).

Coordinates that are neighbours in flattening order (`discreet.models.flatten`: parameters in the model's
order, each row-major) pull one another, which lowers the variance of independent noise. It acts on what was
released, so it costs no privacy.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.linalg import solveh_banded

from discreet.arrays import Floats
from discreet.kinds.fields import NonNegative, Section


class SmoothingConfig(Section):
    """The table ``training.server.smoothing``: which graph, and how strongly.

    Attributes:
        graph: ``cycle`` joins the first and the last weight; ``chain`` does not.
        sigma: σ ≥ 0; zero changes nothing.

    Example:
        >>> SmoothingConfig(sigma=1.0).smooth(np.array([1.0, 0.0, 0.0])).round(2).tolist()
        [0.5, 0.25, 0.25]
    """

    graph: Literal["cycle", "chain"] = "cycle"
    sigma: NonNegative

    def smooth(self, vector: Floats) -> Floats:
        """Returns A⁻¹·``vector``."""
        return _on_a_cycle(vector, self.sigma) if self.graph == "cycle" else _on_a_chain(vector, self.sigma)


def _on_a_cycle(vector: Floats, sigma: float) -> Floats:
    """Solves v + σ·(2v_i - v_{i-1} - v_{i+1}) by FFT.

    Osher et al. (2018), equation 4; Liang et al. (DP-Fed-LS), equation 3.
    """
    angles = 2.0 * math.pi * np.arange(len(vector) // 2 + 1) / len(vector)
    spectrum = np.fft.rfft(vector) / (1.0 + sigma * (2.0 - 2.0 * np.cos(angles)))
    return np.fft.irfft(spectrum, n=len(vector))


def _on_a_chain(vector: Floats, sigma: float) -> Floats:
    """Solves the same without the joint, a tridiagonal system."""
    if len(vector) == 1:
        return vector.copy()
    bands = np.empty((2, len(vector)))
    bands[0], bands[1] = -sigma, 1.0 + 2.0 * sigma
    bands[1, 0] = bands[1, -1] = 1.0 + sigma
    return np.asarray(solveh_banded(bands, vector))
