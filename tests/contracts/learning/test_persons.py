"""A whole person more or less moves an update by what one record may move it, for every kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from discreet.arrays import Floats
from discreet.data.labels import PARTS
from discreet.data.records import Records
from discreet.kinds import (
    FLAT,
    Automatic,
    BinaryLogistic,
    Capped,
    ClippingStyle,
    Huber,
    LocalSgd,
    OneRelease,
    QuantileClipped,
    QuantileClipping,
    Sharded,
    SingleStep,
    Softmax,
    StableSteps,
    TangentSteps,
)
from discreet.kinds.persons import PersonWeights
from discreet.kinds.weighted import ConvexLoss, Weighted
from discreet.learning import alike, local_update
from discreet.learning.clipping import clipped_sum
from discreet.learning.clipping.record_gradients import RecordGradients
from discreet.learning.units import PersonUnits
from discreet.models import LinearHead, flatten
from discreet.privacy.units import Unit
from discreet.sampling import FixedSize, Poisson
from tests.contracts.learning.coupled_randomness import Coupled

MOST = 6
EQUAL, BY_RECORD = PersonWeights(MOST), PersonWeights(MOST, over_records=True)
PEOPLE = 9
WEIGHTED = Weighted(Softmax(3), (0.3, 1.0, 0.7))
MEDIAN = QuantileClipping(quantile=0.5, initial=0.5)
AUTOMATIC = Automatic(kind="automatic", stability=0.01)


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3))


def unbounded() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 3))


def stable(loss: ConvexLoss, persons: PersonWeights) -> StableSteps:
    return StableSteps(
        loss=loss, norm_bound=1.0, learning_rate=0.2, steps=3, record_capacity=PEOPLE, persons=persons
    )


def tangent(persons: PersonWeights) -> TangentSteps:
    return TangentSteps(Softmax(3), 1.0, 0.4, steps=3, record_capacity=PEOPLE, persons=persons, passes=2)


MADE: dict[str, tuple[Callable[[PersonWeights], OneRelease], Callable[[], nn.Module]]] = {
    "stable, softmax": (lambda p: stable(Softmax(3), p), lambda: LinearHead(3, 3)),
    "stable, capped": (lambda p: stable(Capped(Softmax(3), 0.4), p), lambda: LinearHead(3, 3)),
    "stable, weighted": (lambda p: stable(WEIGHTED, p), lambda: LinearHead(3, 3)),
    "stable, binary": (lambda p: stable(BinaryLogistic(), p), lambda: LinearHead(3, 1)),
    "stable, huber": (lambda p: stable(Huber(0.25), p), lambda: LinearHead(3, 1)),
    "tangent": (tangent, network),
    "single, linear": (lambda p: SingleStep(0.5, persons=p), lambda: LinearHead(3, 3)),
    "single, network": (lambda p: SingleStep(0.5, persons=p), network),
    "single, automatic": (lambda p: SingleStep(0.5, style=AUTOMATIC, persons=p), network),
    "single, sampled": (lambda p: SingleStep(0.5, Poisson(0.7), persons=p), network),
    "single, quantile": (
        lambda p: QuantileClipped(SingleStep(0.5, persons=p), MEDIAN), lambda: LinearHead(3, 3)
    ),
    "sharded": (lambda p: Sharded(0.5, 4, LocalSgd(0.5, 2, 1), persons=p), network),
}  # fmt: skip


def pair(trial: int, num_classes: int) -> tuple[Records, Records]:
    """Persons with 1 to 6 records each, all of one person's alike or not, and the same without the last."""
    rng = np.random.default_rng(trial)
    sizes = rng.integers(1, MOST + 1, PEOPLE)
    sizes[-1] = (1, 3, MOST)[trial % 3]
    persons = np.repeat(np.arange(PEOPLE), sizes)
    features = rng.normal(size=(len(persons), 3))
    labels = rng.integers(0, num_classes, len(persons))
    last = persons == PEOPLE - 1
    if trial % 2:
        features[last], labels[last] = features[last][0], labels[last][0]
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    one = Records(features.astype(np.float32), labels, persons)
    order = np.argsort(rng.uniform(size=len(persons)))
    one = one.take(order)
    return one, one.take(one.persons != PEOPLE - 1)  # type: ignore[arg-type]


