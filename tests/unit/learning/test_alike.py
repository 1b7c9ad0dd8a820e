"""The measurement that finds kernels by which one record moves another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.errors import PrivacyRefusal
from discreet.kinds import (
    ClippedUpdate,
    ExpectedBatch,
    LocalSgd,
    NoisySteps,
    PerLayer,
    QuantileClipped,
    QuantileClipping,
    Sharded,
    SingleStep,
    Softmax,
    StableSteps,
    TangentSteps,
)
from discreet.kinds.float_error import ROWS_ALIKE
from discreet.learning.alike import require_rows_alike
from discreet.models import JointLabels, LinearHead, build_model, flatten

SINGLE = SingleStep(1.0, expected=ExpectedBatch(60.0))
TANGENT = TangentSteps(Softmax(3), 1.0, 0.01, steps=1, record_capacity=60)
SHARDED = Sharded(1.0, 4, LocalSgd(0.1, 5))
NOISY = NoisySteps(1.0, (1,), expected=ExpectedBatch(60.0))  # type: ignore[arg-type]
NONE = [StableSteps(Softmax(3), 1.0, 0.01, 1, 60), ClippedUpdate(1.0, 0.1, 5)]
KINDS: list[Any] = [
    SINGLE,
    NOISY,
    TANGENT,
    SHARDED,
    QuantileClipped(SINGLE, QuantileClipping(quantile=0.5, initial=1.0)),
]


class UnlikeInPlaces(nn.Module):
    """Adds a last bit to every other row: what another kernel for a part of the rows does."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        places = torch.arange(len(inputs), device=inputs.device) % 2 == 0
        return torch.where(places[:, None], inputs, inputs * (1.0 + 2.0**-22))


class UnlikeInCompany(nn.Module):
    """Looks, ever so slightly, at the size of the whole batch."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        others = inputs.detach().abs().nan_to_num(0.0, 0.0).amax()
        return inputs * torch.where(others > 1e6, 1.0 + 2.0**-22, 1.0)


def network(*extra: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(13, 9), nn.Tanh(), *extra, nn.Linear(9, 3))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_this_machine_passes(kind: SingleStep) -> None:
    model = network()
    before = flatten(model)
    require_rows_alike([kind], model, (13,))
    assert np.array_equal(flatten(model), before)
    require_rows_alike([kind], network(nn.Dropout(0.5)), (13,))
    require_rows_alike([kind], LinearHead(13, 3), (13,))


def test_bundled_networks_pass() -> None:
    shaped = [("cnn-tanh", (28, 28)), ("cnn-relu", (28, 28)), ("mlp", (28, 28)), ("mlp", (13,))]
    for name, shape in shaped:
        require_rows_alike([SINGLE, TANGENT], build_model(name, shape, 3, seed=0), shape)


def test_groups_of_channels_pass() -> None:
    model = nn.Sequential(nn.Conv2d(3, 9, (2, 3), groups=3), nn.ReLU(), nn.Flatten(), nn.Linear(162, 3))
    require_rows_alike([SINGLE, TANGENT], model, (3, 7, 5))


@pytest.mark.parametrize(
    "layer", [UnlikeInPlaces(), UnlikeInCompany()], ids=lambda layer: type(layer).__name__
)
@pytest.mark.parametrize("kind", [SINGLE, NOISY, TANGENT], ids=lambda kind: type(kind).__name__)
def test_rows_that_are_not_alike_are_refused(kind: Any, layer: nn.Module) -> None:
    with pytest.raises(PrivacyRefusal, match=r"must not depend on its place.* do\. Unset"):
        require_rows_alike([kind], nn.Sequential(layer, *network()), (13,))


@pytest.mark.parametrize("labels", range(2, 9))
def test_a_network_of_several_labels_passes(labels: int) -> None:
    model = nn.Sequential(nn.Linear(13, 9), nn.Tanh(), nn.Linear(9, labels))
    require_rows_alike([SINGLE], JointLabels(model, labels), (13,))


def test_a_linear_head_whose_rows_are_not_alike_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = np.matmul

    def uneven(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        found = honest(weights, columns)
        found[-1] *= np.float32(1.0 + 2.0**-22)
        return found

    monkeypatch.setattr(np, "matmul", uneven)
    with pytest.raises(PrivacyRefusal, match="LinearHead"):
        require_rows_alike([SINGLE], LinearHead(13, 3), (13,))


def test_per_layer_clipping_of_a_linear_head_is_measured_as_a_network() -> None:
    require_rows_alike([SingleStep(1.0, style=PerLayer())], LinearHead(13, 3), (13,))


def test_shards_that_see_their_company_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.learning.dense import DenseNetwork

    honest = DenseNetwork.mean_gradients

    def by_number(self, parameters, features, labels):  # type: ignore[no-untyped-def]
        gradients, losses = honest(self, parameters, features, labels)
        return gradients * (1.0 + 2.0**-50 * len(labels)), losses

    monkeypatch.setattr(DenseNetwork, "mean_gradients", by_number)
    with pytest.raises(PrivacyRefusal, match="must not depend"):
        require_rows_alike([SHARDED], network(), (13,))


@pytest.mark.parametrize("kind", NONE, ids=lambda kind: type(kind).__name__)
def test_kinds_that_assume_nothing_are_not_measured(kind: StableSteps) -> None:
    require_rows_alike([kind], network(UnlikeInPlaces()), (13,))
    assert kind.assumptions == ()


def test_kinds_that_are_measured_say_so_in_their_guarantee() -> None:
    assert all(kind.assumptions == (ROWS_ALIKE,) for kind in KINDS)
