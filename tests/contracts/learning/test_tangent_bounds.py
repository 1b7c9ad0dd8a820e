"""What tangent-steps take for upper bounds, compared with extended precision on rows hard to bound."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest
import torch

from discreet.errors import ConfigurationError
from discreet.kinds import BinaryLogistic, MultiLabel, Ordinal, Softmax, TangentSteps
from discreet.kinds.capped import Capped
from discreet.kinds.huber import Huber
from discreet.kinds.stated_loss import StatedLoss
from discreet.kinds.weighted import ConvexLoss, Weighted
from discreet.learning.tangent_model import TangentModel
from discreet.learning.tangent_rows import Factored, TangentRows, WrittenOut

Extended = npt.NDArray[np.longdouble]

RECORDS = 16
SCALES = (1e-42, 1e-38, 1e-30, 1e-20, 1e-15, 1e-10, 1e-5, 1.0, 1.0, 1e5, 1e10, 1e18)
ROUNDOFF = 2.0**-53
MANY = 2048


def drawn(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Float32 numbers, each record's of a size and a pattern of its own."""
    each = (shape[0], *(1,) * (len(shape) - 1))
    scale, normal = rng.choice(SCALES, size=each), rng.normal(size=shape)
    patterns = (
        normal,
        np.abs(normal),
        normal * rng.binomial(1, 0.2, shape),
        normal * rng.choice([1e-10, 1.0, 1e8], shape),
        1.0 + 1e-7 * normal,
        np.where(np.arange(shape[-1]) == 0, 1e6, 1.0) * normal,
    )
    values = scale * np.choose(rng.integers(len(patterns), size=each), patterns)
    with np.errstate(over="ignore", under="ignore"):
        return torch.from_numpy(values.astype(np.float32))


def layer(rng: np.random.Generator, logits: int) -> WrittenOut | Factored:
    """Some rows: written out or factored, of positions that cancel, repeat or hardly differ."""
    positions, outputs, inputs = int(rng.choice([1, 2, 3, 9])), *rng.integers(1, 7, 2)
    if rng.random() < 0.3:
        return WrittenOut(drawn(rng, RECORDS, logits, outputs * inputs))
    backprops = drawn(rng, RECORDS, logits, positions, outputs)
    activations = drawn(rng, RECORDS, positions, inputs)
    if positions > 1 and rng.random() < 0.3:
        backprops[:, :, 1] = -backprops[:, :, 0] * (1.0 + rng.choice([0.0, 1e-7]))
    if positions > 1 and rng.random() < 0.5:
        activations[:, 1] = activations[:, 0]
    if logits > 1 and rng.random() < 0.3:
        backprops[:, 1:] = backprops[:, :1] * (1.0 + 1e-6 * rng.normal())
    return Factored(backprops, activations, bias=bool(rng.integers(2)))


def exact(rows: TangentRows) -> Extended:
    """Rows as they are defined, ``(n, K, p)``."""
    if isinstance(rows, WrittenOut):
        return rows.rows.numpy().astype(np.longdouble)
    assert isinstance(rows, Factored)
    backprops = rows.backprops.numpy().astype(np.longdouble)
    activations = rows.activations.numpy().astype(np.longdouble)
    if rows.bias:
        whole = [outer(backprops, activations), backprops.sum(axis=2)]
        return np.concatenate(whole, axis=2)
    return outer(backprops, activations)


def outer(backprops: Extended, activations: Extended) -> Extended:
    products = backprops[..., None] * activations[:, None, :, None, :]
    return products.sum(axis=2).reshape(*backprops.shape[:2], -1)


def require_bounded(layers: list[WrittenOut | Factored], logits: int) -> None:
    """Checks spread and longest row of what is finite, which is all that training uses."""
    tangent = TangentModel(torch.zeros(layers[0].distances_squared().shape[0], logits), tuple(layers), ())
    rows = np.concatenate([exact(one) for one in layers], axis=2)
    longest = np.sqrt(np.square(rows).sum(axis=2)).max(axis=1)
    spread = longest
    if logits > 1:
        ended = np.concatenate([rows, np.zeros_like(rows[:, :1])], axis=1)
        between = np.square(ended[:, :, None] - ended[:, None]).sum(axis=3)
        spread = np.sqrt(between.max(axis=(1, 2)) / 2)
    for bound, true in ((tangent.spread(), spread), (tangent.longest(), longest)):
        used = np.isfinite(bound.numpy())
        assert (bound.numpy().astype(np.longdouble) >= true)[used].all()


