"""Products of integers and a rational are those of exact arithmetic, rounded once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.encoding import exact_scaling
from discreet.encoding.exact_scaling import scaled

factors = st.fractions(max_denominator=10**12).filter(bool) | st.builds(
    lambda n, d, e: Fraction(n, d) * Fraction(2) ** e,
    st.integers(1, 2**60),
    st.integers(1, 2**60),
    st.integers(-300, 300),
)


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=30), factor=factors)
def test_every_product_is_the_exact_one_rounded_once(values: list[int], factor: Fraction) -> None:
    expected = [value * factor.numerator / factor.denominator for value in values]
    assert scaled(np.array(values, dtype=np.int64), factor).tolist() == expected


def test_ties_are_left_to_exact_arithmetic() -> None:
    """Odd integers beyond 2^53 lie halfway between two floats, and a third of three times them does, too."""
    values = np.arange(2**53 + 1, 2**53 + 4001, 2)
    assert exact_scaling._scale_fast(3 * values, Fraction(1, 3), np.empty(len(values))).all()
    assert scaled(3 * values, Fraction(1, 3)).tolist() == [float(int(v)) for v in values]


def test_long_vectors_seldom_need_the_exact_path() -> None:
    values = np.random.default_rng(1).integers(-(2**40), 2**40, size=40_000)
    factor = Fraction(-7, 3 * 2**20)
    unsure = exact_scaling._scale_fast(values, factor, np.empty(len(values)))
    assert not unsure.any()
    assert scaled(values, factor).tolist() == [int(v) * -7 / (3 * 2**20) for v in values]


@pytest.mark.parametrize("factor", [Fraction(0), Fraction(2) ** 900, Fraction(1, 2**900)])
def test_extreme_factors_are_exact_too(factor: Fraction) -> None:
    values = np.array([3, 0, -5], dtype=np.int64)
    found = scaled(values, factor).tolist()
    assert found == [v * factor.numerator / factor.denominator for v in (3, 0, -5)]
    assert not np.signbit(found[1])
