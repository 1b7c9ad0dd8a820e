"""How the logits of some records move with one layer's weights: a matrix and its transpose, in float64.

The numbers are those of `discreet.learning.tangent_rows`, once converted and laid out so that a product takes
few calls: local steps may have a handful of records, whose calls cost more than their multiplications.
`TangentRows.along_error` and `TangentRows.sum_error` bound the rounding, in whichever order sums are taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch

COORDINATES_PER_BLOCK = 4096


class LayerMap(Protocol):
    """Rows of n records, K a record, of p coordinates."""

    def along(self, direction: torch.Tensor) -> torch.Tensor:
        """Inner products of the rows with ``direction``, shape ``(p,)``: ``(n, K)``, float64."""
        ...

    def weighted_sum(self, weights: torch.Tensor) -> Iterator[torch.Tensor]:
        """Σ weight·row over records and logits, float64, as vectors one after the other.

        Args:
            weights: shape ``(n, 1, K)``.
        """
        ...


@dataclass(frozen=True, slots=True)
class WrittenOutMap:
    """Rows as they are, shape ``(n, K, p)``, float64."""

    rows: torch.Tensor

    def along(self, direction: torch.Tensor) -> torch.Tensor:
        """Block by block, so that rounding errors do not grow with the number of weights."""
        first, *others = zip(blocks(self.rows), blocks(direction), strict=True)
        total = first[0] @ first[1]
        for rows, part in others:
            total += rows @ part
        return total

    def weighted_sum(self, weights: torch.Tensor) -> Iterator[torch.Tensor]:
        """A vector-matrix product."""
        flat = weights.flatten()
        for block in blocks(self.rows):
            yield flat @ block.flatten(0, 1)


@dataclass(frozen=True, slots=True)
class FactoredMap:
    """Rows Σ_t backprop_t ⊗ activation_t, of a layer with T positions.

    Attributes:
        backprops: shape ``(n, K, T·r)``, float64.
        activations: shape ``(n·T, c)``, float64.
        outputs: r.
        bias: whether r biases come after the r·c weights; they have an activation of 1.
    """

    backprops: torch.Tensor
    activations: torch.Tensor
    outputs: int
    bias: bool

    def along(self, direction: torch.Tensor) -> torch.Tensor:
        """Applies the direction to the activations, then compares with the backprops.

        The weights come first and the backprops last: other orders of these products take up to four times as
        long, with MKL and as few outputs.
        """
        seen, size = self.activations.T, self.outputs * self.activations.shape[1]
        weights = direction[:size].view(self.outputs, -1)
        moved = torch.addmm(direction[size:, None], weights, seen) if self.bias else weights @ seen
        by_record = moved.T.reshape(len(self.backprops), 1, self.backprops.shape[2])
        return torch.bmm(by_record, self.backprops.transpose(1, 2))[:, 0]

    def weighted_sum(self, weights: torch.Tensor) -> Iterator[torch.Tensor]:
        """Mixes the backprops of each record's logits, then one product over records and positions."""
        mixed = torch.bmm(weights, self.backprops).view(-1, self.outputs)
        yield (mixed.T @ self.activations).flatten()
        if self.bias:
            yield mixed.sum(dim=0)


def blocks(rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Cuts the last dimension into blocks of `COORDINATES_PER_BLOCK`."""
    return (
        (rows,)
        if rows.shape[-1] <= COORDINATES_PER_BLOCK
        else torch.split(rows, COORDINATES_PER_BLOCK, dim=-1)
    )
