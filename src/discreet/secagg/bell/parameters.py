r"""How many neighbours, and which threshold: exact bounds for sparse graphs.

Bell, Bonawitz, Gascón, Lepoint and Raykova, "Secure single-server aggregation with (poly)logarithmic
overhead" (CCS 2020, eprint 2020/704), sections 3 and 4. With n clients, of which T collude with the server
and D drop out, a degree k and a threshold t are good when, summed over all clients (union bound),

* colluders recover no honest client's secrets, except with probability 2^-(s+1): fewer than t
  of its k neighbours collude; where the server may lie about dropouts, ``2 t > k + colluding ones``,
  so that it cannot collect both kinds of share;
* the honest survivors stay connected, except with probability 2^-(s+1): otherwise the sum of each
  component would show;
* at least t neighbours of every client survive, except with probability 2^-c.

Neighbours are a uniform k-subset of the n - 1 others, so the counts are hypergeometric. T and D are
counts, never rounded rates; hypergeometric tails are compared as integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import comb, log
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy
from scipy.special import gammaln, logsumexp

from discreet.errors import ConfigurationError
from discreet.secagg.modes import SemiHonest, SemiMalicious

SECURITY_BITS = 40
CORRECTNESS_BITS = 30
# Connectivity of chosen graphs is bounded in floating point, with far less error than this.
_ROUNDING = Fraction(1001, 1000)
_SMALLEST = 1e-300
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
    security_bits: int = SECURITY_BITS,
    correctness_bits: int = CORRECTNESS_BITS,
) -> Sparsity:
    """Finds the smallest even degree for which a threshold exists, and the smallest such threshold.

    Raises:
        ConfigurationError: if only a complete graph would do.

    Example:
        >>> find_sparsity(100, 5, 5, SemiHonest())
        Sparsity(degree=12, threshold=6)
    """
    others = num_clients - 1
    per_client = Fraction(1, (2 << security_bits) * num_clients)
    correct = Fraction(1, (1 << correctness_bits) * num_clients)
    chosen = isinstance(mode, SemiMalicious)
    for degree in range(2, others, 2):
        colluding = tail_quantile(others, num_colluding, degree, per_client)
        threshold = max(2, (degree + colluding - 1) // 2 + 1 if chosen else colluding)
        if threshold > degree + 1 - tail_quantile(others, num_dropouts, degree, correct):
            continue
        apart = (
            _choices_apart(num_clients, num_colluding, num_dropouts, degree, threshold)
            if chosen
            else _circle_apart(num_clients, num_colluding + num_dropouts, degree)
        )
        if apart <= per_client * num_clients:
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


def _choices_apart(n: int, colluding: int, dropouts: int, degree: int, threshold: int) -> Fraction:
    """Bounds P[a server that picks the dropouts itself makes the sum of some honest survivors show].

    To unmask a set S of s honest clients without edges to the other honest survivors R, (a) each of S needs a
    threshold of holders within S or among the colluders, and (b) none of S may have chosen one of R, or the
    other way round. Either bound may be used for every size; union over S (and over R for (b)), s <= |R|.
    """
    honest = n - colluding
    sizes = np.arange(1, honest // 2 + 1)
    within = scipy.stats.hypergeom.sf(threshold - 1, n - 1, colluding + sizes - 1, degree)
    starved = _log_comb(honest, sizes) + sizes * np.log(np.maximum(within, _SMALLEST))
    gone = np.arange(dropouts + 1)[None, :]
    set_sizes = sizes[:, None]
    rest = np.maximum(honest - set_sizes - gone, 0)
    cut = (
        _log_comb(honest, set_sizes)
        + _log_comb(honest - set_sizes, np.minimum(gone, honest - set_sizes))
        + set_sizes * _log_avoid(n - 1, rest, degree)
        + rest * _log_avoid(n - 1, set_sizes, degree)
    )
    log_terms = np.minimum(starved, logsumexp(cut, axis=1))
    return Fraction(min(1.0, float(np.sum(np.exp(np.minimum(log_terms, 0.0)))))) * _ROUNDING


def _log_avoid(others: int, avoided: Numbers, degree: int) -> Numbers:
    """Returns log P[a uniform choice of ``degree`` among ``others`` meets none of ``avoided``]."""
    left = np.maximum(others - avoided, degree)
    impossible = np.where(others - avoided < degree, -_HUGE, 0.0)
    return _log_comb(left, np.full_like(left, degree)) - log(comb(others, degree)) + impossible


def _log_comb(total: Numbers | int, chosen: Numbers) -> Numbers:
    """Returns the logarithms of binomial coefficients."""
    logs: Numbers = gammaln(np.add(total, 1)) - gammaln(chosen + 1) - gammaln(total - chosen + 1)
    return logs
