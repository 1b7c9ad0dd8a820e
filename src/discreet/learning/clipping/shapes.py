"""The public shape in which records are computed: chunks of one length, the last one filled up with zeros.

Which kernel multiplies matrices depends on their shape, and every row's last bits depend on the kernel; a
ReLU, a largest entry or cancellation turns last bits into anything. So a shape must not depend on how many
records there are. Rows are copied into a new array of the chunk's shape, whose alignment torch chooses.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import torch
from torch import nn

from discreet.kinds.sampling import ExpectedBatch
from discreet.learning.torch_state import device_of

# A longer chunk has a smaller share of fixed costs, a shorter one keeps more of itself in the processor's
# cache; a GPU wants long batches and has no such cache.
_LONGEST = 256
_LONGEST_ON_GPU = 2048
# Vector instructions take up to 32 numbers at a time, and what is left over may take another way through a
# function: with lengths that are multiples, nothing of a record is ever left over.
_LENGTH_UNIT = 32
# What a chunk costs before its first record, in records: between 12 (cnn-tanh) and 50 (mlp).
_FIXED_COST = 32
_QUANTILES = tuple(NormalDist().inv_cdf((number + 0.5) / 8) for number in range(8))


def longest_chunk(model: nn.Module) -> int:
    """Returns the length of chunks that suits the device of ``model`` where batches are long."""
    return _LONGEST if device_of(model).type == "cpu" else _LONGEST_ON_GPU


@lru_cache(maxsize=256)
def chunk_length(expected: ExpectedBatch, longest: int) -> int:
    """Returns the length, at most ``longest``, at which batches as ``expected`` cost least, padding included.

    Example:
        >>> chunk_length(ExpectedBatch(mean=512.0), longest=256)
        256
        >>> chunk_length(ExpectedBatch(mean=20.0), longest=256)
        32
    """
    if expected.mean == math.inf:
        return longest

    batches = [expected.mean + expected.stddev * quantile for quantile in _QUANTILES]

    def cost(length: int) -> int:
        return sum(max(1, math.ceil(batch / length)) for batch in batches) * (length + _FIXED_COST)

    best: int = min([*range(_LENGTH_UNIT, longest, _LENGTH_UNIT), longest], key=cost)
    return best


def persons_of_a_chunk(length: int, width: int) -> int:
    """Returns how many persons of ``width`` rows, a power of 2, make a chunk of about ``length`` records.

    The rows of a chunk are a multiple of 32, as ``length`` is, and no more than that or one person's.

    Example:
        >>> [persons_of_a_chunk(256, width) for width in (1, 16, 256, 1024)]
        [256, 16, 1, 1]
        >>> persons_of_a_chunk(96, 2)
        48
    """
    together = max(1, _LENGTH_UNIT // width)
    return together * max(1, length // (together * width))


def chunks(records: int, length: int) -> list[slice]:
    """Cuts ``records`` into chunks of ``length``; there is one even for no records.

    That one is all padding: whatever refuses a model then refuses it in a silo without records too.

    Example:
        >>> chunks(5, 3)
        [slice(0, 3, None), slice(3, 5, None)]
    """
    return [slice(first, min(first + length, records)) for first in range(0, max(1, records), length)]


def padded(rows: torch.Tensor, length: int) -> torch.Tensor:
    """Returns a new array of ``length`` rows: a copy of ``rows``, then zeros."""
    buffer = rows.new_empty((length, *rows.shape[1:]))
    buffer[: len(rows)] = rows
    buffer[len(rows) :] = 0
    return buffer
