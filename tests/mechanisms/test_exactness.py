"""The samplers are functions of their bits: whichever arithmetic decides, the integers are the same.

Every fast path is compared with the slow one that it abbreviates, by making the fast one refuse to decide. A
sampler whose error bound were too small would disagree with itself here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.mechanisms import exponentials, rounded_gaussian, skellam, thinning
from discreet.mechanisms.rounded_gaussian import draw_rounded_gaussian
from discreet.mechanisms.skellam import draw_skellam
from discreet.mechanisms.thinning import draw_discrete_gaussian
from discreet.randomness import RandomSource, SeededRandom

STDDEVS = [0.3, 1.0, 2.0**10, 2.0**26, 2.0**40]


@pytest.fixture
def no_extended_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exponentials, "HAS_EXTENDED", False)


@pytest.mark.parametrize("stddev", STDDEVS)
def test_rounded_gaussian_with_intervals_only(
    drawn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, no_extended_precision: None, stddev: float
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rounded_gaussian, "error_bound", lambda _: 1.0)
        slow = drawn(partial(draw_rounded_gaussian, stddev), 401, SeededRandom(1))
    assert np.array_equal(slow, drawn(partial(draw_rounded_gaussian, stddev), 401, SeededRandom(1)))


@pytest.mark.parametrize("stddev", STDDEVS)
def test_rounded_gaussian_with_extended_precision_only(
    drawn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, stddev: float
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(rounded_gaussian, "error_bound", lambda _: 1.0)
        middle = drawn(partial(draw_rounded_gaussian, stddev), 20_001, SeededRandom(2))
    assert np.array_equal(middle, drawn(partial(draw_rounded_gaussian, stddev), 20_001, SeededRandom(2)))


@pytest.mark.parametrize("stddev", [0.3, 1.0, 5.0])
def test_discrete_gaussian_with_some_intervals(
    drawn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, stddev: float
) -> None:
    """Some positions are decided fast, some exactly: the order of redraws must not notice."""
    with monkeypatch.context() as patch:
        patch.setattr(thinning, "_tolerance", lambda _: 0.02)
        mixed = drawn(partial(draw_discrete_gaussian, stddev), 5001, SeededRandom(7))
    assert np.array_equal(mixed, drawn(partial(draw_discrete_gaussian, stddev), 5001, SeededRandom(7)))


@pytest.mark.parametrize("stddev", [0.3, 1.0, 5.0, 2.0**26])
def test_discrete_gaussian_with_intervals_only(
    drawn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, no_extended_precision: None, stddev: float
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(thinning, "_tolerance", lambda _: 2.0)
        slow = drawn(partial(draw_discrete_gaussian, stddev), 301, SeededRandom(3))
    assert np.array_equal(slow, drawn(partial(draw_discrete_gaussian, stddev), 301, SeededRandom(3)))


def test_skellam_with_intervals_only(drawn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fast = drawn(partial(draw_skellam, 4096.0), 60_000, SeededRandom(4))
    monkeypatch.setattr(skellam, "_TOLERANCE", 2.0**-12)
    calls = []
    decide = skellam._rejected_exactly
    monkeypatch.setattr(skellam, "_rejected_exactly", lambda *args: calls.append(args) or decide(*args))
    assert np.array_equal(drawn(partial(draw_skellam, 4096.0), 60_000, SeededRandom(4)), fast)
    assert len(calls) > 10


def test_wide_noise_does_reach_the_slow_paths(
    drawn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the tests above would compare the fast path with itself."""
    calls = []
    exact = rounded_gaussian.exact_nearest
    monkeypatch.setattr(rounded_gaussian, "exact_nearest", lambda *args: calls.append(args) or exact(*args))
    monkeypatch.setattr(exponentials, "HAS_EXTENDED", False)
    drawn(partial(draw_rounded_gaussian, 2.0**40), 2000, SeededRandom(6))
    assert 10 < len(calls) < 200


class Zeros(RandomSource):
    """Its first ``num_zeros`` words are 0, the rest is an ordinary stream."""

    def __init__(self, num_zeros: int) -> None:
        super().__init__(bytes(32))
        self._num_zeros = num_zeros

    def derive(self, *_labels: Any) -> Any:
        return self

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        out = super().words(count)
        out[: self._num_zeros] = 0
        self._num_zeros = 0
        return out


def test_void_pairs_are_decided_by_further_bits_in_both_halves(drawn: Callable[..., Any]) -> None:
    """U = 0 in 64 bits: float64 can only clamp, to r = 9.42; the real r is larger, pair by pair."""
    draws = drawn(partial(draw_rounded_gaussian, 2.0**40), 40, Zeros(20))
    pairs = draws[:20].astype(float) ** 2 + draws[20:].astype(float) ** 2
    radii = np.sqrt(pairs) / 2.0**40
    assert np.all(radii > np.sqrt(2 * 64 * np.log(2)))
    assert len(np.unique(np.round(radii, 6))) == 20
    # −ln U = 64 ln 2 + an exponential of mean 1; the mean of twenty is within 4.5 standard errors.
    assert abs(np.mean(radii**2 / 2 - 64 * np.log(2)) - 1) < 4.5 / np.sqrt(20)
