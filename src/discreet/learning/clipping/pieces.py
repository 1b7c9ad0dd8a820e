r"""What one layer's parameter contributes to each record's gradient, in the form that is cheapest to sum.

Each piece answers two questions without looking at other records: the squared norm of every record's
gradient, rounded upwards, and the sum of the gradients weighted by factors, in float64 (`float_error` says
what is left of rounding).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from discreet.kinds.float_error import SHORTEST_SHARE
from discreet.learning.clipping.products import add_products, weighted_rows

_COORDINATES_PER_BLOCK = 1024
# So many terms are added up at once, so that the error of a sum does not grow with the number of positions.
_TERMS_PER_SUM = 1 << 15
_NUMBERS_AT_ONCE = 1 << 20


class Piece(Protocol):
    """The gradients of one parameter, one a record."""

    def of(self, records: slice | torch.Tensor) -> Piece:
        """Returns the gradients of some of the records."""
        ...

    def of_persons(self, shares: torch.Tensor) -> Piece:
        """Returns weighted sums over each person's records; ``shares`` has shape ``(persons, records)``."""
        ...

    def norms_squared(self) -> torch.Tensor:
        """Returns squared L2 norms, never too small, shape ``(n,)``, float64."""
        ...

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Returns Σ factor·gradient over the records, flattened, float64; ``factors`` has shape ``(n,)``."""
        ...


@dataclass(frozen=True, slots=True)
class Explicit:
    """Gradients written out, shape ``(n, ...)``.

    Attributes:
        gradients: one a record, or a person.
        terms: where each was added up of a person's records, the squared sum of the lengths of these, shape
            ``(n,)``, float64; else None.
    """

    gradients: torch.Tensor
    terms: torch.Tensor | None = None

    def of(self, records: slice | torch.Tensor) -> Explicit:
        """A view, if the records are a slice."""
        return Explicit(self.gradients[records], None if self.terms is None else self.terms[records])

    def of_persons(self, shares: torch.Tensor) -> Explicit:
        """Adds a person's records up in float64."""
        gradients = self.gradients.reshape(*shares.shape, -1)
        summed = gradients.new_empty((len(shares), 1, gradients.shape[2]), dtype=torch.float64)
        lengths = torch.linalg.vector_norm(gradients, dim=2).double()
        for some in _blocks(len(shares), gradients[0].numel()):
            torch.bmm(shares[some].unsqueeze(1), gradients[some].double(), out=summed[some])
        terms = (shares * lengths).sum(dim=1).square_()
        return Explicit(summed.view(len(shares), *self.gradients.shape[1:]), terms)

    def norms_squared(self) -> torch.Tensor:
        """Sums the squares, rounded upwards."""
        found = upper_norms_squared(self.gradients.flatten(1))
        return found if self.terms is None else _not_too_short(found, self.terms, additions=_TERMS_PER_SUM)

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
    cancellation of the Gram form is covered by adding its largest possible rounding error to the norm, and
    that of the sum over positions by `SHORTEST_SHARE`.

    Attributes:
        backprops: shape ``(n, T, k)``.
        activations: shape ``(n, T, p)``.
    """

    backprops: torch.Tensor
    activations: torch.Tensor

    def of(self, records: slice | torch.Tensor) -> OuterSum:
        """Views, if the records are a slice."""
        return OuterSum(self.backprops[records], self.activations[records])

    def of_persons(self, shares: torch.Tensor) -> Piece:
        """A person's records are positions of one sequence."""
        persons, rows, columns = len(shares), self.backprops.shape[2], self.activations.shape[2]
        scaled = (self.backprops * shares.to(self.backprops.dtype).view(-1, 1, 1)).reshape(persons, -1, rows)
        activations = self.activations.reshape(persons, -1, columns)
        if factors_are_cheaper(scaled.shape[1], rows, columns):
            return OuterSum(scaled, activations)
        summed = scaled.new_empty((persons, rows, columns), dtype=torch.float64)
        for some in _blocks(persons, max(scaled[0].numel(), activations[0].numel())):
            torch.bmm(scaled[some].double().transpose(1, 2), activations[some].double(), out=summed[some])
        return Explicit(summed, _lengths_of_products(scaled, activations))

    def norms_squared(self) -> torch.Tensor:
        """The product of two norms for one position, a product of two Gram matrices for several."""
        bound = upper_norms_squared(self.backprops.flatten(1)) * upper_norms_squared(
            self.activations.flatten(1)
        )
        if self.backprops.shape[1] == 1:
            return bound
        backprops, activations = self.backprops.double(), self.activations.double()
        gram = torch.bmm(backprops, backprops.transpose(1, 2))
        gram *= torch.bmm(activations, activations.transpose(1, 2))
        positions, rows, columns = *backprops.shape[1:], activations.shape[2]
        return _not_too_short(gram.sum(dim=(1, 2)), bound, additions=rows + columns + positions**2)

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Matrix products over records and positions."""
        _, positions, rows = self.backprops.shape
        total = factors.new_zeros(rows, self.activations.shape[2])
        for part in _parts(len(factors), positions):
            scaled = self.backprops[part].double() * factors[part, None, None]
            add_products(scaled.flatten(0, 1), self.activations[part].flatten(0, 1), out=total)
        return total.flatten()


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

    def of(self, records: slice | torch.Tensor) -> Reordered:
        """The other piece's, in the same order."""
        return Reordered(self.piece.of(records), self.shape, self.order)

    def of_persons(self, shares: torch.Tensor) -> Reordered:
        """The other piece's, in the same order."""
        return Reordered(self.piece.of_persons(shares), self.shape, self.order)

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

    def of(self, records: slice | torch.Tensor) -> Lookup:
        """Views, if the records are a slice."""
        return Lookup(self.indices[records], self.backprops[records], self.rows)

    def of_persons(self, shares: torch.Tensor) -> Piece:
        """A person's records are positions of one sequence; a table smaller than Gram's is written out."""
        persons, width = len(shares), self.backprops.shape[2]
        scaled = (self.backprops * shares.to(self.backprops.dtype).view(-1, 1, 1)).reshape(persons, -1, width)
        indices = self.indices.reshape(persons, -1)
        if indices.shape[1] ** 2 <= self.rows * width:
            return Lookup(indices, scaled, self.rows)
        summed = scaled.new_zeros((persons, self.rows, width), dtype=torch.float64)
        for person in range(persons):
            summed[person].index_add_(0, indices[person], scaled[person].double())
        return Explicit(summed, torch.linalg.vector_norm(scaled, dim=2).double().sum(dim=1).square_())

    def norms_squared(self) -> torch.Tensor:
        """Positions with equal indices add up before the norm is taken, so only their products count."""
        parts = _blocks(len(self.indices), self.indices.shape[1] ** 2)
        return torch.cat([self._gram_norms_squared(part) for part in parts])

    def _gram_norms_squared(self, part: slice) -> torch.Tensor:
        backprops, indices = self.backprops[part].double(), self.indices[part]
        same = indices[:, :, None] == indices[:, None, :]
        lengths = torch.linalg.vector_norm(backprops, dim=2)
        bound = (lengths[:, :, None] * lengths[:, None, :] * same).sum(dim=(1, 2))
        gram = torch.bmm(backprops, backprops.transpose(1, 2)) * same
        return _not_too_short(gram.sum(dim=(1, 2)), bound, additions=backprops.shape[2] + same[0].numel())

    def weighted_sum(self, factors: torch.Tensor) -> torch.Tensor:
        """Adds scaled backprops row by row."""
        scaled = self.backprops.double() * factors[:, None, None]
        total = scaled.new_zeros(self.rows, scaled.shape[2])
        for part in _parts(*self.indices.shape):
            table = torch.zeros_like(total)
            total += table.index_add_(0, self.indices[part].flatten(), scaled[part].flatten(0, 1))
        return total.flatten()


