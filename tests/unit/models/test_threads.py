"""Work in pieces: one shape, one thread, and no number of a record that another one moves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from discreet.models.threads import in_pieces


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 100])
def test_every_piece_has_one_shape_and_one_thread(count: int) -> None:
    seen = set()

    def doubled(piece: torch.Tensor) -> torch.Tensor:
        seen.add((piece.shape, torch.get_num_threads()))
        return 2.0 * piece.flatten(1)

    records = np.random.default_rng(0).random((count, 2, 3), dtype=np.float32)
    np.testing.assert_array_equal(in_pieces(records, doubled), 2.0 * records.reshape(count, 6))
    assert seen == {((32, 2, 3), 1)}
    assert torch.get_num_threads() == 2
