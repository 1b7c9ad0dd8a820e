"""Long draws as a sequence of blocks, each on its own derived source, on any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from discreet.arrays import Integers
from discreet.mechanisms.scratch import Scratch
from discreet.randomness import RandomSource

# Long enough that Python's share of the time is small, short enough for the buffers to stay in cache.
BLOCK = 1 << 17

Draw = Callable[[Integers, RandomSource, Scratch], None]

_NONCE_BYTES = 16


def fill(draw: Draw, out: Integers, randomness: RandomSource, *, workers: int) -> None:
    """Calls ``draw`` for every block of ``out``; the result does not depend on ``workers``.

    A fresh nonce names the sources of this call, so that a second call with the same source differs.
    """
    nonce = randomness.random_bytes(_NONCE_BYTES)
    num_blocks = -(-len(out) // BLOCK)
    workers = max(1, min(workers, num_blocks))

    def fill_every(first: int) -> None:
        scratch = Scratch()
        for block in range(first, num_blocks, workers):
            part = out[block * BLOCK : (block + 1) * BLOCK]
            draw(part, randomness.derive("noise", nonce, block), scratch)

    if workers == 1:
        fill_every(0)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(fill_every, range(workers)))


def added(draw: Draw) -> Draw:
    """The same draw, added to what is there instead of written over it."""

    def add(part: Integers, randomness: RandomSource, scratch: Scratch) -> None:
        drawn = scratch.integers("drawn", len(part))
        draw(drawn, randomness, scratch)
        part += drawn

    return add