def _lengths_of_products(backprops: torch.Tensor, activations: torch.Tensor) -> torch.Tensor:
    """Returns (Σ_t length of backprop_t ⊗ activation_t)², shape ``(n,)``, float64."""
    lengths = torch.linalg.vector_norm(backprops, dim=2).double()
    found: torch.Tensor = (lengths * torch.linalg.vector_norm(activations, dim=2)).sum(dim=1)
    return found.square_()


def _blocks(records: int, numbers: int) -> list[slice]:
    """Cuts records, each with so many numbers, into blocks that take little memory in float64."""
    step = max(1, _NUMBERS_AT_ONCE // numbers)
    return [slice(first, first + step) for first in range(0, records, step)]


def _parts(records: int, positions: int) -> list[slice]:
    """Cuts records into parts of at most `_TERMS_PER_SUM` positions, or one record."""
    step = max(1, _TERMS_PER_SUM // positions)
    return [slice(first, first + step) for first in range(0, records, step)]


def _not_too_short(squared: torch.Tensor, bound: torch.Tensor, *, additions: int) -> torch.Tensor:
    """Squared norms from Gram matrices, rounded upwards; see `SHORTEST_SHARE`.

    Args:
        squared: the sums of products, shape ``(n,)``, float64.
        bound: squared sums of the terms' lengths, at least, shape ``(n,)``.
        additions: how many numbers a sum of products has, at most (Higham 2002, section 3.1).
    """
    error = 1.01 * (additions + 8) * torch.finfo(torch.float64).eps
    return torch.maximum(squared, SHORTEST_SHARE**2 * bound) + error * bound


def upper_norms_squared(flat: torch.Tensor) -> torch.Tensor:
    """Squared norms of the rows in their own precision, plus the largest possible rounding error; float64.

    All terms are positive, so a sum of d of them is off by at most a relative 1.01·(d + 4)·u in any order
    (Higham 2002, section 4.2); a block of coordinates is short enough for that to be small. A square below
    the smallest normal number may come out as zero, which the last term makes good.
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
    length, precision = rows.shape[-1], torch.finfo(rows.dtype)
    relative = 1.0 + 1.01 * (length + 4) * precision.eps / 2.0
    return norms.square_().mul_(relative).add_(2.0 * length * precision.tiny)
