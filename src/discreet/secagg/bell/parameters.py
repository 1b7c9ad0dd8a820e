r"""How many neighbours, and which threshold: exact bounds for sparse graphs.

Bell, Bonawitz, Gascón, Lepoint and Raykova, "Secure single-server aggregation with (poly)logarithmic
overhead" (CCS 2020, eprint 2020/704), sections 3 and 4. With n clients, of which T collude with the server
and D drop out, a degree k and a threshold t are good when, summed over all clients (union bound),

* colluders recover no honest client's secrets, except with probability 2^-(s+1): fewer than t
  of its k neighbours collude; where the server may lie about dropouts, ``2 t > k + colluding ones``,
  so that it cannot collect both kinds of share;
* the honest survivors stay connected, except with probability 2^-(s+1): otherwise the sum of each
  component would show. Where the server may lie about dropouts it picks them after it saw all draws, so the
  union is over every set of dropouts, too (docs/adr/0043);
* at least t neighbours of every client survive, except with probability 2^-c.

Neighbours are a uniform k-subset of the others on the key list, so the counts are hypergeometric. The list
may lack all D that drop out, which makes colluders likelier neighbours: their count is bounded for n - D. The
other two bounds are largest for a full list. T and D are counts, never rounded rates; hypergeometric tails
are compared as integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.secagg.modes import SemiHonest, SemiMalicious

SECURITY_BITS = 40
CORRECTNESS_BITS = 30
# Connectivity of chosen graphs is bounded in floating point, with far less error than this.
_ROUNDING = Fraction(1001, 1000)
_HUGE = 1e6

Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Sparsity:
    """A degree and a threshold that satisfy the bounds of this module."""

    degree: int
    threshold: int


@cache
def find_sparsity(
    num_clients: int,
    num_colluding: int,
    num_dropouts: int,
    mode: SemiHonest | SemiMalicious,
    *,
    full_list: bool = False,
    security_bits: int = SECURITY_BITS,
    correctness_bits: int = CORRECTNESS_BITS,
) -> Sparsity:
    """Finds the smallest even degree for which a threshold exists, and the smallest such threshold.

    Args:
        num_clients: n.
        num_colluding: T.
        num_dropouts: D.
        mode: whether the server may lie about dropouts.
        full_list: take for granted that everybody's keys are on the list, as the published search does.
        security_bits: s.
        correctness_bits: c.

    Raises:
        ConfigurationError: if only a complete graph would do.

    Example:
        >>> find_sparsity(100, 5, 5, SemiHonest())
        Sparsity(degree=12, threshold=6)
    """
    listed = num_clients if full_list else num_clients - num_dropouts
    per_client = Fraction(1, (2 << security_bits) * num_clients)
    correct = Fraction(1, (1 << correctness_bits) * num_clients)
    limit, chosen = per_client * num_clients, isinstance(mode, SemiMalicious)
    for degree in range(2, listed - 1, 2):
        apart = (
            _choices_apart(num_clients, num_colluding, num_dropouts, degree, limit)
            if chosen
            else _circle_apart(num_clients, num_colluding + num_dropouts, degree)
        )
        if apart > limit:
            continue
        colluding = tail_quantile(listed - 1, num_colluding, degree, per_client)
        threshold = max(2, (degree + colluding - 1) // 2 + 1 if chosen else colluding)
        if threshold <= degree + 1 - tail_quantile(num_clients - 1, num_dropouts, degree, correct):
            return Sparsity(degree, threshold)
    raise ConfigurationError(
        f"max_colluding={num_colluding} and {num_dropouts} dropouts leave no sparse graph on {num_clients} "
        "clients. Lower max_colluding, raise min_survivors, or use the complete graph (Bonawitz)."
    )


def tail_quantile(population: int, marked: int, draws: int, limit: Fraction) -> int:
    """Returns the smallest t with P[X >= t] <= limit, X the marked ones among draws without replacement.

    Example:
        >>> tail_quantile(4, 2, 2, Fraction(1, 6))  # both marked ones are drawn with probability 1/6
        2
    """
    allowed = comb(population, draws) * limit
    tail = 0
    for count in range(min(marked, draws), -1, -1):
        tail += comb(marked, count) * comb(population - marked, draws - count)
        if tail > allowed:
            return count + 1
    return 0


def _circle_apart(n: int, bad: int, degree: int) -> Fraction:
    """Bounds P[the honest survivors of a Harary graph fall apart], dropouts being independent of it.

    That takes two disjoint runs of ``degree / 2`` consecutive clients all of which are bad; there are
    ``n (n - degree - 1) / 2`` pairs of runs.
    """
    if bad < degree:
        return Fraction(0)
    pairs = Fraction(n * (n - degree - 1), 2)
    return pairs * Fraction(comb(n - degree, bad - degree), comb(n, bad))


def _choices_apart(n: int, colluding: int, dropouts: int, degree: int, enough: Fraction) -> Fraction:
    """Bounds P[a server that picks the dropouts itself makes the honest survivors fall apart].

    For that, none of some set S of s honest survivors may have drawn one of the other honest survivors R, nor
    the other way round; union over S with s <= |R| and over the honest clients that are gone. The sum over s
    ends early once it exceeds ``enough``.
    """
    honest, total = n - colluding, 0.0
    for size in range(1, honest // 2 + 1):
        gone = np.arange(dropouts + 1)
        rest = np.maximum(honest - size - gone, 0)
        log_terms = (
            _log_comb(honest, size)
            + _log_comb(honest - size, np.minimum(gone, honest - size))
            + size * _log_avoid(n - 1, rest, degree)
            + rest * _log_avoid(n - 1, size, degree)
        )
        total += float(np.sum(np.exp(np.minimum(log_terms, 0.0))))
        if total > enough:
            break
    return Fraction(min(1.0, total)) * _ROUNDING


def _log_avoid(others: int, avoided: Numbers | int, degree: int) -> Numbers:
    """Returns log P[a uniform choice of ``degree`` among ``others`` meets none of ``avoided``]."""
    left = np.maximum(np.subtract(others, avoided), degree)
    impossible = np.where(np.subtract(others, avoided) < degree, -_HUGE, 0.0)
    return _log_comb(left, degree) - _log_comb(others, degree) + impossible


def _log_comb(total: Numbers | int, chosen: Numbers | int) -> Numbers:
    """Returns the logarithms of binomial coefficients."""
    # Only sparse graphs need it: a silo's key is made, and a list signed, without loading scipy.
    from scipy.special import gammaln

    logs: Numbers = (
        gammaln(np.add(total, 1)) - gammaln(np.add(chosen, 1)) - gammaln(np.subtract(total, chosen) + 1)
    )
    return logs
