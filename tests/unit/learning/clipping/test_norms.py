"""Norms of gradients in their own precision: never too small, hardly too large."""

from __future__ import annotations

import pytest
import torch

from discreet.learning.clipping.pieces import Explicit

LENGTHS = [1, 1000, 1024, 1025, 5000, 8192]


@pytest.mark.parametrize("length", LENGTHS)
def test_squared_norms_are_rounded_upwards(length: int) -> None:
    torch.manual_seed(length)
    gradients = torch.randn(50, length) * torch.logspace(-4, 4, 50)[:, None]
    exact = gradients.double().square().sum(dim=1)
    found = Explicit(gradients).norms_squared()
    assert found.dtype == torch.float64
    assert bool((found >= exact).all())
    assert bool((found <= exact * (1.0 + 1e-4)).all())


def test_the_rows_of_a_larger_array_have_the_same_norms() -> None:
    gradients = torch.randn(50, 4000)
    assert torch.equal(
        Explicit(gradients[:, :3000]).norms_squared(), Explicit(gradients[:, :3000].clone()).norms_squared()
    )
