"""Stacks of small matrix products, and copies and sums for them, by whichever library is fastest."""

from __future__ import annotations

import numpy as np
import torch

_VALUES_PER_TEMPORARY = 1 << 18
_VALUES_IN_CACHE = 1 << 16


def multiply(left: torch.Tensor, right: torch.Tensor, *, out: torch.Tensor) -> None:
    """Writes the products of two stacks of matrices to ``out``, which may be any view.

    On a processor numpy multiplies matrix by matrix, whose bits then depend on no other one; for stacks of
    small matrices that also takes half the time of torch's product.
    """
    if _suits_numpy(out):
        with np.errstate(all="ignore"):
            np.matmul(left.numpy(), right.numpy(), out=out.numpy())
    else:
        out.copy_(left @ right)


def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Returns what `multiply` writes, of equal dimensions; those of length 1 are as long as need be."""
    stacks = map(max, left.shape[:-2], right.shape[:-2])
    out = left.new_empty(*stacks, left.shape[-2], right.shape[-1])
    multiply(left, right, out=out)
    return out


def copied(view: torch.Tensor) -> torch.Tensor:
    """Returns a contiguous copy; numpy's loop over many short rows takes half the time of torch's."""
    return torch.from_numpy(view.numpy().copy()) if _suits_numpy(view) else view.contiguous()


def weighted_rows(rows: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """Returns Σ factor·row, float64: a few rows at a time, as large temporaries cost more than the product.

    Args:
        rows: shape ``(n, d)``.
        factors: shape ``(n,)``, float64.
    """
    step = max(1, _VALUES_PER_TEMPORARY // rows.shape[1])
    parts = [slice(first, first + step) for first in range(0, len(rows), step)]
    total = rows.new_zeros(rows.shape[1], dtype=torch.float64)
    if not _suits_numpy(rows):
        for part in parts:
            total.addmv_(rows[part].double().T, factors[part])
        return total
    summed, values, weights = total.numpy(), rows.numpy(), factors.numpy()  # a fifth faster
    for part in parts:
        summed += weights[part] @ values[part].astype(np.float64)
    return total


def add_products(left: torch.Tensor, right: torch.Tensor, *, out: torch.Tensor) -> None:
    """Adds Σ left ⊗ right over the rows to ``out``, in float64: a few rows at a time.

    Args:
        left: shape ``(n, k)``, float64.
        right: shape ``(n, p)``.
        out: shape ``(k, p)``, float64.
    """
    step = max(1, _VALUES_IN_CACHE // right.shape[1])
    for first in range(0, len(left), step):
        some = slice(first, first + step)
        out.addmm_(left[some].T, right[some].double())


def _suits_numpy(tensor: torch.Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.dtype in (torch.float32, torch.float64)
