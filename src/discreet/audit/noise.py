r"""What is left of secure sums, once all that is known is taken off, against the planned law of the noise.

The planned law of a sum with variance σ² is compared as round(x + N(0, σ² − 1/12)) − x, from which every law
here but Laplace noise is indistinguishable at such sample sizes: KL ≤ 1/(48σ⁴) a coordinate
(docs/theory/integers.md). x is the honest silos' update if noise comes before rounding, and an integer if it
comes after. Laplace noise is compared with its own probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betainc, ndtr
from scipy.stats import binom, chi2, norm

from discreet.arrays import Floats
from discreet.audit.findings import NoiseFinding
from discreet.audit.insider import LeftOver
from discreet.mechanisms.polya import difference_probs
from discreet.privacy.events import IntegerNoise, PolyaNoise

_TAILS = (2.0, 3.0, 4.0)
# From this deviation on the residues modulo 4 of a rounded Gaussian are uniform to 1e-9: each is off by at
# most exp(-(σ² - 1/12)π²/8)/2.
_SMALLEST_STDDEV_FOR_RESIDUES = 4.1


def noise_findings(
    left_over: LeftOver, *, law: IntegerNoise, scenario: str, confidence: float
) -> tuple[NoiseFinding, ...]:
    """Tests mean, variance, tails, low bits and independence of noise that should follow ``law``.

    Where updates are real, it is also asked whether they were rounded before the noise came, which would
    make the error of rounding a function of the update instead of the noise.

    Guarantee:
        Noise of the planned law fails any of the checks with probability at most 1 − ``confidence``
        (Bonferroni), as far as the approximations of the statistics go (from about a thousand coordinates).

    Args:
        left_over: one row a round, shape ``(rounds, d)``, grid units.
        law: planned law of each coordinate, over the shares that are in it.
        scenario: who survived and who colluded, in words.
        confidence: of all checks together.
    """
    stddev, noise = math.sqrt(law.variance), left_over.noise
    checks = [
        ("mean / stddev", *_mean(noise, stddev)),
        ("variance / planned", *_variance(noise, law)),
        *((f"share beyond {tail:g} stddev", *_tail(left_over, law, tail)) for tail in _TAILS),
        ("largest correlation of two rounds", *_correlation(noise)),
    ]
    if stddev >= _SMALLEST_STDDEV_FOR_RESIDUES and not isinstance(law, PolyaNoise):
        checks.append(("χ² of the two low bits", *_low_bits(left_over)))
    if left_over.fractions.any():
        checks.append(("rounding before noise", *_early_rounding(left_over, stddev)))
    return tuple(
        NoiseFinding(
            scenario=scenario,
            check=name,
            observed=observed,
            expected=expected,
            p_value=p_value,
            samples=noise.size,
            confidence=confidence,
            checks=len(checks),
        )
        for name, observed, expected, p_value in checks
    )


def exceeded(findings: Sequence[NoiseFinding]) -> bool:
    """Says whether any check of a family failed."""
    return any(finding.exceeded for finding in findings)


def _mean(noise: Floats, stddev: float) -> tuple[float, float, float]:
    """The mean is normal with deviation σ/√n."""
    mean = float(noise.mean()) / stddev
    return mean, 0.0, 2.0 * float(norm.sf(abs(mean) * math.sqrt(noise.size)))


def _variance(noise: Floats, law: IntegerNoise) -> tuple[float, float, float]:
    """Σ x²/σ² is χ² with n degrees of freedom, but for Laplace noise."""
    if isinstance(law, PolyaNoise):
        return _laplace_variance(noise, law)
    count = noise.size
    statistic = float(np.square(noise).sum()) / law.variance
    p_value = 2.0 * min(float(chi2.cdf(statistic, count)), float(chi2.sf(statistic, count)))
    return statistic / count, 1.0, min(1.0, p_value)


def _laplace_variance(noise: Floats, law: PolyaNoise) -> tuple[float, float, float]:
    """The mean of x² is nearly normal, with the fourth moment of the law itself."""
    probs = difference_probs(law.scale, law.num_silos / law.whole)
    fourth = 2.0 * float(probs @ np.arange(len(probs), dtype=np.float64) ** 4)
    ratio = float(np.square(noise).mean()) / law.variance
    deviation = math.sqrt((fourth / law.variance**2 - 1.0) / noise.size)
    return ratio, 1.0, 2.0 * float(norm.sf(abs(ratio - 1.0) / deviation))


def _tail(left_over: LeftOver, law: IntegerNoise, tail: float) -> tuple[float, float, float]:
    """The number beyond a threshold is a sum of coins, each with the probability of its own lattice.

    Where these differ, the binomial law of their mean has the longer tails (Hoeffding 1956, Theorem 5).
    """
    stddev = math.sqrt(law.variance)
    noise, threshold = left_over.noise, tail * stddev
    beyond = int((np.abs(noise) > threshold).sum())
    # Usually all lattices are the integers themselves.
    fractions = left_over.fractions if left_over.fractions.any() else np.zeros(1)
    if isinstance(law, PolyaNoise):
        probs = difference_probs(law.scale, law.num_silos / law.whole)
        prob = 2.0 * float(probs[math.floor(threshold) + 1 :].sum())
    else:
        prob = float(sum(_beyond(side * fractions, stddev, threshold).mean() for side in (1.0, -1.0)))
    p_value = 2.0 * min(
        float(binom.cdf(beyond, noise.size, prob)), float(binom.sf(beyond - 1, noise.size, prob))
    )
    return beyond / noise.size, prob, min(1.0, p_value)


def _beyond(fractions: Floats, stddev: float, threshold: float) -> Floats:
    """Returns P[round(x + N) − x > threshold] for N of the deviation before rounding, given x modulo 1."""
    before_rounding = math.sqrt(stddev**2 - 1.0 / 12.0) if stddev**2 > 1.0 / 12.0 else stddev
    cell_begins = np.floor(threshold + fractions) + 0.5 - fractions
    return np.asarray(ndtr(-cell_begins / before_rounding))


def _correlation(noise: Floats) -> tuple[float, float, float]:
    """Rounds must be independent: the squared cosine of two rows is Beta(1/2, (d − 1)/2)."""
    rows, dimension = noise.shape
    if rows < 2 or dimension < 2:
        return 0.0, 0.0, 1.0
    scaled = noise / np.maximum(1e-300, np.linalg.norm(noise, axis=1, keepdims=True))
    cosines = scaled @ scaled.T
    np.fill_diagonal(cosines, 0.0)
    largest = float(np.abs(cosines).max())
    pairs = rows * (rows - 1) / 2.0
    one = float(betainc((dimension - 1) / 2.0, 0.5, max(0.0, 1.0 - largest**2)))
    return largest, 0.0, min(1.0, pairs * one)


def _low_bits(left_over: LeftOver) -> tuple[float, float, float]:
    """Residues modulo 4 are uniform."""
    integers = np.rint(left_over.noise + left_over.fractions).astype(np.int64)
    counts = np.bincount((integers % 4).ravel(), minlength=4)
    expected = integers.size / 4.0
    statistic = float((np.square(counts - expected) / expected).sum())
    return statistic, 3.0, float(chi2.sf(statistic, 3))


def _early_rounding(left_over: LeftOver, stddev: float) -> tuple[float, float, float]:
    """Regresses the noise on what rounding alone would have added: 0 under the plan, 1 if it came first."""
    would_add = -left_over.fractions
    square = float(np.square(would_add).sum())
    slope = float((left_over.noise * would_add).sum()) / square
    return slope, 0.0, 2.0 * float(norm.sf(abs(slope) * math.sqrt(square) / stddev))
