"""round(x + N(0, σ²)) for real x: the law, exactness, and what the memory and the blocks do.

Seeds are fixed; 32 p-values are required to be above 1e-5.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import pytest
from scipy import special, stats

from discreet.errors import ConfigurationError
from discreet.mechanisms import exponentials, round_with_noise, rounded_gaussian, sample_share
from discreet.privacy.events import RoundedGaussianNoise
from discreet.randomness import SecureRandom, SeededRandom

ALARM = 1e-5
CENTRES = [0.0, 0.5, -0.37, 2.0**40 + 0.25]


@pytest.mark.parametrize("stddev", [0.3, 1.0, 5.0, 2.0**20])
@pytest.mark.parametrize("centre", CENTRES)
def test_follows_the_exact_law(stddev: float, centre: float) -> None:
    """Cells of the rounded Gaussian around the *real* centre: an error of 1/8 in it would show at σ ≤ 5."""
    source = SeededRandom(4).derive(str(stddev), str(centre))
    draws = round_with_noise(np.full(100_000, centre), RoundedGaussianNoise(stddev, 1), source)
    whole = math.floor(centre)
    fraction, offsets = centre - whole, draws - whole
    edges = np.unique(np.round(fraction + stddev * special.ndtri(np.linspace(0, 1, 41)[1:-1])))
    probs = np.diff(np.concatenate([[0.0], special.ndtr((edges + 0.5 - fraction) / stddev), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, offsets), minlength=len(probs))
    keep = probs > 1e-4
    others = np.append(counts[keep], counts[~keep].sum())
    expected = np.append(probs[keep], probs[~keep].sum()) * len(draws)
    seen = expected > 0
    assert stats.chisquare(others[seen], expected[seen]).pvalue > ALARM
    if stddev > 64:
        assert stats.chisquare(np.bincount(draws % 8, minlength=8)).pvalue > ALARM


def test_a_centre_an_eighth_off_is_seen() -> None:
    draws = round_with_noise(np.full(100_000, 0.25), RoundedGaussianNoise(5.0, 1), SeededRandom(4))
    z = (draws.mean() - 0.375) / math.sqrt((25 + 1 / 12) / 100_000)
    assert abs(z) > 6.0


@pytest.mark.parametrize("stddev", [0.3, 1.0, 2.0**10, 2.0**30])
def test_intervals_decide_as_float64_does(monkeypatch: pytest.MonkeyPatch, stddev: float) -> None:
    centres = np.random.default_rng(1).normal(size=401) * 1000.0
    law = RoundedGaussianNoise(stddev, 1)
    fast = round_with_noise(centres.copy(), law, SeededRandom(1))
    monkeypatch.setattr(rounded_gaussian, "error_bound", lambda _: 1.0)
    extended = round_with_noise(centres.copy(), law, SeededRandom(1))
    monkeypatch.setattr(exponentials, "HAS_EXTENDED", False)
    slow = round_with_noise(centres.copy(), law, SeededRandom(1))
    assert np.array_equal(fast, extended)
    assert np.array_equal(fast, slow)


def test_integers_are_only_moved() -> None:
    """For integer x it is x plus the very draws of a share."""
    x = np.random.default_rng(2).integers(-(2**50), 2**50, size=140_001)
    law = RoundedGaussianNoise(37.5, 1)
    moved = round_with_noise(x.astype(np.float64), law, SeededRandom(6))
    assert np.array_equal(moved - x, sample_share(law, len(x), SeededRandom(6)))


def test_threads_do_not_change_the_result_and_the_values_are_overwritten() -> None:
    values = np.linspace(-5.0, 5.0, 270_001)
    law = RoundedGaussianNoise(3.0, 2)
    one = round_with_noise(values.copy(), law, SeededRandom(1))
    two = round_with_noise(values, law, SeededRandom(1), workers=2)
    assert np.array_equal(one, two)
    assert np.shares_memory(two, values)


def test_golden_draws_are_the_same_on_every_machine() -> None:
    """A frozen self-consistency vector: a function of the seed's bits and of the real centres."""
    draws = round_with_noise(np.linspace(-40.0, 40.0, 1001), RoundedGaussianNoise(2.5, 1), SeededRandom(42))
    assert hashlib.sha256(draws.astype("<i8").tobytes()).hexdigest() == (
        "638590e6da895acdd9cee57aa1902085e23909992877bb0ea77acc001081a0b1"
    )


def test_fresh_noise_every_time_and_a_checked_domain() -> None:
    law = RoundedGaussianNoise(300.0, 1)
    draws = [round_with_noise(np.zeros(1000), law, SecureRandom()) for _ in range(2)]
    assert not np.array_equal(draws[0], draws[1])
    with pytest.raises(ConfigurationError, match=r"at least 0\.3"):
        round_with_noise(np.zeros(3), RoundedGaussianNoise(0.2, 1), SeededRandom(1))
