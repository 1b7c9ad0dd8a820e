r"""How one layer moves every logit of every record, to first order: rows of the Jacobian, never summed.

A record's tangent map is *defined* by the numbers kept here, in whatever precision the network computed them:
row k of a layer is Σ_t backprop_{k,t} ⊗ activation_t. What mixes records, or a record and the local state, is
computed from these numbers in float64, and `discreet.kinds.float_error.tangent_gradient_error` bounds
its rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch.nn import functional

from discreet.learning.clipping.products import product
from discreet.learning.tangent_maps import (
    COORDINATES_PER_BLOCK,
    FactoredMap,
    LayerMap,
    WrittenOutMap,
    blocks,
)


class TangentRows(Protocol):
    """Row k of record j is the gradient of logit k by one layer's weights, or its difference from another's.

    There are n records, K rows a record, and p coordinates.
    """

    def of(self, records: slice | torch.Tensor) -> LayerMap:
        """Returns the rows of some of the records in float64, as what products are taken with."""
        ...

    def distances_squared(self) -> torch.Tensor:
        """Squared distances between each two of a record's K rows and a row of zeros, which comes last.

        They are never too small, shape ``(n, K + 1, K + 1)``, float64.
        """
        ...

    def lengths_squared(self) -> torch.Tensor:
        """Squared norms of what errors are relative to: at least the rows', ``(n, K)``, float64."""
        ...

    def along_error(self) -> float:
        """Bounds the error of `LayerMap.along`, relative to the row's length and the direction's."""
        ...

    def sum_error(self, records: int) -> float:
        """Bounds a record's share in `LayerMap.weighted_sum`'s error, relative to Σ_k |weight|·length."""
        ...


@dataclass(frozen=True, slots=True)
class WrittenOut:
    """Rows as they are, shape ``(n, K, p)``."""

    rows: torch.Tensor

    def of(self, records: slice | torch.Tensor) -> WrittenOutMap:
        """A copy."""
        return WrittenOutMap(self.rows[records].double())

    def distances_squared(self) -> torch.Tensor:
        """From the Gram matrix; its cancellation is covered by its largest possible error."""
        return _distances_squared(self.rows)

    def lengths_squared(self) -> torch.Tensor:
        """The rows' own norms."""
        return _norms_squared(self.rows)

    def along_error(self) -> float:
        """Additions in a block, and over blocks."""
        coordinates = self.rows.shape[2]
        additions = min(coordinates, COORDINATES_PER_BLOCK) + coordinates / COORDINATES_PER_BLOCK
        return _relative_error(additions, torch.float64)

    def sum_error(self, records: int) -> float:
        """Additions over records and logits."""
        return _relative_error(records * self.rows.shape[1], torch.float64)


@dataclass(frozen=True, slots=True)
class Factored:
    """Rows Σ_t backprop_t ⊗ activation_t, of a linear or convolutional layer with T positions.

    Attributes:
        backprops: shape ``(n, K, T, r)``.
        activations: shape ``(n, T, c)``.
        bias: whether r biases come after the r·c weights; they have an activation of 1.
    """

    backprops: torch.Tensor
    activations: torch.Tensor
    bias: bool = False

    def of(self, records: slice | torch.Tensor) -> FactoredMap:
        """A copy."""
        backprops, activations = self.backprops[records].flatten(2), self.activations[records].flatten(0, 1)
        return FactoredMap(backprops.double(), activations.double(), self.backprops.shape[3], self.bias)

    def distances_squared(self) -> torch.Tensor:
        """For one position a product of two norms; for several, through the activations' Gram matrix."""
        if self.backprops.shape[2] > 1:
            return self._by_positions()
        return _distances_squared(self.backprops.flatten(2)) * self._seen_squared()[:, :, None]

    def _by_positions(self) -> torch.Tensor:
        """The Gram matrix has shape ``(T, T)``; rows are never written out.

        A product of two rows is then a threefold sum of c (and 1 for biases), T and T·r terms, off by at
        most 1.01·(1 + c + T + T·r)·u times the roots of their `lengths_squared` (Higham 2002, section 3.1).
        Products that come out as zero, each off by the smallest normal number η, add at most
        η·T·r·(c + T)·(1 + b)², with b the norm of the longer backprop, in each of three inner products, one
        of them twice.
        """
        _, _, positions, outputs = self.backprops.shape
        seen, backprops = _filled_up(self.activations), _filled_up(self.backprops)
        alike = product(seen, seen.transpose(1, 2))
        mixed = product((alike + 1.0 if self.bias else alike)[:, None], backprops)
        gram = product(mixed.flatten(2), backprops.flatten(2).transpose(1, 2))
        additions = 1 + self.activations.shape[2] + positions + positions * outputs
        squared = _norms_squared(self.backprops.flatten(2))
        lengths = functional.pad(squared * self._seen_squared(), (0, 1))
        slack = 2.0 * _relative_error(additions, gram.dtype) * _pairwise_sums(lengths)
        longest = squared.amax(dim=1).sqrt()[:, None, None]
        lost = torch.finfo(gram.dtype).tiny * positions * outputs * (self.activations.shape[2] + positions)
        return _gram_distances(gram.double()) + slack + 4.0 * lost * (1.0 + longest).square()

    def lengths_squared(self) -> torch.Tensor:
        """Products of the factors' squared norms, by Cauchy and Schwarz."""
        return _norms_squared(self.backprops.flatten(2)) * self._seen_squared()

    def _seen_squared(self) -> torch.Tensor:
        """The activations' squared norm, ``(n, 1)``; a one at each position counts as an activation."""
        seen = _norms_squared(self.activations.flatten(1)[:, None])
        return (seen + self.activations.shape[1]) * (1.0 + math.ldexp(1.0, -50)) if self.bias else seen

    def along_error(self) -> float:
        """Additions over inputs, then over positions and outputs."""
        _, _, positions, outputs = self.backprops.shape
        return _relative_error(1 + self.activations.shape[2] + positions * outputs, torch.float64)

    def sum_error(self, records: int) -> float:
        """Additions over logits, then over records and positions."""
        _, logits, positions, _ = self.backprops.shape
        return _relative_error(logits + records * positions, torch.float64)


