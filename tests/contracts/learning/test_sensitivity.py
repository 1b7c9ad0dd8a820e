"""Every kind's claimed sensitivity against an adversary who searches for a worse pair."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.arrays import Floats, Integers
from discreet.data.labels import PARTS, Outcome
from discreet.data.records import Records
from discreet.kinds import (
    Asked,
    Automatic,
    BinaryLogistic,
    Capped,
    ClippedUpdate,
    Huber,
    LocalSgd,
    MultiLabel,
    OneRelease,
    Ordinal,
    PerLayer,
    QuantileClipped,
    QuantileClipping,
    Sharded,
    SingleStep,
    Softmax,
    StableSteps,
    TangentSteps,
)
from discreet.kinds.float_error import project
from discreet.kinds.weighted import ConvexLoss, Weighted
from discreet.learning import CountedUpdate, local_update, tangent_steps
from discreet.learning.single_step import single_step_update
from discreet.learning.tangent_model import TangentModel
from discreet.models import JointLabels, LinearHead, OrdinalHead, flatten, load_flat
from discreet.models.adapters import FineTuning
from discreet.models.batch_norm import without_counts
from discreet.sampling import FixedSize, Poisson
from tests.contracts.learning.coupled_randomness import Coupled
from tests.contracts.learning.sensitivity_search import Case, distance, largest_distance


def linear_case(outputs: int, *, radius: float = 1.0, records: int = 6, features: int = 3) -> Case:
    model = LinearHead(features, outputs)
    return Case(model, (features,), max(2, outputs), outputs * features, radius, records)


def number_case() -> Case:
    """Any place in the public range may be a record's label."""
    return dataclasses.replace(linear_case(1), num_classes=2 * PARTS + 1)


def ordinal_case(levels: int) -> Case:
    """The shape of a softmax head of as many classes."""
    return dataclasses.replace(linear_case(levels), model=OrdinalHead(3, levels))


def labels_case(labels: int) -> Case:
    """Every combination of labels is a class."""
    model = JointLabels(LinearHead(3, labels), labels)
    return dataclasses.replace(linear_case(labels), model=model, num_classes=1 << labels)


def network_case() -> Case:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 2, 2), nn.GroupNorm(1, 2), nn.Tanh(), nn.Flatten(), nn.Linear(8, 3))
    return Case(model, (1, 3, 3), 3, len(flatten(model)), 3.0, 5)


def adapted_case() -> Case:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))
    FineTuning(trained=("2",), adapted=("0",), rank=2).apply(model)
    return Case(model, (3,), 3, len(flatten(model)), 3.0, 5)


def normalised_case() -> Case:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3))
    return Case(without_counts(model), (3,), 3, len(flatten(model)), 3.0, 6)


def stable(head: ConvexLoss, **changes: Any) -> StableSteps:
    settings: dict[str, object] = {
        "loss": head,
        "norm_bound": 1.0,
        "learning_rate": 0.4,
        "steps": 3,
        "record_capacity": 8,
    }
    return StableSteps(**(settings | changes))  # type: ignore[arg-type]


def one_output_case() -> Case:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    return Case(model, (3,), 2, len(flatten(model)), 3.0, 5)


def tangent(loss: ConvexLoss, **changes: Any) -> TangentSteps:
    settings: dict[str, object] = {
        "loss": loss,
        "norm_bound": 1.0,
        "learning_rate": 0.4,
        "steps": 3,
        "record_capacity": 8,
    }
    return TangentSteps(**(settings | changes))  # type: ignore[arg-type]


def following(kind: SingleStep | ClippedUpdate, weight: float = 0.5) -> QuantileClipped:
    """At a norm that is not the first one."""
    return QuantileClipped(kind, QuantileClipping(quantile=0.5, initial=4.0, weight=weight)).at(0.3)


