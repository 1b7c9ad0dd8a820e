r"""What one layer's parameter contributes to each record's gradient, in the form that is cheapest to sum.

Each piece answers two questions without looking at other records: the squared norm of every record's
gradient, and the sum of the gradients weighted by factors. Both are computed in float64, so that the error
of the norm is far below the slack of `discreet.learning.float_error` and the sum is exact to 2^-53 a term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

_GRAM_RELATIVE_ERROR = 1e-12


class Piece(Protocol):
    """The gradients of one parameter, one a record."""

    def norms_squared(self) -> torch.Tensor:
        """Returns squared L2 norms, never too small by more than 2^-20, shape ``(n,)``, float64."""
        ...

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Returns Σ factor·gradient over the records, flattened, float64; ``factors`` has shape ``(n,)``."""
        ...


@dataclass(frozen=True, slots=True)
class Explicit:
    """Gradients written out, shape ``(n, ...)``."""

    gradients: torch.Tensor

    def norms_squared(self) -> torch.Tensor:
        """Sums the squares."""
        norms: torch.Tensor = torch.linalg.vector_norm(self.gradients.flatten(1), dim=1, dtype=torch.float64)
        return norms.square()

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """A vector-matrix product."""
        return factors @ self.gradients.flatten(1).double()


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
        backprops, activations = self.backprops.double(), self.activations.double()
        bound = backprops.square().sum(dim=(1, 2)) * activations.square().sum(dim=(1, 2))
        if self.backprops.shape[1] == 1:
            return bound
        gram = torch.bmm(backprops, backprops.transpose(1, 2))
        gram *= torch.bmm(activations, activations.transpose(1, 2))
        return gram.sum(dim=(1, 2)).clamp(min=0.0) + _GRAM_RELATIVE_ERROR * bound

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """One matrix product over records and positions."""
        scaled = self.backprops.double() * factors[:, None, None]
        return (scaled.flatten(0, 1).T @ self.activations.flatten(0, 1).double()).flatten()


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
        table = torch.zeros(self.rows, scaled.shape[1], dtype=torch.float64)
        return table.index_add_(0, self.indices.flatten(), scaled).flatten()
