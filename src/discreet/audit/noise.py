r"""The integers that come out of the secure sum, once all that is known is taken off, against their law.

The planned law of a sum with variance σ² is compared as round(N(0, σ² − 1/12)), from which every integer law
here is indistinguishable at such sample sizes: KL ≤ 1/(48σ⁴) a coordinate (docs/theory/integers.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, ndtr
from scipy.stats import binom, chi2, norm

from discreet.audit.findings import NoiseFinding

Integers = npt.NDArray[np.int64]
_TAILS = (2.0, 3.0, 4.0)
# Below this deviation the residues modulo 4 of a rounded Gaussian are not uniform to 1e-9.
_SMALLEST_STDDEV_FOR_RESIDUES = 3.0


def noise_findings(
    left_over: Integers, *, variance: float, scenario: str, confidence: float
) -> tuple[NoiseFinding, ...]:
    """Tests mean, variance, tails, low bits and independence of noise that should have ``variance``.

    Guarantee:
        Noise of the planned law fails any of the checks with probability at most 1 − ``confidence``
        (Bonferroni), as far as the approximations of the statistics go (from about a thousand integers).

    Args:
        left_over: one row a round, shape ``(rounds, d)``, grid units.
        variance: planned variance of each coordinate.
        scenario: who survived and who colluded, in words.
        confidence: of all checks together.
    """
    stddev = math.sqrt(variance)
    checks = [
        ("mean / stddev", *_mean(left_over, stddev)),
        ("variance / planned", *_variance(left_over, variance)),
        *((f"share beyond {tail:g} stddev", *_tail(left_over, stddev, tail)) for tail in _TAILS),
        ("largest correlation of two rounds", *_correlation(left_over)),
    ]
    if stddev >= _SMALLEST_STDDEV_FOR_RESIDUES:
        checks.append(("χ² of the two low bits", *_low_bits(left_over)))
    return tuple(
        NoiseFinding(
            scenario=scenario,
            check=name,
            observed=observed,
            expected=expected,
            p_value=p_value,
            samples=left_over.size,
            confidence=confidence,
            checks=len(checks),
        )
        for name, observed, expected, p_value in checks
    )


def exceeded(findings: Sequence[NoiseFinding]) -> bool:
    """Says whether any check of a family failed."""
    return any(finding.exceeded for finding in findings)


def _mean(noise: Integers, stddev: float) -> tuple[float, float, float]:
    """The mean is normal with deviation σ/√n."""
    mean = float(noise.mean()) / stddev
    return mean, 0.0, 2.0 * float(norm.sf(abs(mean) * math.sqrt(noise.size)))


def _variance(noise: Integers, variance: float) -> tuple[float, float, float]:
    """Σ x²/σ² is χ² with n degrees of freedom."""
    count = noise.size
    statistic = float(np.square(noise.astype(np.float64)).sum()) / variance
    p_value = 2.0 * min(float(chi2.cdf(statistic, count)), float(chi2.sf(statistic, count)))
    return statistic / count, 1.0, min(1.0, p_value)


def _tail(noise: Integers, stddev: float, tail: float) -> tuple[float, float, float]:
    """The number beyond a threshold is binomial."""
    threshold = math.floor(tail * stddev)
    beyond = int((np.abs(noise) > threshold).sum())
    before_rounding = math.sqrt(stddev**2 - 1.0 / 12.0) if stddev**2 > 1.0 / 12.0 else stddev
    prob = 2.0 * float(ndtr(-(threshold + 0.5) / before_rounding))
    p_value = 2.0 * min(
        float(binom.cdf(beyond, noise.size, prob)), float(binom.sf(beyond - 1, noise.size, prob))
    )
    return beyond / noise.size, prob, min(1.0, p_value)


def _correlation(noise: Integers) -> tuple[float, float, float]:
    """Rounds must be independent: the squared cosine of two rows is Beta(1/2, (d − 1)/2)."""
    rows, dimension = noise.shape
    if rows < 2 or dimension < 2:
        return 0.0, 0.0, 1.0
    scaled = noise / np.maximum(1e-300, np.linalg.norm(noise.astype(np.float64), axis=1, keepdims=True))
    cosines = scaled @ scaled.T
    np.fill_diagonal(cosines, 0.0)
    largest = float(np.abs(cosines).max())
    pairs = rows * (rows - 1) / 2.0
    one = float(betainc((dimension - 1) / 2.0, 0.5, max(0.0, 1.0 - largest**2)))
    return largest, 0.0, min(1.0, pairs * one)


def _low_bits(noise: Integers) -> tuple[float, float, float]:
    """Residues modulo 4 are uniform."""
    counts = np.bincount((noise % 4).ravel(), minlength=4)
    expected = noise.size / 4.0
    statistic = float((np.square(counts - expected) / expected).sum())
    return statistic, 3.0, float(chi2.sf(statistic, 3))
