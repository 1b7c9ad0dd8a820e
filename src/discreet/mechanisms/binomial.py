r"""Exact binomial draws with another success probability in every coordinate, 64 trials a word.

A trial succeeds if a uniform real is below p. Bit plane by bit plane, from the most significant: where the
uniform's bit differs from p's, the trial is decided; where they agree it stays open. One random word serves
64 trials of one coordinate at once, and after j planes only 2^-j of the trials are open. A trial still open
when p's bits have run out fails: its uniform is not below p. Nothing is approximated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource

MAX_TRIALS = 1 << 16

# A float64 of at least 2^-11 is a multiple of 2^-64.
MIN_PROB = 2.0**-11

_WORD = 64
_ALL_OPEN = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
# Coordinates at a time: the temporaries stay in a core's cache.
_CHUNK = 1 << 13
# Planes between two looks at which coordinates still have open trials.
_PLANES_A_LOOK = 4

Words = npt.NDArray[np.uint64]


def draw_binomial(
    trials: int, probs: npt.NDArray[np.float64], randomness: RandomSource
) -> npt.NDArray[np.int64]:
    """Draws one Bin(``trials``, p) for every p in ``probs``, exactly; same shape, one dimension.

    Raises:
        ConfigurationError: if ``trials`` is not from 1 to 2^16, or a probability not from 2^-11 to 1 − 2^-11.
    """
    if not 1 <= trials <= MAX_TRIALS:
        raise ConfigurationError(f"trials must be from 1 to {MAX_TRIALS}; got {trials}. Lower trials.")
    if len(probs) and not (probs.min() >= MIN_PROB and probs.max() <= 1.0 - MIN_PROB):
        raise ConfigurationError("every success probability must be from 2^-11 to 1 - 2^-11; one is not.")
    out = np.zeros(len(probs), dtype=np.int64)
    for left in range(0, len(probs), _CHUNK):
        thresholds = (probs[left : left + _CHUNK] * 2.0**_WORD).astype(np.uint64)
        for start in range(0, trials, _WORD):
            open_trials = _ALL_OPEN >> np.uint64(max(0, start + _WORD - trials))
            out[left : left + _CHUNK] += np.bitwise_count(_successes(thresholds, open_trials, randomness))
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