def test_no_record_is_longer_than_its_bounds() -> None:
    """Sizes from the smallest numbers to the largest, and all that cancels."""
    rng = np.random.default_rng(5)
    for _ in range(250):
        logits = int(rng.integers(1, 6))
        rows = max(1, logits - 1)
        require_bounded([layer(rng, rows) for _ in range(rng.integers(1, 4))], logits)


def test_a_bias_counts_once_for_every_position() -> None:
    require_bounded([Factored(torch.ones(1, 2, 9, 3), torch.zeros(1, 9, 2), bias=True)], 1)


def test_rows_whose_products_all_underflow_have_a_length() -> None:
    """Float32 has neither the square of 10^-25, nor what two positions of such rows have in common."""
    backprops, activations = torch.full((1, 1, 2, 3), 1e-10), torch.full((1, 2, 4), 1e-15)
    require_bounded([Factored(backprops, activations)], 2)
    require_bounded([WrittenOut(torch.full((1, 1, 12), 1e-25))], 2)


def hard_sums() -> Iterator[tuple[str, WrittenOut | Factored, torch.Tensor, torch.Tensor]]:
    """What is added, rows, direction, weights: a product of 1, then many that adding to 1 rounds away."""
    small = math.sqrt(0.999 * ROUNDOFF)
    many = torch.full((MANY,), small, dtype=torch.float64)
    many[0] = 1.0
    one = torch.ones(1, 1, dtype=torch.float64)
    yield "inputs", Factored(torch.ones(1, 1, 1, 1).double(), many.view(1, 1, -1)), many, one
    places = Factored(many.view(1, 1, -1, 1), many.view(1, -1, 1))
    yield "positions", places, torch.ones(1, dtype=torch.float64), one
    yield "outputs", Factored(many.view(1, 1, 1, -1), torch.ones(1, 1, 1).double()), many, one
    yield "written out", WrittenOut(many.view(1, 1, -1)), many, one
    records = Factored(many.view(-1, 1, 1, 1), torch.ones(MANY, 1, 1).double())
    yield "records", records, torch.ones(1, dtype=torch.float64), many[:, None]
    logits = Factored(many.view(1, -1, 1, 1), torch.ones(1, 1, 1).double())
    yield "logits", logits, torch.ones(1, dtype=torch.float64), many[None, :]
    yield "rows", WrittenOut(many.view(-1, 1, 1)), torch.ones(1, dtype=torch.float64), many[:, None]
    yield "rows of logits", WrittenOut(many.view(1, -1, 1)), torch.ones(1, dtype=torch.float64), many[None, :]


HARD = list(hard_sums())


@pytest.mark.parametrize(
    ("rows", "direction", "weights"), [case[1:] for case in HARD], ids=[case[0] for case in HARD]
)
def test_sums_of_what_no_accumulator_sees_are_within_their_errors(
    rows: WrittenOut | Factored, direction: torch.Tensor, weights: torch.Tensor
) -> None:
    """Kernels lose from 120 to 2,050 unit roundoffs, by their blocks; of 2,048 additions the bounds know."""
    true, exactly = exact(rows), [one.numpy().astype(np.longdouble) for one in (direction, weights)]
    length = np.sqrt(rows.lengths_squared().numpy()).astype(np.longdouble)
    products = rows.of(slice(None))
    along = np.abs(products.along(direction).numpy() - (true * exactly[0]).sum(axis=2))
    assert (along <= rows.along_error() * length * np.linalg.norm(direction.numpy())).all()
    summed = torch.cat(list(products.weighted_sum(weights[:, None]))).numpy() - (
        true * exactly[1][:, :, None]
    ).sum(axis=(0, 1))
    share = (np.abs(exactly[1]) * length).sum()
    assert np.sqrt(np.square(summed).sum()) <= rows.sum_error(len(weights)) * share