CASES: list[tuple[str, OneRelease, Case]] = [
    ("single-step, logistic", SingleStep(0.5), linear_case(1)),
    ("single-step, softmax", SingleStep(0.5), linear_case(3)),
    ("single-step, projected", SingleStep(0.5, projection_radius=0.9), linear_case(3)),
    ("single-step, network", SingleStep(0.5), network_case()),
    ("single-step, per layer", SingleStep(0.5, style=PerLayer()), network_case()),
    ("single-step, automatic", SingleStep(0.5, style=Automatic()), network_case()),
    ("stable-steps, logistic", stable(BinaryLogistic(), learning_rate=0.9), linear_case(1)),
    ("stable-steps, softmax", stable(Softmax(3)), linear_case(3)),
    (
        "stable-steps, radius 2",
        stable(Softmax(3), norm_bound=2.0, learning_rate=0.1),
        linear_case(3, radius=2.0),
    ),
    ("stable-steps, two passes", stable(Softmax(3), passes=2), linear_case(3)),
    ("stable-steps, capped softmax", stable(Capped(Softmax(3), 0.4)), linear_case(3)),
    (
        "stable-steps, capped logistic",
        stable(Capped(BinaryLogistic(), 0.3), learning_rate=0.9),
        linear_case(1),
    ),
    ("stable-steps, weighted", stable(Weighted(Softmax(3), (0.2, 1.0, 0.5))), linear_case(3)),
    (
        "stable-steps, weighted and capped, one each",
        stable(Weighted(Capped(BinaryLogistic(), 0.3), (1.0, 0.1)), learning_rate=6.0, steps=None),
        linear_case(1),
    ),
    ("tangent-steps, weighted", tangent(Weighted(Softmax(3), (0.2, 1.0, 0.5))), network_case()),
    ("stable-steps, huber", stable(Huber(0.25), learning_rate=0.2), number_case()),
    ("stable-steps, huber, one each", stable(Huber(0.25), steps=None, learning_rate=1.9), number_case()),
    ("stable-steps, huber, two passes", stable(Huber(1.0), passes=2, learning_rate=0.2), number_case()),
    ("stable-steps, ordinal", stable(Ordinal(4)), ordinal_case(4)),
    ("stable-steps, ordinal, one each", stable(Ordinal(3), learning_rate=5.0, steps=None), ordinal_case(3)),
    ("stable-steps, ordinal, capped", stable(Capped(Ordinal(3), 0.4)), ordinal_case(3)),
    ("stable-steps, labels", stable(MultiLabel(3), learning_rate=0.9), labels_case(3)),
    ("stable-steps, labels, capped, one each",
     stable(Capped(MultiLabel(2), 0.4), learning_rate=7.9, steps=None), labels_case(2)),
    ("single-step, labels", SingleStep(0.5), labels_case(3)),
    ("stable-steps, regularised", stable(Softmax(3), l2_regulariser=0.5), linear_case(3)),
    ("stable-steps, at a third of the rate", stable(Softmax(3)).at_rate(1.0 / 3.0), linear_case(3)),
    ("tangent-steps, network", tangent(Softmax(3)), network_case()),
    ("tangent-steps, at a third of the rate", tangent(Softmax(3)).at_rate(1.0 / 3.0), network_case()),
    ("tangent-steps, large norm", tangent(Softmax(3), norm_bound=5.0, learning_rate=0.02), network_case()),
    ("tangent-steps, capped", tangent(Capped(Softmax(3), 0.4)), network_case()),
    ("tangent-steps, one output", tangent(BinaryLogistic(), learning_rate=0.9), one_output_case()),
    ("tangent-steps, adapters", tangent(Softmax(3)), adapted_case()),
    ("single-step, adapters", SingleStep(0.5), adapted_case()),
    ("clipped-update, logistic", ClippedUpdate(0.5, 1.0, 2, epochs=2), linear_case(1)),
    ("clipped-update, in-ball", ClippedUpdate(0.5, 1.0, 2, project_steps=True), linear_case(3)),
    ("sharded, softmax", Sharded(0.5, 2, LocalSgd(2.0, 2, epochs=2)), linear_case(3)),
    ("sharded, network", Sharded(0.5, 2, LocalSgd(3.0, 2)), network_case()),
    ("sharded, batch norm", Sharded(0.5, 2, LocalSgd(3.0, 2, epochs=2)), normalised_case()),
    ("clipped-update, batch norm", ClippedUpdate(0.5, 3.0, 3, momentum=0.5), normalised_case()),
    ("clipped-update, network", ClippedUpdate(0.5, 3.0, 2, momentum=0.5), network_case()),
    ("single-step, quantile", following(SingleStep(4.0)), linear_case(3)),
    ("single-step, quantile, heavy count", following(SingleStep(4.0), weight=3.0), linear_case(1)),
    ("single-step, quantile, projected", following(SingleStep(4.0, projection_radius=8.0)), linear_case(3)),
    ("single-step, quantile, network", following(SingleStep(4.0, style=PerLayer())), network_case()),
    ("clipped-update, quantile", following(ClippedUpdate(4.0, 1.0, 2), weight=2.0), linear_case(3)),
]  # fmt: skip


