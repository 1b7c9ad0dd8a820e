r"""Binomial draws with another success probability in every coordinate, bit plane by bit plane.

A trial succeeds if a uniform real is below p. From the most significant bit on: where the uniform's bit
differs from p's, the trial is decided; where they agree it stays open. A trial still open when p's bits have
run out fails: its uniform is not below p. Two ways to play this, both without approximating p:

  - up to 256 trials, 64 trials a word: a random word decides half of its open trials at once;
  - beyond, only counts are kept: of N open trials Bin(N, 1/2) stay open, and Bin(N, 1/2) is the sum of
    Bin(2^b, 1/2) over the bits b of N (`symmetric_binomial`). About ½ log₂²(trials) draws a coordinate.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.mechanisms.symmetric_binomial import (
    MAX_LOG_TRIALS,
    SYMMETRIC_TV,
    draw_symmetric_binomial,
)
from discreet.randomness import RandomSource

MAX_TRIALS = 1 << MAX_LOG_TRIALS

# A float64 of at least 2^-11 is a multiple of 2^-64.
MIN_PROB = 2.0**-11

_WORD = 64
_MOST_IN_WORDS = 256
_ALL_OPEN = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Coordinates at a time: the temporaries stay in a core's cache.
_CHUNK = 1 << 13
# Planes between two looks at which coordinates still have open trials.
_PLANES_A_LOOK = 4

Words = npt.NDArray[np.uint64]


def draw_binomial(
    trials: int, probs: npt.NDArray[np.float64], randomness: RandomSource
) -> npt.NDArray[np.int64]:
    """Draws one Bin(``trials``, p) for every p in ``probs``; same shape, one dimension.

    Guarantee:
        Independent, and within `binomial_tv` of their laws.

    Raises:
        ConfigurationError: if ``trials`` is not from 1 to 2^52, or a probability not from 2^-11 to 1 − 2^-11.
    """
    if not 1 <= trials <= MAX_TRIALS:
        raise ConfigurationError(f"trials must be from 1 to 2^52; got {trials}. Lower trials.")
    if len(probs) and not (probs.min() >= MIN_PROB and probs.max() <= 1.0 - MIN_PROB):
        raise ConfigurationError("every success probability must be from 2^-11 to 1 - 2^-11; one is not.")
    draw = _draw_planes if trials <= _MOST_IN_WORDS else _draw_counts
    out = np.empty(len(probs), dtype=np.int64)
    for left in range(0, len(probs), _CHUNK):
        thresholds = (probs[left : left + _CHUNK] * 2.0**_WORD).astype(np.uint64)
        out[left : left + _CHUNK] = draw(trials, thresholds, randomness)
    return out


def binomial_tv(trials: int, size: int) -> float:
    """Bounds the total variation between ``size`` draws and their laws; 0 up to 256 trials."""
    if trials <= _MOST_IN_WORDS:
        return 0.0
    return size * _WORD * trials.bit_length() * SYMMETRIC_TV


def _draw_counts(trials: int, thresholds: Words, randomness: RandomSource) -> npt.NDArray[np.int64]:
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


def _draw_halves(counts: npt.NDArray[np.int64], randomness: RandomSource) -> npt.NDArray[np.int64]:
    """One Bin(N, 1/2) for every N in ``counts``."""
    low = counts & (_WORD - 1)
    mask = (np.uint64(1) << low.astype(np.uint64)) - np.uint64(1)
    out = np.bitwise_count(randomness.words(len(counts)) & mask).astype(np.int64)
    for bit in range(_WORD.bit_length() - 1, int(counts.max()).bit_length()):
        chosen = np.flatnonzero(counts >> bit & 1)
        out[chosen] += draw_symmetric_binomial(bit, len(chosen), randomness)
    return out


def _draw_planes(trials: int, thresholds: Words, randomness: RandomSource) -> npt.NDArray[np.int64]:
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
