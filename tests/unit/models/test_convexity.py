"""The constants of the convex heads, against numerical differentiation and eigenvalues."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from discreet.errors import ConfigurationError, DataError
from discreet.kinds import BinaryLogistic, Softmax
from discreet.learning.losses import record_losses
from discreet.models import LinearHead, convexity

HEADS = [BinaryLogistic(), Softmax(2), Softmax(5)]


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_residuals_and_losses_agree_with_autograd(head: BinaryLogistic | Softmax) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=4.0, size=(7, head.outputs))
    labels = rng.integers(0, max(2, head.outputs), 7)
    tensor = torch.tensor(logits, requires_grad=True)
    losses = record_losses(tensor, torch.from_numpy(labels))
    (expected,) = torch.autograd.grad(losses.sum(), [tensor])
    found_losses, residuals = head.losses_and_residuals(logits, labels)
    np.testing.assert_allclose(residuals, expected.numpy(), atol=1e-14)
    np.testing.assert_allclose(found_losses, losses.detach().numpy(), rtol=1e-12)


@pytest.mark.parametrize("head", HEADS, ids=str)
@given(scale=st.floats(0.01, 1e4), seed=st.integers(0, 2**32 - 1))
def test_gradient_norms_never_exceed_the_lipschitz_constant(
    head: BinaryLogistic | Softmax, scale: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=scale, size=(4, head.outputs))
    _, residuals = head.losses_and_residuals(logits, rng.integers(0, max(2, head.outputs), 4))
    radius = 1.7
    assert np.linalg.norm(residuals, axis=1).max() * radius <= head.lipschitz(radius) * (1 + 1e-12)


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_hessian_eigenvalues_never_exceed_the_smoothness_and_reach_it(head: BinaryLogistic | Softmax) -> None:
    rng = np.random.default_rng(1)
    radius, largest = 1.7, 0.0
    for scale in np.geomspace(1e-3, 30.0, 300):
        logits = torch.tensor(rng.normal(scale=scale, size=(1, head.outputs)))
        if isinstance(head, Softmax):
            logits[0, 2:] -= 40.0  # two classes share the mass: the worst case
        hessian = torch.autograd.functional.hessian(  # type: ignore[no-untyped-call]
            lambda row: record_losses(row, torch.tensor([0])).sum(), logits
        ).reshape(head.outputs, head.outputs)
        largest = max(largest, float(torch.linalg.eigvalsh(hessian).max()) * radius**2)
    assert largest <= head.smoothness(radius) * (1 + 1e-9)
    assert largest >= 0.999 * head.smoothness(radius)


def test_the_constants_are_the_ones_of_the_theory() -> None:
    assert BinaryLogistic().lipschitz(2.0) == 2.0
    assert BinaryLogistic().smoothness(2.0) == 1.0
    assert Softmax(10).lipschitz(2.0) == pytest.approx(2.0 * math.sqrt(2.0))
    assert Softmax(10).smoothness(2.0) == 2.0


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan, math.inf])
def test_a_bound_that_bounds_nothing_is_refused(bound: float) -> None:
    with pytest.raises(ConfigurationError):
        BinaryLogistic().lipschitz(bound)


def test_a_label_outside_the_classes_is_refused() -> None:
    """A label of 2 would make a binary residual as large as 2, twice what L allows."""
    with pytest.raises(DataError):
        BinaryLogistic().losses_and_residuals(np.zeros((1, 1)), np.array([2]))
    with pytest.raises(DataError):
        Softmax(3).losses_and_residuals(np.zeros((1, 3)), np.array([3]))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (LinearHead(4, 1), BinaryLogistic()),
        (LinearHead(4, 3), Softmax(3)),
        (nn.Linear(4, 3, bias=False), Softmax(3)),
        (nn.Sequential(nn.Flatten(), nn.Linear(4, 3, bias=False)), Softmax(3)),
        (nn.Linear(4, 3), None),
        (nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 3, bias=False)), None),
        (nn.Sequential(nn.Tanh(), nn.Linear(4, 3, bias=False)), None),
        (nn.Sequential(nn.Flatten(0), nn.Linear(4, 3, bias=False)), None),
        (nn.Conv2d(1, 2, 3, bias=False), None),
    ],
)
def test_only_linear_heads_are_recognised(model: nn.Module, expected: object) -> None:
    assert convexity(model) == expected


def test_a_subclass_may_compute_something_else_and_is_not_recognised() -> None:
    class Squared(LinearHead):
        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return super().forward(features) ** 2

    assert convexity(Squared(4, 3)) is None