def effort(case: Case) -> dict[str, int]:
    """Networks are slower to evaluate, so they get fewer evaluations; both numbers are fixed."""
    is_linear = isinstance(case.model, LinearHead | OrdinalHead | JointLabels)
    return {"starts": 12, "moves": 40} if is_linear else {"starts": 4, "moves": 15}


def exceeds(share: float, kind: OneRelease, case: Case, *, starts: int, moves: int, seed: int) -> bool:
    """Whether the search finds more than a share of the claim; it ends at the first pair that does."""
    beyond = share * kind.l2_sensitivity()
    return largest_distance(kind, case, starts=starts, moves=moves, seed=seed, beyond=beyond)[0] > beyond


@pytest.mark.parametrize(("kind", "case"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_no_pair_exceeds_the_claimed_sensitivity(kind: OneRelease, case: Case) -> None:
    found, _ = largest_distance(kind, case, **effort(case), seed=1)
    assert found <= kind.l2_sensitivity()


@pytest.mark.parametrize(("kind", "case"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_the_search_comes_close_to_the_claim(kind: OneRelease, case: Case) -> None:
    """A search that stays far below the claim could not notice a violation, nor a claim that is too large."""
    is_loose = getattr(kind, "passes", 1) > 1 or getattr(kind, "l2_regulariser", 0.0) > 0
    share = 0.45 if is_loose or isinstance(kind, Sharded) else 0.8
    assert exceeds(share, kind, case, **effort(case), seed=2)


@pytest.mark.parametrize(("kind", "case"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_no_update_exceeds_the_claimed_norm(kind: OneRelease, case: Case) -> None:
    _, where = largest_distance(kind, case, starts=2, moves=10, seed=3)
    records = Records(where.features.astype(np.float32), where.labels)
    vector = local_update(kind, case.model, where.weights, records, Coupled(where.seed)).vector
    assert np.linalg.norm(vector) <= kind.update_bound(case.num_records)


def half_sampled(kind: OneRelease) -> OneRelease:
    match kind:
        case QuantileClipped():
            return dataclasses.replace(kind, kind=half_sampled(kind.kind))  # type: ignore[arg-type]
        case SingleStep():
            return dataclasses.replace(kind, sampler=Poisson(0.5))
        case Asked():
            raise TypeError("Questions are not sampled.")
        case _:
            return dataclasses.replace(kind, sampling_prob=0.5)


@pytest.mark.parametrize(("kind", "case"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_a_unit_that_is_not_sampled_changes_nothing(kind: OneRelease, case: Case) -> None:
    sampled = half_sampled(kind)
    _, where = largest_distance(kind, case, starts=1, moves=0, seed=4)
    zero = sum(distance(sampled, case, dataclasses.replace(where, seed=seed)) == 0.0 for seed in range(24))
    # the coin falls out of (2, 22) with probability below 4e-5
    assert 2 <= zero <= 22


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (SingleStep(0.5, sampler=FixedSize(3, 6)), 6),
        (following(SingleStep(4.0, sampler=FixedSize(3, 6)), weight=2.0), 6),
    ],
    ids=["single-step", "single-step, quantile"],
)
def test_a_record_in_the_place_of_another_moves_a_fixed_size_sum_at_most_twice(
    kind: OneRelease, size: int
) -> None:
    """Equal coins choose the same places, so the two batches differ in that record or not at all."""
    rng, case = np.random.default_rng(13), linear_case(1)
    largest, unchanged = 0.0, 0
    for trial in range(400):
        features = rng.normal(size=(size + 1, 3))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        labels, weights = rng.integers(0, 2, size + 1), rng.normal(size=3) * rng.choice([0.1, 10.0, 100.0])
        both = Records(features.astype(np.float32), labels)
        one, other = both.take(np.arange(size)), both.take(np.array([*range(size - 1), size]))
        vectors = [
            local_update(kind, case.model, weights, records, Coupled(trial)).vector
            for records in (one, other)
        ]
        moved = float(np.linalg.norm(vectors[0] - vectors[1]))
        largest, unchanged = max(largest, moved), unchanged + (moved == 0.0)
    assert 1.6 * kind.l2_sensitivity() < largest <= 2.0 * kind.l2_sensitivity()
    # Half of the draws leave the record out; outside (150, 250) with probability below 6e-7.
    assert 150 < unchanged < 250


# --- planted violations: the search must find each ---------------------------------------------------------


def test_a_step_too_long_to_be_non_expansive_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the guard γβb ≤ 2, later steps amplify the difference that the first step made."""
    monkeypatch.setattr(StableSteps, "_require_non_expansive", lambda _: None)
    expansive = stable(BinaryLogistic(), learning_rate=40.0, steps=2)
    assert exceeds(1.2, expansive, linear_case(1), starts=12, moves=60, seed=5)


def test_a_class_of_weight_two_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Weighted, "__post_init__", lambda _: None)
    twice = stable(Weighted(Softmax(3), (1.0, 2.0, 1.0)))
    assert exceeds(1.5, twice, linear_case(3), starts=12, moves=40, seed=5)


def test_a_clipping_norm_that_forgets_a_layer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_layer_only(_: object, norms_squared: torch.Tensor, clip_norm: float) -> torch.Tensor:
        return (clip_norm / norms_squared[0].sqrt().clamp(min=clip_norm)).expand_as(norms_squared)

    monkeypatch.setattr("discreet.learning.clipping.record_gradients.factors", first_layer_only)
    careless = SingleStep(0.5)
    assert exceeds(1.2, careless, network_case(), starts=4, moves=15, seed=6)


def test_a_batch_mean_in_place_of_a_sum_of_clipped_gradients_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Dividing by the number of records makes every other record's share depend on the neighbour."""

    def mean_of_the_batch(*arguments: Any) -> CountedUpdate:
        counted = single_step_update(*arguments)
        mean = counted.update.vector / max(1, counted.update.batch)
        return dataclasses.replace(counted, update=dataclasses.replace(counted.update, vector=mean * 6))

    monkeypatch.setattr("discreet.learning.arithmetic.single_step_update", mean_of_the_batch)
    kind = SingleStep(0.5)
    assert exceeds(1.05, kind, linear_case(3), starts=12, moves=40, seed=7)


def test_half_the_sensitivity_of_shards_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that joins a shard can turn its update round, not only add to it: C would be false."""
    kind = Sharded(0.5, 1, LocalSgd(2.0, 2, epochs=2))
    monkeypatch.setattr(Sharded, "l2_sensitivity", lambda self: self.clip_norm)
    assert exceeds(1.2, kind, linear_case(1), starts=12, moves=40, seed=8)


@pytest.mark.parametrize("kind", [Sharded(0.5, 2, LocalSgd(3.0, 2)), ClippedUpdate(0.5, 3.0, 3)])
def test_running_statistics_that_are_left_unclipped_are_found(
    kind: Sharded | ClippedUpdate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch norm's leftovers beside a clipped update, as if they were no part of what is learned."""
    module = "sharded" if isinstance(kind, Sharded) else "clipped_update"

    def weights_alone(moved: Floats, radius: float) -> Floats:
        return np.concatenate([project(moved[:-8], radius), moved[-8:]])

    monkeypatch.setattr(f"discreet.learning.{module}.project", weights_alone)
    assert exceeds(2.0, kind, normalised_case(), starts=4, moves=15, seed=1)


def test_a_smoothness_constant_too_small_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BinaryLogistic, "smoothness", lambda _, bound: bound**2 / 400.0)
    expansive = stable(BinaryLogistic(), learning_rate=40.0, steps=2)
    assert exceeds(1.2, expansive, linear_case(1), starts=12, moves=60, seed=5)


def test_a_threshold_that_the_loss_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The squared loss: a record pulls as hard as it is far off, and no range of labels bounds that."""

    def squared(_: Huber, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        off = logits[:, 0] - Outcome.positions(labels)
        return off**2 / 2.0, off[:, None]

    kind = stable(Huber(0.25), learning_rate=0.2)
    monkeypatch.setattr(Huber, "losses_and_residuals", squared)
    assert exceeds(1.2, kind, number_case(), starts=12, moves=40, seed=1)


def test_the_smoothness_of_a_logistic_loss_is_too_small_for_huber(monkeypatch: pytest.MonkeyPatch) -> None:
    """With R²/4 in place of R², steps four times as long are let through, and they amplify."""
    monkeypatch.setattr(Huber, "smoothness", lambda _, bound: bound**2 / 4.0)
    expansive = stable(Huber(1.0), learning_rate=7.9, steps=None)
    assert exceeds(1.2, expansive, number_case(), starts=12, moves=60, seed=5)


def test_the_lipschitz_constant_of_huber_is_reached_exactly() -> None:
    """A record off by more than the threshold moves the weights by γ·c·R, whatever its label is."""
    kind = stable(Huber(0.25), steps=1, record_capacity=1, learning_rate=1.0)
    for label, sign in ((0, -1.0), (2 * PARTS, 1.0), (2**63 - 1, 1.0)):
        records = Records(np.array([[1.0, 0.0, 0.0]], np.float32), np.array([label]))
        vector = local_update(kind, LinearHead(3, 1), np.zeros(3), records, Coupled(0)).vector
        assert vector.tolist() == [sign * 0.25, 0.0, 0.0]


def test_a_spread_that_forgets_a_layer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_the_last_layer(self: TangentModel) -> torch.Tensor:
        return honest(dataclasses.replace(self, rows=self.rows[-1:], sizes=self.sizes[-1:]))

    honest = TangentModel.spread
    monkeypatch.setattr(TangentModel, "spread", of_the_last_layer)
    kind = tangent(Softmax(3))
    assert exceeds(1.2, kind, network_case(), starts=4, moves=15, seed=9)


def test_the_distance_of_two_rows_taken_for_the_spread_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest distance counts: clipping by the first two logits leaves the third unbounded."""

    def of_two_logits(self: TangentModel) -> torch.Tensor:
        distances = torch.stack([rows.distances_squared() for rows in self.rows]).sum(dim=0)
        return (distances[:, 0, 1] / 2.0).sqrt()

    monkeypatch.setattr(TangentModel, "spread", of_two_logits)
    kind = tangent(Softmax(3))
    assert exceeds(1.2, kind, network_case(), starts=4, moves=15, seed=10)


def test_gradients_at_the_moved_network_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ordinary local SGD, each logit's rows taken where the steps have led: not convex, so not stable.

    The record makes one of two step sizes for the others, who amplify it: the rows of the first logit grow
    with the weights of the second layer.
    """
    kind = tangent(BinaryLogistic(), steps=6, learning_rate=0.9)

    def where_the_steps_led(self, model, delta, records, batches, **_):  # type: ignore[no-untyped-def]
        start, loss = flatten(model), 0.0
        for batch in batches:
            load_flat(model, start + delta)
            step, step_loss = at_the_weights(self, model, np.zeros_like(delta), records, [batch])
            delta, loss = delta + step, loss + step_loss
        return delta, loss

    at_the_weights = tangent_steps._pass
    monkeypatch.setattr(tangent_steps, "_pass", where_the_steps_led)
    assert exceeds(1.1, kind, one_output_case(), starts=4, moves=40, seed=11)


def test_the_lipschitz_constant_is_reached_exactly() -> None:
    """One confidently wrong record moves the weights by γ·√2·R: a smaller constant would be false."""
    kind = stable(Softmax(3), steps=1, record_capacity=1, learning_rate=1.0)
    records = Records(np.array([[1.0, 0.0, 0.0]], np.float32), np.array([0]))
    weights = np.array([[0.0, 0, 0], [1000.0, 0, 0], [0.0, 0, 0]]).ravel()
    vector = local_update(kind, LinearHead(3, 3), weights, records, Coupled(0)).vector
    assert math.isclose(float(np.linalg.norm(vector)), math.sqrt(2.0), rel_tol=1e-12)


def test_a_count_that_the_sensitivity_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """C alone would be claimed for the sum of updates, and the count sent along for nothing."""
    kind = following(SingleStep(4.0), weight=3.0)
    monkeypatch.setattr(QuantileClipping, "l2_sensitivity", lambda _: 1.0)
    assert exceeds(1.2, kind, linear_case(1), starts=12, moves=40, seed=11)


def test_an_update_sent_in_units_of_the_first_norm_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grid is planned once: a norm that has grown since would break it."""
    honest = QuantileClipping.joined
    monkeypatch.setattr(
        QuantileClipping,
        "joined",
        lambda self, clipped, _, **counts: honest(self, clipped, self.initial, **counts),
    )
    kind = QuantileClipped(SingleStep(0.1), QuantileClipping(quantile=0.5, initial=0.1)).at(0.3)
    assert exceeds(1.2, kind, linear_case(1), starts=12, moves=40, seed=12)


def test_units_of_a_rate_that_the_steps_do_not_have_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps as long as in the first round, sent as if they were as short as in this one."""
    monkeypatch.setattr(StableSteps, "in_weights", lambda self: dataclasses.replace(self, unit_length=1.0))
    kind = stable(Softmax(3)).at_rate(1.0 / 3.0)
    assert exceeds(1.5, kind, linear_case(3), starts=6, moves=20, seed=13)