def moved(kind: OneRelease, model: nn.Module, trial: int) -> float:
    match getattr(kind, "loss", None):
        case BinaryLogistic():
            num_classes = 2
        case Huber():
            num_classes = 2 * PARTS + 1
        case _:
            num_classes = 3
    one, other = pair(trial, num_classes)
    scale = (0.0, 3.0, 30.0)[trial % 3]
    weights = scale * np.random.default_rng(1000 + trial).normal(size=len(flatten(model)))
    left, right = (local_update(kind, model, weights, part, Coupled(trial)).vector for part in (one, other))
    return float(np.linalg.norm(left - right)) / kind.l2_sensitivity()


@pytest.mark.parametrize("persons", [EQUAL, BY_RECORD], ids=["persons", "records"])
@pytest.mark.parametrize("name", MADE)
def test_a_person_moves_no_more_than_the_claim(name: str, persons: PersonWeights) -> None:
    kind, model = MADE[name][0](persons), MADE[name][1]()
    assert kind.unit is Unit.PERSON
    found = [moved(kind, model, trial) for trial in range(120)]
    assert max(found) <= 1.0
    if name.startswith(("stable", "single")) and persons is EQUAL and "automatic" not in name:
        assert max(found) >= 0.95


@pytest.mark.parametrize("name", ["stable, softmax", "stable, huber"])
def test_records_that_each_count_in_full_are_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, model = MADE[name][0](EQUAL), MADE[name][1]()
    monkeypatch.setattr(PersonWeights, "of", lambda _, counts: np.ones(len(counts)))
    assert max(moved(kind, model, trial) for trial in range(60)) > 1.5


@pytest.mark.parametrize("name", ["single, linear", "single, network", "single, quantile"])
def test_records_that_are_each_clipped_and_added_up_are_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, model = MADE[name][0](EQUAL), MADE[name][1]()
    monkeypatch.setattr(PersonUnits, "owners", lambda *_: None)
    assert max(moved(kind, model, trial) for trial in range(60)) > 1.5


@pytest.mark.parametrize("model", [LinearHead(3, 3), unbounded()], ids=["linear", "network"])
def test_somebody_with_one_unusable_record_gives_nothing(model: nn.Module) -> None:
    one, fewer = pair(2, 3)
    own = np.flatnonzero(one.persons == PEOPLE - 1)
    assert len(own) > 1
    features = one.features.copy()
    features[own[-1]] = 3e38  # logits overflow
    odd = Records(features, one.labels, one.persons)
    weights = np.random.default_rng(4).normal(size=len(flatten(model)))
    kind = SingleStep(0.3, persons=EQUAL)
    left, right = (local_update(kind, model, weights, part, Coupled(0)).vector for part in (odd, fewer))
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-12)


def test_one_record_of_a_person_who_stays_moves_no_more_than_the_claim() -> None:
    """With weights 1/m a record more moves an update by at most 2/(m + 1) of a whole person (theorem 2)."""
    kind, model = stable(Softmax(3), EQUAL), LinearHead(3, 3)
    for trial in range(60):
        one, _ = pair(trial, 3)
        weights = 3.0 * np.random.default_rng(trial).normal(size=9)
        own = np.flatnonzero(one.persons == PEOPLE - 1)
        if len(own) == 1:
            continue
        fewer = one.take(np.delete(np.arange(len(one)), own[0]))
        left, right = (
            local_update(kind, model, weights, part, Coupled(trial)).vector for part in (one, fewer)
        )
        share = float(np.linalg.norm(left - right)) / kind.l2_sensitivity()
        assert share <= 2.0 / len(own)


