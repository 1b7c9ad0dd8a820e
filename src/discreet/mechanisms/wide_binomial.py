r"""Bin(n, p) for n from 2^22 to 2^82 and p from 1/4 to 3/4: one acceptance from the discrete Gaussian.

Proposal: k = c + j with c the integer nearest to np and j from N_Z(0, s²), s² ≥ n/4, the same for every p.
With y = (k − np)/n, r = y/p, w = y/q and Stirling's series δ(m) = 1/(12m) − 1/(360m³) + …

    ln(P[k]·√(2πnpq)) = −(k − np)²/2npq − np·g(r) − nq·g(−w) − ½ ln((1 + r)(1 − w)) + δ(n) − δ(k) − δ(n−k),
    g(r) = (1 + r) ln(1 + r) − r − r²/2 = Σ_{i≥3} (−r)^i/(i(i−1)).

The proposal is accepted with probability a(j) = P[k]·√(2πnpq)·e^{j²/2s²}·e^{−700/√n}, at most 1 for
|j| ≤ 13s: there j²/2s² exceeds (k − np)²/2npq by at most 13/√n (|c − np| ≤ 1/2), the cubic terms of g give at
most 652/√n, the logarithm 9/√n, and all that is left less than 1/√n (docs/theory/integers.md, Lemma B).
Where float64 is too close to call, interval arithmetic on log-gamma decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.mechanisms.bits import FIRST_EXTRA_BITS, Tails
from discreet.mechanisms.intervals import Interval
from discreet.mechanisms.scratch import Floats, Integers, Scratch, Words
from discreet.mechanisms.thinning import draw_discrete_gaussian
from discreet.randomness import RandomSource

MIN_TRIALS = 1 << 22
MAX_TRIALS = 1 << 82
MIN_PROB = 0.25

# Beyond 13 standard deviations neither law has mass 2^-119; at least half of the proposals are accepted.
WIDE_TV = 2.0**-115

_ROOM = 700.0
# Every float64 from 1/4 to 3/4 is a multiple of 2^-54.
_PROB_BITS = 54
# |float64 acceptance − a(j)|: PROVEN below 2^-41 for |j| ≤ 13s, by docs/theory/sampler_bounds/binomials.py.
_TOLERANCE = 2.0**-40
_PRECISION = 384
# 1/(i(i−1)), i = 3 … 12: |r| ≤ 26/√n < 0.013, and the next term is below 2^-50.
_SERIES = tuple(1.0 / (i * (i - 1)) for i in range(3, 13))


@dataclass(frozen=True, slots=True, repr=False)
class Proposals:
    """One proposal c + j for every p: ``offsets`` are the j, ``fractions`` the np − c; all of one length."""

    trials: int
    probs: Floats
    fractions: Floats
    offsets: Integers


def draw_wide_binomial(trials: int, probs: Floats, randomness: RandomSource) -> Integers:
    """Draws one Bin(``trials``, p) − ⌊``trials``/2⌋ for every p in ``probs``, within `WIDE_TV` each.

    Args:
        trials: from 2^22 to 2^82.
        probs: from 1/4 to 3/4, shape ``(d,)``, so near to 1/2 that the results fit int64.
        randomness: source; it is consumed.
    """
    centres, fractions = _centres(trials, probs)
    centres -= trials // 2
    out, scratch = np.empty(len(probs), dtype=np.int64), Scratch()
    pending = np.arange(len(probs))
    while len(pending):
        offsets = scratch.integers("offsets", len(pending))
        draw_discrete_gaussian(proposal_stddev(trials), offsets, randomness, scratch)
        proposals = Proposals(trials, probs[pending], fractions[pending], offsets)
        accepted = _accepted(proposals, randomness.words(len(pending)), Tails.drawn_from(randomness))
        done = pending[accepted]
        out[done] = centres[done].astype(np.int64) + offsets[accepted]
        pending = pending[~accepted]
    return out


def _centres(trials: int, probs: Floats) -> tuple[npt.NDArray[np.object_], Floats]:
    """The integers c nearest to ``trials``·p, which may be wider than 64 bits, and ``trials``·p − c."""
    numerators = np.ldexp(probs, _PROB_BITS).astype(np.int64)
    products: npt.NDArray[np.object_] = numerators.astype(object) * trials
    centres: npt.NDArray[np.object_] = (products + (1 << (_PROB_BITS - 1))) >> _PROB_BITS
    remainders = (products - (centres << _PROB_BITS)).astype(np.float64)
    return centres, np.ldexp(remainders, -_PROB_BITS)


def proposal_stddev(trials: int) -> float:
    """The s of the proposal: √n/2, and a little more so that float64 cannot round it below."""
    return math.sqrt(0.25 * trials) * (1.0 + 2.0**-50)


def _accepted(proposals: Proposals, words: Words, tails: Tails) -> npt.NDArray[np.bool_]:
    """Decides u < a(j) everywhere."""
    probability = np.exp(log_acceptance(proposals))
    uniform = words.astype(np.float64) * 2.0**-64
    accepted = np.less(uniform, probability)
    for index in np.flatnonzero(np.abs(uniform - probability) <= _TOLERANCE):
        real = tails.uniform(int(words[index]), b"wide binomial", int(index), FIRST_EXTRA_BITS)
        prob, offset = float(proposals.probs[index]), int(proposals.offsets[index])
        # Undecided with probability below 2^-120, which `WIDE_TV` covers.
        accepted[index] = real.is_below(exact_acceptance(proposals.trials, prob, offset)) is True
    return accepted


def log_acceptance(proposals: Proposals) -> Floats:
    """The logarithm of a(j) in float64, by the formula of the module's docstring."""
    n, j = float(proposals.trials), proposals.offsets.astype(np.float64)
    return log_ratio(n, proposals.probs, proposals.fractions, j, proposal_stddev(proposals.trials))


