"""Torch on one thread at a time, so that no number of a record depends on how work was divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import torch

from discreet.arrays import Float32s

# Vector instructions take up to 32 numbers at a time: nothing of a record is left over for another kernel.
PIECE = 32
"""Records that a kernel sees at once."""


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs torch's operations on the calling thread while the block runs, so that sums have one order.

    Torch gives threads to come the last number that any thread has set: leaving the block sets that too.
    """
    allowed = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(allowed)


def in_pieces(records: Float32s, function: Callable[[torch.Tensor], torch.Tensor]) -> Float32s:
    """Applies ``function`` to pieces of one length, the last one filled up with zeros, and joins the answers.

    Each piece is computed by one thread, several at once: a record's numbers depend on no other record and on
    no number of threads, if a kernel treats all rows of one shape alike.

    Args:
        records: shape ``(n, ...)``; for none, one piece of zeros says the shape of the answer.
        function: of a piece, row by row; no gradients are kept.
    """

    def answer(first: int) -> Float32s:
        piece = np.zeros((PIECE, *records.shape[1:]), dtype=np.float32)
        own = records[first : first + PIECE]
        piece[: len(own)] = own
        with torch.no_grad():
            return function(torch.from_numpy(piece)).numpy()[: len(own)]

    threads = torch.get_num_threads()
    with one_thread(), ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(answer, range(0, max(1, len(records)), PIECE))))
