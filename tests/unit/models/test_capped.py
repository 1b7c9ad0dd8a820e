"""The capped loss: convex, and its constants, against numerical differentiation and planted extremes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.kinds import BinaryLogistic, Capped, ConvexHead, Ordinal, Softmax
from discreet.kinds.capped import capped
from discreet.kinds.weighted import linear_head_of

HEADS = [
    Capped(BinaryLogistic(), 0.4),
    Capped(Softmax(2), 0.5),
    Capped(Softmax(5), 0.3),
    Capped(Ordinal(4), 0.4),
]


def rows_of(head: Capped, seed: int, scale: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=scale, size=(40, head.outputs))
    return logits, rng.integers(0, max(2, head.outputs), 40)


@pytest.mark.parametrize("head", HEADS, ids=str)
@pytest.mark.parametrize("scale", [0.1, 2.0, 20.0])
def test_residuals_are_the_derivative_of_the_losses(head: Capped, scale: float) -> None:
    logits, labels = rows_of(head, 1, scale)
    _, residuals = head.losses_and_residuals(logits.copy(), labels)
    step = 1e-6
    for output in range(head.outputs):
        shift = np.zeros(head.outputs)
        shift[output] = step
        above, _ = head.losses_and_residuals(logits + shift, labels)
        below, _ = head.losses_and_residuals(logits - shift, labels)
        np.testing.assert_allclose(residuals[:, output], (above - below) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("head", [Capped(Softmax(2), 0.35), Capped(Softmax(5), 0.15)], ids=str)
def test_what_a_score_stands_for_where_the_mean_loss_is_smallest(head: Capped) -> None:
    """docs/theory/steps.md: class k has p_k·max(1, (1 - p_k)/c), scaled to sum to 1."""
    logits, _ = rows_of(head, 3, 3.0)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    meant = shares * np.maximum(1.0, (1.0 - shares) / head.cap)
    meant /= meant.sum(axis=1, keepdims=True)
    of_class = [
        head.losses_and_residuals(logits.copy(), np.full(len(logits), label))[1]
        for label in range(head.outputs)
    ]
    pull = sum(meant[:, [label]] * residuals for label, residuals in enumerate(of_class))
    np.testing.assert_allclose(pull, 0.0, atol=1e-12)
    assert np.abs(meant - shares).max() > 0.1


@pytest.mark.parametrize("head", HEADS, ids=str)
@given(scale=st.floats(0.01, 100.0), seed=st.integers(0, 2**32 - 1))
def test_every_chord_lies_above_the_loss(head: Capped, scale: float, seed: int) -> None:
    first, labels = rows_of(head, seed, scale)
    second, _ = rows_of(head, seed + 1, scale)
    ends = [head.losses_and_residuals(point.copy(), labels)[0] for point in (first, second)]
    middle, _ = head.losses_and_residuals((first + second) / 2, labels)
    assert np.all(middle <= (ends[0] + ends[1]) / 2 + 1e-12 * (1 + scale))


@pytest.mark.parametrize("head", HEADS, ids=str)
@given(scale=st.floats(0.01, 100.0), seed=st.integers(0, 2**32 - 1))
def test_gradients_are_as_short_and_as_smooth_as_claimed(head: Capped, scale: float, seed: int) -> None:
    first, labels = rows_of(head, seed, scale)
    second = first + np.random.default_rng(seed).normal(scale=scale / 10, size=first.shape)
    near, far = (head.losses_and_residuals(point.copy(), labels)[1] for point in (first, second))
    assert np.linalg.norm(near, axis=1).max() <= head.lipschitz(1.0) * (1 + 1e-12)
    moved = np.linalg.norm(second - first, axis=1)
    assert np.all(np.linalg.norm(far - near, axis=1) <= head.smoothness(1.0) * moved + 1e-12)


@pytest.mark.parametrize(
    ("head", "logits"),
    [
        (HEADS[0], [[50.0]]),
        (HEADS[1], [[0.0, 50.0]]),
        (HEADS[2], [[0.0, 50, 0, 0, 0]]),
        (HEADS[3], [[50.0, 0, 0, 0]]),
    ],
)
def test_a_confidently_wrong_record_reaches_the_lipschitz_constant(
    head: Capped, logits: list[list[float]]
) -> None:
    _, residuals = head.losses_and_residuals(np.array(logits), np.array([0]))
    assert math.isclose(float(np.linalg.norm(residuals)), head.lipschitz(1.0), rel_tol=1e-12)


def test_a_well_predicted_record_has_the_head_s_own_loss() -> None:
    logits, labels = np.array([[3.0, 0.0, 0.0]]), np.array([0])
    for ours, own in zip(
        Capped(Softmax(3), 0.5).losses_and_residuals(logits.copy(), labels),
        Softmax(3).losses_and_residuals(logits.copy(), labels),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, own)


def test_a_capped_residual_keeps_the_other_classes_shares() -> None:
    """Logits log 1, log 2, log 5 for class 0: p = 1/8, so (-7, 2, 5)/8 becomes (-7, 2, 5)/14."""
    logits = np.log([[1.0, 2.0, 5.0]])
    _, residuals = Capped(Softmax(3), 0.5).losses_and_residuals(logits, np.array([0]))
    np.testing.assert_allclose(residuals, [[-7 / 14, 2 / 14, 5 / 14]], rtol=1e-14)


def test_no_record_has_no_residual() -> None:
    losses, residuals = HEADS[2].losses_and_residuals(np.empty((0, 5)), np.empty(0, np.int64))
    assert losses.shape == (0,)
    assert residuals.shape == (0, 5)


def test_a_cap_of_one_caps_nothing_and_the_head_is_found_again() -> None:
    head: ConvexHead = Softmax(3)
    assert capped(head, 1.0) == head
    assert linear_head_of(head) == head
    assert linear_head_of(capped(head, 0.5)) == head


@pytest.mark.parametrize("cap", [0.0, 1.0, -0.5, math.nan])
def test_a_cap_outside_the_unit_interval_is_refused(cap: float) -> None:
    with pytest.raises(ConfigurationError, match=r"inside \(0, 1\)"):
        Capped(Softmax(3), cap)
