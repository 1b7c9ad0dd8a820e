"""Sums over no records: what a batch without usable ones, or without any, adds up to."""

from __future__ import annotations

import pytest
import torch

from discreet.learning.clipping.pieces import Explicit, Lookup, OuterSum, Piece, Reordered

FACTORS = OuterSum(torch.randn(4, 3, 2), torch.randn(4, 3, 5))
PIECES: list[tuple[Piece, int]] = [
    (Explicit(torch.randn(4, 2, 5)), 10),
    (OuterSum(torch.randn(4, 1, 2), torch.randn(4, 1, 5)), 10),
    (FACTORS, 10),
    (Reordered(FACTORS, (2, 5), (1, 0)), 10),
    (Lookup(torch.ones(4, 3, dtype=torch.int64), torch.randn(4, 3, 2), rows=7), 14),
]


@pytest.mark.parametrize("none", [slice(0, 0), torch.arange(0)], ids=["slice", "places"])
@pytest.mark.parametrize(("piece", "coordinates"), PIECES, ids=lambda value: type(value).__name__)
def test_a_sum_over_no_records_is_zero(piece: Piece, coordinates: int, none: slice | torch.Tensor) -> None:
    found = piece.of(none).weighted_sum(torch.zeros(0, dtype=torch.float64))
    assert torch.equal(found, torch.zeros(coordinates, dtype=torch.float64))
