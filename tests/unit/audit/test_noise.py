"""The noise checks: the planned laws pass, and each kind of deviation is found by the check made for it."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit.insider import LeftOver
from discreet.audit.noise import exceeded, noise_findings
from discreet.mechanisms import NoiseFamily, law_for, per_silo, sample_share
from discreet.randomness import SeededRandom

ROUNDS, DIMENSION, SILOS, VARIANCE = 40, 500, 5, 900.0
CONFIDENCE = 0.999


def summed(family: NoiseFamily, silos: int = SILOS, seed: int = 1) -> np.ndarray:
    law = law_for(family, variance=VARIANCE, num_silos=SILOS)
    source = SeededRandom(seed)
    shares = [
        sample_share(per_silo(law, silos), ROUNDS * DIMENSION, source.derive(silo)) for silo in range(silos)
    ]
    return np.sum(shares, axis=0).reshape(ROUNDS, DIMENSION)


def failing(noise: np.ndarray, family: NoiseFamily = NoiseFamily.DISCRETE_GAUSSIAN) -> set[str]:
    law = law_for(family, variance=VARIANCE, num_silos=SILOS)
    whole = LeftOver(noise.astype(np.float64), np.zeros(noise.shape))
    findings = noise_findings(whole, law=law, scenario="test", confidence=CONFIDENCE)
    assert exceeded(findings) == any(finding.exceeded for finding in findings)
    return {finding.check for finding in findings if finding.exceeded}


@pytest.mark.statistical
@pytest.mark.parametrize("family", list(NoiseFamily))
def test_planned_laws_pass(family: NoiseFamily) -> None:
    """False-alarm rate 0.001 a law; the seed is fixed."""
    assert failing(summed(family), family) == set()


def test_a_missing_share_is_found_in_the_variance() -> None:
    assert "variance / planned" in failing(summed(NoiseFamily.SKELLAM, silos=SILOS - 1))


@pytest.mark.statistical
def test_laplace_noise_is_told_from_less_of_it_and_from_gaussian_noise() -> None:
    family = NoiseFamily.DISCRETE_LAPLACE
    assert "variance / planned" in failing(summed(family, silos=SILOS - 1), family)
    assert "share beyond 4 stddev" in failing(summed(NoiseFamily.DISCRETE_GAUSSIAN), family)
    assert "share beyond 4 stddev" in failing(summed(family), NoiseFamily.DISCRETE_GAUSSIAN)


def test_heavy_tails_of_the_right_variance_are_found() -> None:
    rng = np.random.default_rng(0)
    heavy = np.rint(rng.laplace(size=(ROUNDS, DIMENSION)) * np.sqrt(VARIANCE / 2.0)).astype(np.int64)
    assert "share beyond 4 stddev" in failing(heavy)


def test_cut_tails_are_found() -> None:
    noise = np.clip(summed(NoiseFamily.ROUNDED_GAUSSIAN), -89, 89)
    assert "share beyond 3 stddev" in failing(noise)


def test_even_integers_are_found_in_the_low_bits() -> None:
    noise = summed(NoiseFamily.DISCRETE_GAUSSIAN)
    # Odd integers move up or down in turn, so that the mean stays.
    away = np.where(np.arange(noise.size).reshape(noise.shape) % 4 < 2, 1, -1)
    assert failing(noise + noise % 2 * away) == {"χ² of the two low bits"}


def test_a_repeated_round_is_found() -> None:
    noise = summed(NoiseFamily.ROUNDED_GAUSSIAN)
    noise[7] = noise[3]
    assert failing(noise) == {"largest correlation of two rounds"}


def test_a_round_with_the_opposite_noise_is_found() -> None:
    noise = summed(NoiseFamily.ROUNDED_GAUSSIAN)
    noise[7] = -noise[3]
    assert failing(noise) == {"largest correlation of two rounds"}


def test_a_shift_is_found_in_the_mean() -> None:
    assert "mean / stddev" in failing(summed(NoiseFamily.ROUNDED_GAUSSIAN) + 2)