def _norms_squared(rows: torch.Tensor) -> torch.Tensor:
    """Squared norms along the last dimension, rounded upwards (Higham 2002, section 4.2), float64."""
    total = torch.zeros(rows.shape[:-1], dtype=torch.float64, device=rows.device)
    for block in blocks(rows):
        norms = torch.linalg.vector_norm(block, dim=-1).double()
        total += norms.square() * (1.0 + _relative_error(block.shape[-1], block.dtype))
    return total + 2.0 * rows.shape[-1] * torch.finfo(rows.dtype).tiny


def _distances_squared(rows: torch.Tensor) -> torch.Tensor:
    """‖row_k - row_l‖² for rows of shape ``(n, K, p)`` and one of zeros, never too small, float64.

    An inner product of p numbers is off by at most 1.01·p·u times the product of the norms (Higham 2002,
    section 3.1), and the three that make up one distance together by 2·1.01·p·u·(‖row_k‖² + ‖row_l‖²), and by
    the smallest normal number for each of the 4·p products that may have come out as zero.
    """
    distances = []
    for block in blocks(rows):
        values = _filled_up(block)
        gram = product(values, values.transpose(1, 2)).double()
        squared = functional.pad(gram.diagonal(dim1=1, dim2=2), (0, 1))
        error = 2.0 * _relative_error(block.shape[2], block.dtype)
        distances.append(_gram_distances(gram) + error * _pairwise_sums(squared))
    return torch.stack(distances).sum(dim=0) + 8.0 * rows.shape[2] * torch.finfo(rows.dtype).tiny


def _filled_up(matrices: torch.Tensor) -> torch.Tensor:
    """Fills the last dimension up with zeros to a multiple of four, unless it is one.

    Every record's numbers then begin at a multiple of 16 bytes; kernels treat other offsets differently.
    """
    across = -matrices.shape[-1] % 4
    return functional.pad(matrices, (0, across)) if across else matrices


def _gram_distances(gram: torch.Tensor) -> torch.Tensor:
    """Squared distances between K vectors whose inner products are ``(n, K, K)``, and one of zeros."""
    products = functional.pad(gram, (0, 1, 0, 1))
    return (_pairwise_sums(products.diagonal(dim1=1, dim2=2)) - 2.0 * products).clamp(min=0.0)


def _pairwise_sums(values: torch.Tensor) -> torch.Tensor:
    """Sums of each two of K numbers, ``(n, K, K)``."""
    return values[:, :, None] + values[:, None, :]


def _relative_error(additions: float, precision: torch.dtype) -> float:
    """Bounds the rounding error of a sum of short products, relative to the sum of their sizes."""
    return 1.01 * (additions + 4) * torch.finfo(precision).eps / 2.0


def upward_sqrt(squared: torch.Tensor) -> torch.Tensor:
    """Square roots of float64 upper bounds, with room for the last roundings."""
    return squared.sqrt() * (1.0 + math.ldexp(1.0, -40))
