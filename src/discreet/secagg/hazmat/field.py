"""Arithmetic in GF(2^16), vectorised over numpy arrays of symbols.

The field is GF(2)[x] / (x^16 + x^12 + x^3 + x + 1), in which x generates the multiplicative group. Products
go through logarithm tables, whose memory access depends on the operands: an observer of the caches of the
machine that computes could learn symbols. The parties compute on their own machines, on their own secrets.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

Symbols = npt.NDArray[np.uint16]
Logs = npt.NDArray[np.int32]

GROUP_ORDER = (1 << 16) - 1
_POLYNOMIAL = 0x1100B
# A zero operand gets a logarithm so large that every sum that contains it lands in the zero tail.
_LOG_OF_ZERO = 2 * GROUP_ORDER


@cache
def _tables() -> tuple[Symbols, Logs]:
    """Returns the antilogarithm table (zero beyond two periods) and the logarithm table."""
    period = np.zeros(GROUP_ORDER, dtype=np.uint16)
    value = 1
    for exponent in range(GROUP_ORDER):
        period[exponent] = value
        value <<= 1
        if value >> 16:
            value ^= _POLYNOMIAL
    antilog = np.zeros(2 * _LOG_OF_ZERO + 1, dtype=np.uint16)
    antilog[:_LOG_OF_ZERO] = np.tile(period, 2)
    log = np.empty(1 << 16, dtype=np.int32)
    log[period] = np.arange(GROUP_ORDER, dtype=np.int32)
    log[0] = _LOG_OF_ZERO
    return antilog, log


def logarithm(values: Symbols) -> Logs:
    """Returns discrete logarithms; that of zero is a marker which `product_of_logs` understands."""
    return _tables()[1][values]


def product_of_logs(left: Logs, right: Logs) -> Symbols:
    """Returns the products whose factors have these logarithms (broadcasting; at most two factors)."""
    product: Symbols = _tables()[0][left + right]
    return product


def multiply(left: Symbols, right: Symbols) -> Symbols:
    """Returns elementwise products, broadcasting.

    Example:
        >>> int(multiply(np.uint16([2]), np.uint16([0x8000]))[0]) == 0x100B
        True
    """
    return product_of_logs(logarithm(left), logarithm(right))


def lagrange_weights(points: Symbols, target: int) -> Symbols:
    """Returns w with f(target) = XOR_i w_i * f(points_i) for every polynomial f of degree < len(points).

    Args:
        points: distinct, nonzero, shape ``(m,)``.
        target: where to evaluate; not one of the points.
    """
    logs = logarithm(points ^ np.uint16(target)).astype(np.int64)
    differences = logarithm(points[:, None] ^ points[None, :]).astype(np.int64)
    np.fill_diagonal(differences, 0)
    exponents = logs.sum() - logs - differences.sum(axis=1)
    weights: Symbols = _tables()[0][exponents % GROUP_ORDER]
    return weights
