"""Long draws as a sequence of blocks, each on its own derived source, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from discreet.randomness import RandomSource

# Long enough that Python's share of the time is small, short enough for the temporaries to stay in cache.
BLOCK = 1 << 16

Draw = Callable[[int, RandomSource], npt.NDArray[np.int64]]

_NONCE_BYTES = 16


def fill(draw: Draw, size: int, randomness: RandomSource, *, workers: int) -> npt.NDArray[np.int64]:
    """Calls ``draw`` block by block; the result does not depend on ``workers``; shape ``(size,)``.

    A fresh nonce names the sources of this call, so that a second call with the same source differs.
    """
    nonce = randomness.random_bytes(_NONCE_BYTES)
    out = np.empty(size, dtype=np.int64)

    def fill_block(start: int) -> None:
        stop = min(start + BLOCK, size)
        out[start:stop] = draw(stop - start, randomness.derive("noise", nonce, start // BLOCK))

    starts = range(0, size, BLOCK)
    if workers == 1 or len(starts) < 2:
        for start in starts:
            fill_block(start)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(fill_block, starts))
    return out