def log_ratio(n: float, p: Floats, fractions: Floats, j: Floats, stddev: float) -> Floats:
    """`log_acceptance` in the operations whose rounding is bounded; ``stddev`` is s."""
    q, tilt = 1.0 - p, p - 0.5
    deviation = j - fractions
    r, w = deviation / (n * p), deviation / (n * q)
    z = j / stddev
    square = 0.5 * z * z - deviation / (0.25 - tilt * tilt) * deviation / (2.0 * n)
    cubic = n * p * g_series(r) + n * q * g_series(-w)
    logarithm = 0.5 * (np.log1p(r) + np.log1p(-w))
    stirling = delta(n) - delta(n * p * (1.0 + r)) - delta(n * q * (1.0 - w))
    return np.asarray(square - cubic - logarithm + stirling - _ROOM / np.sqrt(n))


def g_series(r: Floats) -> Floats:
    """Σ_{i≥3} (−r)^i/(i(i−1))."""
    series = np.zeros_like(r)
    for coefficient in reversed(_SERIES):
        series = coefficient - r * series
    return np.asarray(-(r * r * r) * series)


def delta(m: Floats | float) -> Floats:
    """The first two terms of Stirling's correction."""
    return np.asarray(1.0 / (12.0 * m) - 1.0 / (360.0 * m * m * m))


def exact_acceptance(trials: int, prob: float, offset: int) -> Interval:
    """a(j) from log-gamma, to more than 100 bits."""
    numerator = int(math.ldexp(prob, _PROB_BITS))
    k = ((numerator * trials + (1 << (_PROB_BITS - 1))) >> _PROB_BITS) + offset
    n, successes, failures = (Interval.from_int(v, _PRECISION) for v in (trials, k, trials - k))
    p = Interval.from_float(prob, _PRECISION)
    q = Interval.from_float(1.0, _PRECISION) - p
    log_mass = (n + 1.0).log_gamma() - (successes + 1.0).log_gamma() - (failures + 1.0).log_gamma()
    log_mass = log_mass + successes * p.log() + failures * q.log()
    normaliser = (Interval.pi(_PRECISION) * 2.0 * n * p * q).log() * 0.5
    j = Interval.from_int(offset, _PRECISION) / proposal_stddev(trials)
    room = Interval.from_float(_ROOM, _PRECISION) / n.sqrt()
    return (log_mass + normaliser + j * j * 0.5 - room).exp()
