"""GF(2^16): the tables against a bit-by-bit product, and the field laws."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.secagg.hazmat.field import GROUP_ORDER, _tables, lagrange_weights, multiply

symbols = st.integers(0, 65535)


def slow_product(left: int, right: int) -> int:
    """Schoolbook product modulo x^16 + x^12 + x^3 + x + 1."""
    product = 0
    for bit in range(16):
        if right >> bit & 1:
            product ^= left << bit
    for bit in range(30, 15, -1):
        if product >> bit & 1:
            product ^= 0x1100B << (bit - 16)
    return product


@given(symbols, symbols)
@settings(deadline=None)
def test_products_equal_the_schoolbook(left: int, right: int) -> None:
    assert int(multiply(np.array([left], np.uint16), np.array([right], np.uint16))[0]) == slow_product(
        left, right
    )


def test_the_generator_has_full_order() -> None:
    antilog, _ = _tables()
    assert len(np.unique(antilog[:GROUP_ORDER])) == GROUP_ORDER
    assert 0 not in antilog[:GROUP_ORDER]


@given(st.lists(st.integers(1, 65535), min_size=1, max_size=6, unique=True), st.data())
@settings(deadline=None)
def test_lagrange_weights_reproduce_polynomials(points: list[int], data: st.DataObject) -> None:
    coefficients = data.draw(st.lists(symbols, min_size=len(points), max_size=len(points)))

    def evaluate(at: int) -> int:
        value = 0
        for coefficient in reversed(coefficients):
            value = slow_product(value, at) ^ coefficient
        return value

    weights = lagrange_weights(np.array(points, dtype=np.uint16), 0)
    total = 0
    for weight, point in zip(weights, points, strict=True):
        total ^= slow_product(int(weight), evaluate(point))
    assert total == coefficients[0]