TAKEN: list[ConvexLoss] = [
    BinaryLogistic(),
    Softmax(3),
    Capped(Softmax(3), 0.5),
    Weighted(Capped(BinaryLogistic(), 0.5), (1.0, 0.5)),
]
RESIDUALS: list[tuple[int, float]] = [
    (1, 1.0),
    (1, 1e-9),
    (2, 0.3),
    (2, 1e-9),
    (3, 1e-3),
    (10, 0.5),
    (100, 1e-14),
]
OTHERS: list[ConvexLoss] = [
    MultiLabel(3),
    Ordinal(3),
    Huber(0.5),
    StatedLoss("losses:own", 3, 1.0, 1.0),
    Capped(MultiLabel(3), 0.5),
    Weighted(Ordinal(3), (1.0, 0.5, 0.5)),
]


@pytest.mark.parametrize("loss", OTHERS, ids=repr)
def test_a_loss_that_sees_more_than_differences_of_logits_is_refused(loss: ConvexLoss) -> None:
    """Rows are those of differences: several labels would move an update by 1.6 times the claim."""
    with pytest.raises(ConfigurationError, match=r"'loss' of tangent-steps.*got \w+\. Use stable-steps"):
        TangentSteps(loss, 1.0, 1e-3, steps=2, record_capacity=10)


@pytest.mark.parametrize("loss", TAKEN, ids=repr)
def test_residuals_of_the_losses_taken_are_seen_by_differences_alone(loss: ConvexLoss) -> None:
    kind = TangentSteps(loss, 1.0, 1e-3, steps=2, record_capacity=10)
    logits = np.random.default_rng(0).normal(size=(200, kind.loss.outputs)) * 5.0
    _, residuals = kind.loss.losses_and_residuals(logits, np.arange(200) % 2)
    if kind.loss.outputs > 1:
        np.testing.assert_allclose(residuals.sum(axis=1), 0.0, atol=1e-15)
    assert np.linalg.norm(residuals, axis=1).max() <= kind.lipschitz()


@pytest.mark.parametrize(("outputs", "cap"), RESIDUALS)
def test_residuals_are_as_exact_as_the_bound_on_a_gradient_takes_them(outputs: int, cap: float) -> None:
    """All entries together, capped and weighted; the last row of several is zero."""
    rng, classes = np.random.default_rng(0), max(2, outputs)
    labels, by_class = rng.integers(0, classes, 300), (1.0, *rng.uniform(1e-9, 1.0, classes - 1))
    head = BinaryLogistic() if outputs == 1 else Softmax(outputs)
    loss = Weighted(head if cap == 1.0 else Capped(head, cap), by_class)
    logits = rng.normal(size=(300, outputs)) * rng.choice([0.1, 1.0, 10.0, 2.0**16], size=(300, 1))
    _, found = loss.losses_and_residuals(logits, labels)
    true = exact_residuals(logits.astype(np.longdouble), labels, cap) * np.asarray(by_class)[labels][:, None]
    off = np.abs(found - true)[:, : max(1, outputs - 1)].sum(axis=1)
    assert off.max() <= outputs * (outputs + 10) * ROUNDOFF


def exact_residuals(logits: Extended, labels: npt.NDArray[np.int64], cap: float) -> Extended:
    """q - e_y, the own entry as the sum of the others'."""
    own = np.arange(len(labels)), labels
    if logits.shape[1] == 1:
        signed = (1 - 2 * labels)[:, None]
        residuals = signed / (1 + np.exp(np.minimum(-signed * logits, 11000)))
    else:
        residuals = np.exp(logits - logits.max(axis=1, keepdims=True))
        residuals /= residuals.sum(axis=1, keepdims=True)
        residuals[own] = 0
        residuals[own] = -residuals.sum(axis=1)
    largest = np.abs(residuals).max(axis=1, keepdims=True)
    return residuals * (np.longdouble(cap) / np.maximum(largest, np.longdouble(cap)))
