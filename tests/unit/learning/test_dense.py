"""Dense networks without autograd: the gradients of autograd, and only where the network is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.learning.dense import dense_network
from discreet.learning.losses import mean_loss
from discreet.models import build_model, flatten, load_flat

BATCH, CLIENTS = 7, 3


def dense(*layers: nn.Module) -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(*layers)


NETWORKS = {
    "tanh": dense(nn.Flatten(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)),
    "relu, deep": dense(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 3)),
    "without bias": dense(nn.Linear(6, 5, bias=False), nn.Tanh(), nn.Linear(5, 3)),
    "one output": dense(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 1)),
    "one layer": dense(nn.Linear(6, 3)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_and_losses_are_those_of_autograd(name: str) -> None:
    """Float32 against float64: within 2e-6 of the longest gradient."""
    model: Any = NETWORKS[name]
    network = dense_network(model, flat_records=True)
    assert network is not None
    rng = np.random.default_rng(0)
    parameters = flatten(model) + 0.1 * rng.normal(size=(CLIENTS, len(flatten(model))))
    features = rng.normal(size=(CLIENTS, BATCH, 6)).astype(np.float32)
    labels = rng.integers(0, 2 if name == "one output" else 3, (CLIENTS, BATCH))
    gradients, losses = network.mean_gradients(parameters, features, labels)
    exact = type(model)(*model).double()
    for client in range(CLIENTS):
        load_flat(exact, parameters[client])
        exact.zero_grad()
        outputs = exact(torch.from_numpy(features[client]).double())
        loss = mean_loss(outputs, torch.from_numpy(labels[client]))
        loss.backward()  # type: ignore[no-untyped-call]
        expected = np.concatenate([param.grad.numpy().ravel() for param in exact.parameters()])
        error = np.abs(gradients[client] - expected).max()
        assert error < 2e-6 * np.linalg.norm(expected)
        assert losses[client] == pytest.approx(loss.item(), rel=1e-6)
    model.float()


def test_the_bundled_network_is_dense() -> None:
    assert dense_network(build_model("mlp", (4, 4), 10, seed=0), flat_records=False) is not None
    assert dense_network(build_model("cnn-tanh", (28, 28), 10, seed=0), flat_records=False) is None


def hooked() -> nn.Module:
    model = dense(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    model[1].register_forward_hook(lambda _, __, outputs: 2.0 * outputs)
    return model


def frozen() -> nn.Module:
    model = dense(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    next(model.parameters()).requires_grad_(False)
    return model


def used_twice() -> nn.Module:
    layer = nn.Linear(6, 6)
    return dense(layer, nn.Tanh(), layer)


class Own(nn.Linear):
    """A user's own layer, which may compute anything."""


@pytest.mark.parametrize(
    "model",
    [
        dense(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3)),
        dense(nn.Linear(6, 5), nn.Dropout(0.5), nn.Linear(5, 3)),
        dense(Own(6, 3), nn.Tanh()),
        dense(nn.Linear(6, 5), nn.Linear(5, 3)).double(),
        dense(nn.Tanh()),
        nn.Linear(6, 3),
        hooked(),
        frozen(),
        used_twice(),
    ],
    ids=["gelu", "dropout", "own", "double", "no weights", "bare", "hooked", "frozen", "used twice"],
)
def test_what_is_not_known_goes_by_autograd(model: nn.Module) -> None:
    assert dense_network(model, flat_records=True) is None


def test_images_must_be_flattened_first() -> None:
    model = dense(nn.Linear(6, 5), nn.Tanh(), nn.Flatten(), nn.Linear(30, 3))
    assert dense_network(model, flat_records=False) is None
