"""A record's contribution depends on no other record, however many there are and whatever they hold."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from discreet.kinds import (
    ExpectedBatch,
    OneRelease,
    PerLayer,
    QuantileClipped,
    QuantileClipping,
    SingleStep,
    TangentSteps,
)
from discreet.kinds.heads import head_on
from discreet.learning import counted_update, local_update
from discreet.learning.clipping import clipped_sum
from discreet.learning.tangent_steps import chunk_of
from discreet.models import flatten
from discreet.models.described import count_outputs
from discreet.randomness import SeededRandom
from tests.contracts.learning import crafted_rows
from tests.contracts.learning.crafted_rows import Crafted

LENGTH = 32
SIZES = [*range(1, 41), 63, 64, 65, 66, 96, 97]
C = 1.0


def single_step(_: Crafted) -> SingleStep:
    return SingleStep(C, expected=ExpectedBatch(LENGTH))


def per_layer(_: Crafted) -> SingleStep:
    return SingleStep(C, style=PerLayer(), expected=ExpectedBatch(LENGTH))


def quantile(crafted: Crafted) -> QuantileClipped:
    return QuantileClipped(single_step(crafted), QuantileClipping(quantile=0.5, initial=C))


def tangent(crafted: Crafted) -> TangentSteps:
    """One step, so that coins do not tell the records apart."""
    loss = head_on(count_outputs(crafted.model, crafted.features.shape[1:]))
    found = TangentSteps(loss, C, 0.01, steps=1, record_capacity=100)
    assert chunk_of(found) in (LENGTH, 64)
    return found


Make = Callable[[], Crafted]
KIND = Callable[[Crafted], OneRelease]
MODELS: dict[str, Make] = {
    "kinks": crafted_rows.at_the_kinks,
    "cancellation": crafted_rows.beyond_rounding,
    "odd widths": crafted_rows.of_an_odd_width,
    "ties": crafted_rows.with_ties,
    "ends of float32": crafted_rows.at_the_ends_of_float32,
    "vanishing residual": crafted_rows.with_a_vanishing_residual,
    "logistic": crafted_rows.without_a_visible_logit(1),
    "softmax": crafted_rows.without_a_visible_logit(10),
}
KINDS: dict[str, KIND] = {
    "single-step": single_step,
    "per layer": per_layer,
    "quantile": quantile,
    "tangent-steps": tangent,
}


def furthest(kind: OneRelease, crafted: Crafted, sizes: list[int]) -> tuple[float, float]:
    """Removes one record, the first, the middle or the last, from silos of each size.

    Returns:
        How far the update moves, at most, and how much of that is not the record's own contribution.
    """
    start = flatten(crafted.model)

    @cache
    def update(rows: tuple[int, ...]) -> np.ndarray:
        records = crafted.records(np.array(rows, dtype=np.int64))
        return local_update(kind, crafted.model, start, records, SeededRandom(1)).vector

    moved, others = 0.0, 0.0
    for size in sizes:
        rows = tuple(range(0, 5 * size, 5))
        assert np.isfinite(update(rows)).all()
        for place in {0, size // 2, size - 1}:
            difference = update(rows) - update(rows[:place] + rows[place + 1 :])
            own = update(rows[place : place + 1])
            moved = max(moved, float(np.linalg.norm(difference)))
            others = max(others, float(np.linalg.norm(difference - own)))
    return moved, others


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        *(("single-step", model) for model in MODELS),
        *(("tangent-steps", model) for model in MODELS),
        ("per layer", "kinks"),
        ("per layer", "softmax"),
        ("quantile", "kinks"),
        ("quantile", "ends of float32"),
    ],
)
def test_one_record_moves_a_sum_by_its_own_contribution_only(kind: str, model: str) -> None:
    crafted = MODELS[model]()
    training = KINDS[kind](crafted)
    sizes = SIZES if kind == "single-step" else SIZES[::3]
    moved, others = furthest(training, crafted, sizes)
    assert moved <= training.l2_sensitivity()
    assert others <= 1e-9 * training.l2_sensitivity()


# --- planted violations: each must be found -----------------------------------------------------------------


@pytest.mark.parametrize("model", ["kinks", "cancellation"])
def test_chunks_as_long_as_the_batch_are_found_out(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel for another number of rows changes last bits of all of them, and so what they contribute."""
    monkeypatch.setattr(clipped_sum, "padded", lambda rows, _: rows.clone())
    crafted = MODELS[model]()
    training = single_step(crafted)
    _, others = furthest(training, crafted, SIZES[1:])
    if others <= 1e-9:
        pytest.skip("the kernels of this machine do not depend on the number of rows")
    assert others > 0.05 * training.l2_sensitivity()


def test_a_last_chunk_of_tangents_that_is_shorter_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.learning.tangent_steps.padded", lambda rows, _: rows.clone())
    crafted = MODELS["kinks"]()
    training = tangent(crafted)
    _, others = furthest(training, crafted, SIZES[1:])
    if others <= 1e-9:
        pytest.skip("the kernels of this machine do not depend on the number of rows")
    assert others > 0.05 * training.l2_sensitivity()


def test_a_kernel_that_is_more_exact_in_every_other_place_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of one length do not help there: places must be alike too."""
    honest = np.matmul

    def uneven(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        found = honest(weights, columns)
        found[1::2] = honest(weights.astype(np.float64), columns[1::2].astype(np.float64))
        return found

    monkeypatch.setattr(np, "matmul", uneven)
    crafted = MODELS["softmax"]()
    training = single_step(crafted)
    moved, _ = furthest(training, crafted, SIZES)
    assert moved > 1.2 * training.l2_sensitivity()


def test_a_record_without_finite_numbers_contributes_nothing() -> None:
    """It may not decide whether a round ends, and padding may not either."""
    crafted = MODELS["ends of float32"]()
    training = single_step(crafted)
    start = flatten(crafted.model)
    lone = counted_update(training, crafted.model, start, crafted.records(np.array([0])), SeededRandom(1))
    assert not lone.update.vector.any()
    assert (lone.within, lone.update.batch, lone.update.loss) == (0, 1, 0.0)
