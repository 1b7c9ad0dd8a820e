"""A record that gives no finite numbers, or has no class, contributes zero and raises nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.kinds import ClippedUpdate, LocalSgd, PerLayer, Sharded, SingleStep, Softmax, TangentSteps
from discreet.learning import counted_update, local_update
from discreet.models import LinearHead, flatten
from discreet.models.networks import CharacterLstm
from discreet.randomness import SeededRandom

WILD = 3e38


class Standardised(nn.Module):
    """Divides by a record's own standard deviation: constant records give NaN."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return (inputs - inputs.mean(dim=1, keepdim=True)) / inputs.std(dim=1, keepdim=True)


class Scale(nn.Module):
    """A layer without a rule of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(4))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs * self.factor


def network(*extra: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(*extra, nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def tame(count: int = 5) -> Records:
    rng = np.random.default_rng(0)
    return Records(rng.normal(size=(count, 4)).astype(np.float32), rng.integers(0, 3, count))


def joined(records: Records, other: Records) -> Records:
    return Records(
        np.concatenate([records.features, other.features]), np.concatenate([records.labels, other.labels])
    )


def one(value: float, label: int = 0) -> Records:
    return Records(np.full((1, 4), value, np.float32), np.array([label]))


MODELS = {
    "linear": LinearHead(4, 3),
    "rules": network(Standardised()),
    "vmap": network(Standardised(), Scale()),
}
TANGENT = TangentSteps(Softmax(3), 1.0, 0.1, steps=1, record_capacity=40)
KINDS: dict[str, Any] = {
    "single-step": SingleStep(1.0),
    "per layer": SingleStep(1.0, style=PerLayer()),
    "tangent": TANGENT,
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::discreet.learning.clipping.PerRecordFallbackWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("place", [0, 1])
def test_such_a_record_is_as_good_as_none(kind: str, model: str, place: int) -> None:
    """At public weights at which records of 3e38 overflow; constant ones overflow in a standard deviation."""
    training, chosen = KINDS[kind], MODELS[model]
    start = np.full(len(flatten(chosen)), 3.0)
    records = [one(WILD), one(0.5, label=3), one(WILD, label=7)]
    if model != "linear":
        records.append(one(1.0))  # no deviation
    expected = local_update(training, chosen, start, tame(), SeededRandom(0))
    for unusable in records:
        both = joined(tame(), unusable) if place else joined(unusable, tame())
        got = local_update(training, chosen, start, both, SeededRandom(0))
        np.testing.assert_allclose(got.vector, expected.vector, rtol=1e-12, atol=1e-15)
        assert got.loss is not None
        assert np.isfinite(got.loss)
        if isinstance(training, SingleStep | ClippedUpdate):
            counted = counted_update(training, chosen, start, unusable, SeededRandom(0))
            assert (counted.within, counted.update.batch, counted.update.loss) == (0, 1, 0.0)


@pytest.mark.parametrize("size", [1e300, 3e38, 1e38])
@pytest.mark.parametrize("kind", ["single-step", "tangent", "sharded", "clipped-update"])
def test_public_weights_of_any_size_raise_nothing(kind: str, size: float) -> None:
    """A server may send anything; what a silo answers is then zero or bounded, with and without records."""
    kinds = {
        **KINDS,
        "sharded": Sharded(1.0, 2, LocalSgd(0.1, 2)),
        "clipped-update": ClippedUpdate(1.0, 0.1, 2),
    }
    for model in (network(), LinearHead(4, 3)):
        start = np.resize([size, -size, 0.0], len(flatten(model)))
        for records in (tame(0), tame(), one(WILD), joined(tame(), one(WILD, label=5))):
            for _ in range(2):
                got = local_update(kinds[kind], model, start, records, SeededRandom(0))
                assert np.isfinite(got.vector).all()
                assert np.linalg.norm(got.vector) <= kinds[kind].update_bound(40)


@pytest.mark.parametrize("kind", ["single-step", "tangent"])
def test_a_model_that_is_refused_is_refused_without_records_too(kind: str) -> None:
    """Or else an error would say whether there are any."""
    layer = nn.Linear(4, 4)
    model = nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(4, 3))
    messages = []
    for records in (tame(0), tame(3)):
        with pytest.raises(ValueError, match="ran 2 times") as refusal:
            local_update(KINDS[kind], model, flatten(model), records, SeededRandom(0))
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]


@pytest.mark.filterwarnings("ignore::discreet.learning.clipping.PerRecordFallbackWarning")
@pytest.mark.parametrize("label", [0, 900])
def test_tokens_and_labels_out_of_range_raise_nothing(label: int) -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(9, 3), nn.Linear(3, 4)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.head(self.table(input=features.long()).mean(dim=1))

    torch.manual_seed(0)
    records = Records(np.array([[1, 2, 3], [9, -1, 3e38]], np.float32), np.array([label, label]))
    kinds: list[Any] = [SingleStep(1.0), ClippedUpdate(1.0, 0.1, 2), Sharded(1.0, 1, LocalSgd(0.1, 2))]
    kinds.append(TangentSteps(Softmax(4), 1.0, 0.1, steps=1, record_capacity=20))
    for kind in kinds:
        model = Words()
        got = local_update(kind, model, flatten(model), records, SeededRandom(0))
        assert np.isfinite(got.vector).all()
        assert not model.table._forward_pre_hooks
    lstm = CharacterLstm(9)
    assert np.isfinite(local_update(kinds[1], lstm, flatten(lstm), records, SeededRandom(0)).vector).all()


def test_a_norm_whose_squares_vanish_is_still_an_upper_bound() -> None:
    """A wrong class at e^-69 times features of 1e19 is a gradient of 1e-11, though e^-138 is 0 in float32."""
    model = nn.Sequential(nn.Linear(2, 2))
    start = np.array([34.5, 0.0, -34.5, 0.0, 0.0, 0.0])
    records = Records(np.array([[1.0, 1e18], [1.0, 1e19]], np.float32), np.array([0, 0]))
    small = local_update(SingleStep(1e-14), model, start, records, SeededRandom(0))
    assert 0.0 < np.linalg.norm(small.vector) <= 2.0 * 1e-14 * 1.001
