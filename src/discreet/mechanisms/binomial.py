r"""Binomial draws with another success probability in every coordinate, bit plane by bit plane.

A trial succeeds if a uniform real is below p. From the most significant bit on: where the uniform's bit
differs from p's, the trial is decided; where they agree it stays open. A trial still open when p's bits have
run out fails: its uniform is not below p. Two ways to play this, and one for very many trials, all without
approximating p:

  - up to 256 trials, 64 trials a word: a random word decides half of its open trials at once;
  - beyond, only counts are kept: of N open trials Bin(N, 1/2) stay open, and Bin(N, 1/2) is the sum of
    Bin(2^b, 1/2) over the bits b of N (`symmetric_binomial`). About ½ log₂²(trials) draws a coordinate;
  - from 2^22 trials on, and for p from 1/4 to 3/4, one draw is thinned from a discrete Gaussian
    (`wide_binomial`).
"""

from __future__ import annotations

import numpy as np

from discreet.errors import ConfigurationError
from discreet.mechanisms import wide_binomial
from discreet.mechanisms.scratch import Floats, Integers, Words
from discreet.mechanisms.symmetric_binomial import SYMMETRIC_TV, draw_symmetric_binomial
from discreet.mechanisms.wide_binomial import MAX_TRIALS, WIDE_TV, draw_wide_binomial
from discreet.randomness import RandomSource

MAX_MAGNITUDE = 2.0**61

# A float64 of at least 2^-11 is a multiple of 2^-64.
MIN_PROB = 2.0**-11

_WORD = 64
_MOST_IN_WORDS = 256
_ALL_OPEN = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Coordinates at a time: the temporaries stay in a core's cache.
_CHUNK = 1 << 13
# Planes between two looks at which coordinates still have open trials.
_PLANES_A_LOOK = 4


def draw_binomial(trials: int, probs: Floats, randomness: RandomSource) -> Integers:
    """Draws one Bin(``trials``, p) − ⌊``trials``/2⌋ for every p in ``probs``; same shape, one dimension.

    Guarantee:
        Independent, and within `binomial_tv` of their laws.

    Raises:
        ConfigurationError: if ``trials`` is not from 1 to 2^82; if a probability is not from 2^-11 to
            1 − 2^-11 (from 1/4 to 3/4 for 2^22 trials or more); or if a mean is 2^61 or more.
    """
    check_trials(trials)
    wide = trials >= wide_binomial.MIN_TRIALS
    least = wide_binomial.MIN_PROB if wide else MIN_PROB
    if len(probs) and not (probs.min() >= least and probs.max() <= 1.0 - least):
        raise ConfigurationError(
            f"every success probability of {trials} trials must be from {least} to {1.0 - least}; "
            "one is not. Lower the bias."
        )
    check_magnitude(trials, float(np.abs(probs - 0.5).max(initial=0.0)))
    return draw_wide_binomial(trials, probs, randomness) if wide else _draw_chunks(trials, probs, randomness)


def check_trials(trials: int) -> None:
    """Refuses a number of trials outside the samplers' domain."""
    if not 1 <= trials <= MAX_TRIALS:
        raise ConfigurationError(f"trials must be from 1 to 2^82; got {trials}. Lower trials.")


def check_magnitude(trials: int, bias: float) -> None:
    """Refuses centred draws that could leave 62 bits; ``bias`` is how far p is from 1/2."""
    if not trials * bias < MAX_MAGNITUDE:
        raise ConfigurationError(
            f"trials * bias must be below 2^61, for messages of at most 62 bits; got {trials} * {bias}. "
            "Lower the bias or trials."
        )


def _draw_chunks(trials: int, probs: Floats, randomness: RandomSource) -> Integers:
    """One centred binomial per probability, some at a time."""
    draw = _draw_planes if trials <= _MOST_IN_WORDS else _draw_counts
    out = np.empty(len(probs), dtype=np.int64)
    for left in range(0, len(probs), _CHUNK):
        thresholds = (probs[left : left + _CHUNK] * 2.0**_WORD).astype(np.uint64)
        out[left : left + _CHUNK] = draw(trials, thresholds, randomness)
    out -= trials // 2
    return out


def binomial_tv(trials: int, size: int) -> float:
    """Bounds the total variation between ``size`` draws and their laws; 0 up to 256 trials."""
    if trials <= _MOST_IN_WORDS:
        return 0.0
    if trials >= wide_binomial.MIN_TRIALS:
        return size * WIDE_TV
    return size * _WORD * trials.bit_length() * SYMMETRIC_TV


def _draw_counts(trials: int, thresholds: Words, randomness: RandomSource) -> Integers:
    """One binomial per threshold, keeping the number of open trials only."""
    successes = np.zeros(len(thresholds), dtype=np.int64)
    where, rest = np.arange(len(thresholds)), thresholds
    still_open = np.full(len(thresholds), trials, dtype=np.int64)
    while len(where):
        staying = _draw_halves(still_open, randomness)
        successes[where] += np.where(rest >> np.uint64(63) != 0, still_open - staying, 0)
        rest = rest << np.uint64(1)
        # With no bits of p left, the open trials fail.
        alive = (staying != 0) & (rest != 0)
        where, still_open, rest = where[alive], staying[alive], rest[alive]
    return successes


def _draw_halves(counts: Integers, randomness: RandomSource) -> Integers:
    """One Bin(N, 1/2) for every N in ``counts``."""
    low = counts & (_WORD - 1)
    mask = (np.uint64(1) << low.astype(np.uint64)) - np.uint64(1)
    out = np.bitwise_count(randomness.words(len(counts)) & mask).astype(np.int64)
    for bit in range(_WORD.bit_length() - 1, int(counts.max()).bit_length()):
        chosen = np.flatnonzero(counts >> bit & 1)
        out[chosen] += draw_symmetric_binomial(bit, len(chosen), randomness)
    return out


def _draw_planes(trials: int, thresholds: Words, randomness: RandomSource) -> Integers:
    """One binomial per threshold, 64 trials a word."""
    out = np.zeros(len(thresholds), dtype=np.int64)
    for start in range(0, trials, _WORD):
        open_trials = _ALL_OPEN >> np.uint64(max(0, start + _WORD - trials))
        out += np.bitwise_count(_successes(thresholds, open_trials, randomness))
    return out


def _successes(thresholds: Words, open_trials: np.uint64, randomness: RandomSource) -> Words:
    """One word of trials per coordinate; set bits are successes."""
    successes = np.zeros(len(thresholds), dtype=np.uint64)
    where = np.arange(len(thresholds))
    still_open = np.full(len(thresholds), open_trials)
    rest = thresholds.copy()
    while len(where):
        found = np.zeros(len(where), dtype=np.uint64)
        for _ in range(_PLANES_A_LOOK):
            uniform = randomness.words(len(where))
            ones = np.where(rest >> np.uint64(63) != 0, _ALL_OPEN, np.uint64(0))
            found |= still_open & ones & ~uniform
            still_open &= ~(uniform ^ ones)
            rest <<= np.uint64(1)
        successes[where] |= found
        # With no bits of p left, the open trials fail.
        alive = (still_open != 0) & (rest != 0)
        where, still_open, rest = where[alive], still_open[alive], rest[alive]
    return successes
