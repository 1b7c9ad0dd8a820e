"""Chunks of a public shape: their length depends on public numbers, their padding on nothing."""

from __future__ import annotations

import pytest
import torch

from discreet.kinds import UNKNOWN_BATCH, ExpectedBatch
from discreet.learning.clipping.shapes import chunk_length, chunks, padded


@pytest.mark.parametrize(("records", "count"), [(0, 1), (1, 1), (63, 1), (64, 1), (65, 2), (520, 9)])
def test_chunks_cover_the_batch_once_and_none_is_longer_than_the_shape(records: int, count: int) -> None:
    found = chunks(records, 64)
    assert [index for part in found for index in range(records)[part]] == list(range(records))
    assert len(found) == count
    assert all(part.stop - part.start == 64 for part in found[:-1])
    assert found[-1].stop - found[-1].start <= 64


@pytest.mark.parametrize("mean", [1.0, 5.0, 20.0, 64.0, 100.0, 300.0, 520.0, 1000.0, 5600.0])
@pytest.mark.parametrize("sampled", [False, True])
def test_padding_is_small_for_the_expected_batch(mean: float, sampled: bool) -> None:
    length = chunk_length(ExpectedBatch(mean, mean**0.5 if sampled else 0.0), 256)
    assert length <= 256
    computed = len(chunks(int(mean), length)) * length
    if not sampled:
        assert computed <= max(32.0, 1.35 * mean)
    assert computed <= max(48.0, 1.7 * mean)


def test_without_a_guess_chunks_are_as_long_as_they_may_be() -> None:
    assert chunk_length(UNKNOWN_BATCH, 256) == 256
    assert chunk_length(UNKNOWN_BATCH, 10) == 10


@pytest.mark.parametrize("count", [0, 1, 7])
def test_padding_is_zero_and_the_array_is_new(count: int) -> None:
    rows = torch.randn(9, 3)[:count]
    found = padded(rows, 7)
    assert found.shape == (7, 3)
    assert torch.equal(found[:count], rows)
    assert not found[count:].any()
    assert found.data_ptr() != rows.data_ptr()
    assert found.data_ptr() % 64 == 0
