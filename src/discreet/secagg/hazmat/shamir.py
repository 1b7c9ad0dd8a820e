"""Shamir secret sharing over GF(2^16), many secrets at once.

Guarantee: fewer than ``threshold`` shares of a secret are jointly uniform, whatever the secret (Shamir,
"How to share a secret", 1979). Nothing protects against wrong shares; callers verify what they recover
against a public key or a commitment.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource
from discreet.secagg.hazmat.field import (
    GROUP_ORDER,
    Symbols,
    lagrange_weights,
    logarithm,
    product_of_logs,
)


def to_symbols(secrets: bytes) -> Symbols:
    """Reads an even number of bytes as little-endian symbols."""
    return np.frombuffer(secrets, dtype="<u2").astype(np.uint16)


def to_bytes(symbols: Symbols) -> bytes:
    """Inverse of `to_symbols`."""
    return symbols.astype("<u2").tobytes()


def share(secrets: Symbols, points: Symbols, threshold: int, randomness: RandomSource) -> Symbols:
    """Shares every symbol with its own random polynomial of degree ``threshold - 1``.

    Args:
        secrets: shape ``(s,)``.
        points: distinct and nonzero, one a holder, shape ``(n,)``.
        threshold: number of shares that recover a secret, in ``[1, n]``.
        randomness: source of the coefficients.

    Returns:
        The shares, shape ``(n, s)``; row i belongs to the holder of ``points[i]``.

    Raises:
        ConfigurationError: for a threshold or points out of range.

    Example:
        >>> from discreet.randomness import SeededRandom
        >>> shares = share(np.uint16([7]), np.uint16([1, 2, 3]), 2, SeededRandom(1))
        >>> recover(shares[1:], np.uint16([2, 3]))
        array([7], dtype=uint16)
    """
    _check_points(points)
    if not 1 <= threshold <= len(points):
        raise ConfigurationError(
            f"threshold must be in [1, {len(points)}], the number of holders; got {threshold}."
        )
    num_random = (threshold - 1) * len(secrets)
    # All uniform, also the highest, which may be zero: to exclude zero would rule out one secret for whoever
    # holds one share less than the threshold.
    coefficients = randomness.words(-(-num_random // 4)).view(np.uint16)[:num_random]
    coefficient_logs = logarithm(coefficients.reshape(threshold - 1, len(secrets)))
    point_logs = logarithm(points)
    shares = np.repeat(secrets[None, :], len(points), axis=0)
    for power in range(1, threshold):
        power_logs = ((power * point_logs.astype(np.int64)) % GROUP_ORDER).astype(np.int32)
        shares ^= product_of_logs(power_logs[:, None], coefficient_logs[power - 1][None, :])
    return shares


def recover(shares: Symbols, points: Symbols) -> Symbols:
    """Recovers the secrets from exactly as many shares as the threshold: shapes ``(t, s)`` and ``(t,)``."""
    return evaluate(shares, points, 0)


def evaluate(shares: Symbols, points: Symbols, target: int) -> Symbols:
    """Returns the value at ``target`` of the polynomials through the shares; shape ``(s,)``."""
    _check_points(points)
    weights = lagrange_weights(points, target)
    terms = product_of_logs(logarithm(weights)[:, None], logarithm(shares))
    values: Symbols = np.bitwise_xor.reduce(terms, axis=0)
    return values


def _check_points(points: Symbols) -> None:
    """Refuses the point at which the secret itself lies, and repeated points."""
    if not (len(points) > 0 and bool(np.all(points != 0)) and len(np.unique(points)) == len(points)):
        raise ConfigurationError("points must be nonzero and distinct; got a zero or a repeated point.")
