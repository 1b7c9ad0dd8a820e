"""Shamir sharing: recovery from any subset, and secrecy below the threshold."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.randomness import SeededRandom
from discreet.secagg.hazmat import shamir


@given(st.integers(1, 12), st.data())
@settings(deadline=None)
def test_every_large_enough_subset_recovers_every_secret(num_holders: int, data: st.DataObject) -> None:
    threshold = data.draw(st.integers(1, num_holders))
    points = np.array(
        data.draw(st.lists(st.integers(1, 65535), min_size=num_holders, max_size=num_holders, unique=True)),
        dtype=np.uint16,
    )
    secret = data.draw(st.binary(min_size=2, max_size=64).filter(lambda b: len(b) % 2 == 0))
    shares = shamir.share(shamir.to_symbols(secret), points, threshold, SeededRandom(0))
    chosen = data.draw(st.permutations(range(num_holders)))[:threshold]
    assert shamir.to_bytes(shamir.recover(shares[chosen], points[chosen])) == secret


def test_shares_below_the_threshold_do_not_depend_on_the_secret() -> None:
    """Check 21, exhaustively in GF(4): all polynomials of degree 2, any two of three shares.

    The field of the product is too large to enumerate, so this runs the same sharing rule, evaluation of
    c0 + c1 x + c2 x^2 at the holders' points, in the smallest field with three nonzero points.
    """
    times = {(a, b): _gf4_product(a, b) for a in range(4) for b in range(4)}

    def shares(coefficients: tuple[int, ...], point: int) -> int:
        value = 0
        for coefficient in reversed(coefficients):
            value = times[value, point] ^ coefficient
        return value

    for pair in combinations((1, 2, 3), 2):
        views = [
            Counter(tuple(shares((secret, *rest), x) for x in pair) for rest in product(range(4), repeat=2))
            for secret in range(4)
        ]
        assert all(view == views[0] for view in views)
        assert set(views[0].values()) == {1}, "two shares of a threshold of three are exactly uniform"


def _gf4_product(left: int, right: int) -> int:
    product_bits = (left if right & 1 else 0) ^ (left << 1 if right & 2 else 0)
    return product_bits ^ 0b111 if product_bits & 4 else product_bits


@pytest.mark.statistical
def test_one_share_of_a_constant_secret_is_uniform() -> None:
    """Chi-square over the low byte of 20,000 shares; false-alarm rate 1e-6 (255 degrees of freedom)."""
    secrets = np.zeros(20_000, dtype=np.uint16)
    shares = shamir.share(secrets, np.array([5, 9], dtype=np.uint16), 2, SeededRandom(3))
    counts = np.bincount(shares[0] & 0xFF, minlength=256)
    expected = len(secrets) / 256
    assert float(((counts - expected) ** 2 / expected).sum()) < 377.0


def test_evaluation_elsewhere_gives_the_other_shares() -> None:
    points = np.arange(1, 8, dtype=np.uint16)
    shares = shamir.share(np.array([1, 2, 65535], np.uint16), points, 3, SeededRandom(1))
    assert np.array_equal(shamir.evaluate(shares[:3], points[:3], 7), shares[6])


@pytest.mark.parametrize(("points", "threshold"), [([1, 1], 1), ([0, 1], 1), ([1, 2], 0), ([1, 2], 3)])
def test_bad_points_and_thresholds_are_refused(points: list[int], threshold: int) -> None:
    with pytest.raises(ConfigurationError, match=r"points|threshold"):
        shamir.share(np.array([1], np.uint16), np.array(points, dtype=np.uint16), threshold, SeededRandom(0))


def test_a_coefficient_may_be_zero() -> None:
    """Without zero, one share less than the threshold would rule out one secret."""

    class Zeros(SeededRandom):  # type: ignore[misc]  # a test's own draws
        def words(self, count: int) -> np.ndarray:
            return np.zeros(count, dtype=np.uint64)

    secrets = np.array([7, 9], dtype=np.uint16)
    shares = shamir.share(secrets, np.array([1, 2, 3], dtype=np.uint16), 3, Zeros(0))
    assert shares.tolist() == [[7, 9]] * 3
