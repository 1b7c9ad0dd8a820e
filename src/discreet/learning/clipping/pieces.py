r"""What one layer's parameter contributes to each record's gradient, in the form that is cheapest to sum.

Each piece answers two questions without looking at other records: the squared norm of every record's
gradient, rounded upwards, and the sum of the gradients weighted by factors, in float64 (`float_error` says
what is left of rounding).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from discreet.learning.clipping.products import weighted_rows

_GRAM_RELATIVE_ERROR = 1e-12
_COORDINATES_PER_BLOCK = 1024


class Piece(Protocol):
    """The gradients of one parameter, one a record."""

    def norms_squared(self) -> torch.Tensor:
        """Returns squared L2 norms, never too small, shape ``(n,)``, float64."""
        ...

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Returns Σ factor·gradient over the records, flattened, float64; ``factors`` has shape ``(n,)``."""
        ...


@dataclass(frozen=True, slots=True)
class Explicit:
    """Gradients written out, shape ``(n, ...)``."""

    gradients: torch.Tensor

    def norms_squared(self) -> torch.Tensor:
        """Sums the squares, rounded upwards."""
        return _norms_squared(self.gradients.flatten(1))

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """A vector-matrix product."""
        return weighted_rows(self.gradients.flatten(1), factors)


def factors_are_cheaper(positions: int, rows: int, columns: int) -> bool:
    """Says whether `OuterSum` takes fewer multiplications than writing out gradients of rows x columns."""
    return positions == 1 or 2 * positions * (rows + columns) < rows * columns


@dataclass(frozen=True, slots=True)
class OuterSum:
    """Gradients Σ_t backprop_t ⊗ activation_t, kept as factors (the "ghost" form).

    Goodfellow (2015) for one position; Li, Tramèr, Liang, Hashimoto (2022), section 4, for several. The
    cancellation of the Gram form is covered by adding its largest possible rounding error to the norm.

    Attributes:
        backprops: shape ``(n, T, k)``.
        activations: shape ``(n, T, p)``.
    """

    backprops: torch.Tensor
    activations: torch.Tensor

    def norms_squared(self) -> torch.Tensor:
        """The product of two norms for one position, a product of two Gram matrices for several."""
        bound = _norms_squared(self.backprops.flatten(1)) * _norms_squared(self.activations.flatten(1))
        if self.backprops.shape[1] == 1:
            return bound
        backprops, activations = self.backprops.double(), self.activations.double()
        gram = torch.bmm(backprops, backprops.transpose(1, 2))
        gram *= torch.bmm(activations, activations.transpose(1, 2))
        return gram.sum(dim=(1, 2)).clamp(min=0.0) + _GRAM_RELATIVE_ERROR * bound

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """One matrix product over records and positions."""
        scaled = self.backprops.double() * factors[:, None, None]
        return (scaled.flatten(0, 1).T @ self.activations.flatten(0, 1).double()).flatten()


@dataclass(frozen=True, slots=True)
class Reordered:
    """Another piece whose gradients have their coordinates in another order than the parameter.

    Attributes:
        piece: the gradients, each flattened from ``shape``.
        shape: the order in which ``piece`` was computed.
        order: permutation of the dimensions of ``shape`` that gives the parameter's own order.
    """

    piece: Piece
    shape: tuple[int, ...]
    order: tuple[int, ...]

    def norms_squared(self) -> torch.Tensor:
        """A norm does not depend on the order."""
        return self.piece.norms_squared()

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Only the sum is put in order, never the gradients themselves."""
        return self.piece.weighted_sum(factors).view(self.shape).permute(self.order).flatten()


@dataclass(frozen=True, slots=True)
class Lookup:
    """Gradients of an embedding table: position t adds backprop_t to row index_t.

    Attributes:
        indices: shape ``(n, T)``.
        backprops: shape ``(n, T, k)``, zero where the index is the padding index.
        rows: number of rows of the table.
    """

    indices: torch.Tensor
    backprops: torch.Tensor
    rows: int

    def norms_squared(self) -> torch.Tensor:
        """Positions with equal indices add up before the norm is taken, so only their products count."""
        backprops = self.backprops.double()
        same = self.indices[:, :, None] == self.indices[:, None, :]
        gram = torch.bmm(backprops, backprops.transpose(1, 2)) * same
        bound = backprops.square().sum(dim=(1, 2)) * self.indices.shape[1]
        return gram.sum(dim=(1, 2)).clamp(min=0.0) + _GRAM_RELATIVE_ERROR * bound

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Adds scaled backprops row by row."""
        scaled = (self.backprops.double() * factors[:, None, None]).flatten(0, 1)
        table = torch.zeros(self.rows, scaled.shape[1], dtype=torch.float64, device=scaled.device)
        return table.index_add_(0, self.indices.flatten(), scaled).flatten()


def _norms_squared(flat: torch.Tensor) -> torch.Tensor:
    """Squared norms of the rows in their own precision, plus the largest possible rounding error; float64.

    All terms are positive, so a sum of d of them is off by at most a relative 1.01·(d + 4)·u in any order
    (Higham 2002, section 4.2); a block of coordinates is short enough for that to be small.
    """
    records, length = flat.shape
    blocks, left = divmod(length, _COORDINATES_PER_BLOCK)
    if blocks == 0:
        return _squares(flat)
    found = _squares(flat[:, : length - left].view(records, blocks, -1)).sum(dim=1)
    return found + _squares(flat[:, length - left :]) if left > 0 else found


def _squares(rows: torch.Tensor) -> torch.Tensor:
    """Squared norms over the last dimension."""
    norms: torch.Tensor = torch.linalg.vector_norm(rows, dim=-1).double()
    return norms.square_() * (1.0 + 1.01 * (rows.shape[-1] + 4) * torch.finfo(rows.dtype).eps / 2.0)