@pytest.mark.parametrize("weights", [PersonWeights(1), None])
def test_persons_of_one_record_are_records(weights: PersonWeights | None) -> None:
    """The unit person costs and changes nothing where everybody has one record."""
    one, _ = pair(0, 3)
    lone = Records(one.features, one.labels, np.arange(len(one), dtype=np.int64))
    kind = StableSteps(Softmax(3), 1.0, 0.05, steps=2, record_capacity=60)
    single = SingleStep(0.5, FixedSize(10, 60))
    for plain, model in ((kind, LinearHead(3, 3)), (single, network())):
        found = []
        for own in (None, weights):
            chosen = dataclasses.replace(plain, persons=own)
            found.append(local_update(chosen, model, flatten(model), lone, Coupled(1)).vector)
        if plain is kind:
            assert np.array_equal(found[0], found[1])
        else:  # a person's records are added up in float64
            np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-8)


HIDDEN = 34
"""Not a multiple of what vector instructions take, so that a kernel's last bits may follow the place."""


def cancelling(scale: float) -> tuple[nn.Module, Floats]:
    """A network at weights where the gradients of two opposite labels cancel but for rounding."""
    half = np.random.default_rng(3).integers(1, 4000, HIDDEN // 2) / 4096.0
    turn = np.concatenate([half, -half]) * scale / 2
    weights = [np.zeros(3 * HIDDEN), np.ones(HIDDEN), turn, -turn, np.zeros(2)]
    return nn.Sequential(nn.Linear(3, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2)), np.concatenate(weights)


@pytest.mark.parametrize(("scale", "clip_norm"), [(2.0**30, 1.0), (1.0, 2.0**-33), (1.0, 2.0**-27)])
@pytest.mark.parametrize("style", [FLAT, AUTOMATIC], ids=["flat", "automatic"])
def test_rounding_of_records_that_cancel_is_no_contribution(
    style: ClippingStyle, scale: float, clip_norm: float
) -> None:
    """One person more at the front moves everybody's place; what is left of nothing must not follow it."""
    model, weights = cancelling(scale)
    rng, each, people = np.random.default_rng(5), 18, 64
    labels = np.concatenate([rng.permutation(np.arange(each) % 2) for _ in range(people + 1)])
    persons = np.repeat(np.arange(people + 1), each)
    one = Records(np.zeros((len(labels), 3), np.float32), labels, persons)
    kind = SingleStep(clip_norm, style=style, persons=PersonWeights(20))
    left, right = (
        local_update(kind, model, weights, part, Coupled(0)).vector for part in (one, one.take(persons > 0))
    )
    assert np.linalg.norm(left - right) <= kind.l2_sensitivity()


def test_persons_of_every_width_are_measured_when_a_silo_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All shapes of chunks that training uses are among those of the start check, with or without records."""
    seen: dict[str, set[int]] = {"start": set(), "training": set()}
    honest, when = clipped_sum.differentiation_of, "start"

    def watching(model: nn.Module) -> Callable[..., RecordGradients]:
        found = honest(model)

        def watched(own: nn.Module, features: torch.Tensor, labels: torch.Tensor) -> RecordGradients:
            seen[when].add(len(features))
            return found(own, features, labels)

        return watched

    for module in (clipped_sum, alike):
        monkeypatch.setattr(module, "differentiation_of", watching)
    kind, model = SingleStep(0.5, persons=PersonWeights(600)), network()
    alike.require_rows_alike([kind], model, (3,))
    when = "training"
    sizes = [1, 2, 3, 5, 17, 70, 300, 600]
    persons = np.repeat(np.arange(len(sizes)), sizes)
    features = np.random.default_rng(0).normal(size=(len(persons), 3)).astype(np.float32)
    local_update(kind, model, flatten(model), Records(features, persons % 3, persons), Coupled(0))
    assert seen["training"]
    assert seen["training"] <= seen["start"]
    assert max(seen["training"]) <= 1024
