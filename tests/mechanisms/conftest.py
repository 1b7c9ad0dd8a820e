"""Exact laws to test samplers against, and goodness-of-fit tests that return p-values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from discreet.arrays import Integers
from discreet.mechanisms.scratch import Scratch
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    IntegerNoise,
    PolyaNoise,
    RoundedGaussianNoise,
    SkellamNoise,
)
from discreet.randomness import RandomSource

# Above this standard deviation all three laws are within 1e-9 of a rounded Gaussian of the same variance in
# every cumulative probability (next Edgeworth term: 1/(24 σ²) · 0.55), far below what 10^6 draws resolve.
WIDE = 2.0**13


@dataclass(frozen=True)
class ExactLaw:
    """P[X <= k] and, for narrow laws, P[X = k], of one share."""

    stddev: float
    cdf: Callable[[np.ndarray], np.ndarray]


def exact_law(law: IntegerNoise) -> ExactLaw:
    match law:
        case RoundedGaussianNoise(silo_stddev=s):
            return ExactLaw(math.sqrt(s * s + 1 / 12), lambda k: special.ndtr((k + 0.5) / s))
        case DiscreteGaussianNoise(silo_stddev=s):
            return _from_weights(s, lambda k: np.exp(-0.5 * (k / s) ** 2))
        case SkellamNoise(silo_variance=v):
            return _from_weights(math.sqrt(v), lambda k: special.ive(np.abs(k), v))
        case PolyaNoise(scale=b, whole=1, num_silos=1):
            # The far tails are longer than the normal law's.
            stddev, decay = math.sqrt(law.variance), math.exp(-1.0 / b)
            return ExactLaw(
                stddev,
                lambda k: np.where(
                    k < 0,
                    decay ** np.abs(np.minimum(k, 0)) / (1.0 + decay),
                    1.0 - decay ** (np.maximum(k, 0) + 1) / (1.0 + decay),
                ),
            )
    raise AssertionError(law)


def _from_weights(stddev: float, weights: Callable[[np.ndarray], np.ndarray]) -> ExactLaw:
    if stddev > WIDE:
        return ExactLaw(stddev, lambda k: special.ndtr((k + 0.5) / stddev))
    reach = math.ceil(12 * stddev) + 12
    support = np.arange(-reach, reach + 1)
    mass = weights(support.astype(float))
    cumulative = np.concatenate([[0.0], np.cumsum(mass / mass.sum())])
    return ExactLaw(stddev, lambda k: cumulative[np.clip(k + reach + 1, 0, len(support)).astype(int)])


def chi_square_p(draws: np.ndarray, law: ExactLaw, num_cells: int = 120) -> float:
    """Pearson's test on cells of about equal probability plus the far tails, expected counts >= 8."""
    z = np.concatenate([special.ndtri(np.linspace(0, 1, num_cells + 1)[1:-1]), [-3.5, -3.0, 3.0, 3.5]])
    edges = np.unique(np.round(np.sort(z) * law.stddev))
    probs = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=len(edges) + 1)
    while len(probs) > 2 and probs.min() * len(draws) < 8:
        i = int(np.argmin(probs))
        j = i - 1 if i else 1
        probs[j] += probs[i]
        counts[j] += counts[i]
        probs, counts = np.delete(probs, i), np.delete(counts, i)
    return float(stats.chisquare(counts, probs * len(draws)).pvalue)


def residue_p(draws: np.ndarray, law: ExactLaw, modulus: int) -> float:
    """Pearson's test of the lowest bits against the law's own residues (uniform where the law is wide)."""
    if law.stddev > 64:
        probs = np.full(modulus, 1.0 / modulus)
    else:
        support = np.arange(-1200, 1201)
        mass = law.cdf(support) - law.cdf(support - 1)
        probs = np.bincount(support % modulus, weights=mass, minlength=modulus)
        probs = probs / probs.sum()
    return float(stats.chisquare(np.bincount(draws % modulus, minlength=modulus), probs * len(draws)).pvalue)


@pytest.fixture(scope="session")
def fit() -> Any:
    """The tests above, under one name."""

    class Fit:
        exact_law = staticmethod(exact_law)
        chi_square_p = staticmethod(chi_square_p)
        residue_p = staticmethod(residue_p)

    return Fit


@pytest.fixture(scope="session")
def drawn() -> Callable[..., Any]:
    """Draws with a sampler that fills an array."""

    def fill(draw: Callable[..., Any] | partial[Any], count: int, source: RandomSource) -> Integers:
        out = np.empty(count, dtype=np.int64)
        draw(out, source, Scratch())
        return out

    return fill
