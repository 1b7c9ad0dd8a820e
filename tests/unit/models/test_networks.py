from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.func import grad, vmap

from discreet.errors import ConfigurationError
from discreet.learning.clipping.ghost import layer_without_rule
from discreet.models import build_model, flatten
from discreet.models.networks import TemperedSigmoid


@pytest.mark.parametrize(
    ("name", "shape", "classes", "weights"),
    [
        ("cnn-tanh", (28, 28), 10, 26_010),
        ("cnn-tanh-standardised", (28, 28), 10, 26_010),
        ("cnn-relu", (1, 28, 28), 10, 26_010),
        ("cnn-tempered-sigmoid", (28, 28), 10, 26_010),
        ("cnn-group-norm", (81, 7, 7), 10, 20_778),
        ("cnn-group-norm", (243, 8, 8), 10, 44_106),
        ("cnn-street", (3, 32, 32), 10, 3_405_018),
        ("lstm", (80,), 72, 817_800),
        ("mlp", (28, 28), 10, 79_510),
    ],
)
def test_sizes(name: str, shape: tuple[int, ...], classes: int, weights: int) -> None:
    """26,010 weights and the 3.4 million of the street-number network are the published sizes."""
    model = build_model(name, shape, classes, seed=0)
    assert len(flatten(model)) == weights
    assert model(torch.zeros(2, *shape)).shape == (2, classes)


@pytest.mark.parametrize("name", ["cnn-tanh", "cnn-relu", "cnn-tempered-sigmoid", "mlp"])
def test_bundled_networks_clip_fast(name: str) -> None:
    assert layer_without_rule(build_model(name, (28, 28), 10, seed=0)) is None
    assert layer_without_rule(build_model("cnn-group-norm", (81, 7, 7), 10, seed=0)) is None


def test_the_tempered_sigmoid_of_the_paper_is_tanh() -> None:
    inputs = torch.linspace(-3, 3, 13, dtype=torch.float64)
    torch.testing.assert_close(TemperedSigmoid()(inputs), torch.tanh(inputs))
    half = TemperedSigmoid(1.0, 1.0, 0.0)(inputs)
    torch.testing.assert_close(half, torch.sigmoid(inputs))
    single = torch.linspace(-20, 20, 4001)
    error = TemperedSigmoid()(single).double() - torch.tanh(single.double())
    assert float(error.abs().max()) < 3e-7


def test_the_gradient_of_the_tempered_sigmoid_is_that_of_tanh() -> None:
    inputs = torch.linspace(-3, 3, 13, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(TemperedSigmoid(), inputs)
    torch.autograd.gradgradcheck(TemperedSigmoid(), inputs)
    torch.autograd.gradcheck(TemperedSigmoid(1.5, 0.7, 0.3), inputs)


def test_the_tempered_sigmoid_runs_record_by_record() -> None:
    """As `torch.func` runs a model one of whose layers has no rule."""
    inputs = torch.linspace(-3, 3, 12).view(4, 3)
    slopes = vmap(grad(lambda one: TemperedSigmoid()(one).sum()))(inputs)
    torch.testing.assert_close(slopes, 1.0 - torch.tanh(inputs).square())


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("cnn-tanh", (28, 28)),
        ("cnn-relu", (28, 28)),
        ("cnn-group-norm", (81, 7, 7)),
        ("cnn-street", (3, 32, 32)),
    ],
)
def test_pooling_first_is_the_published_network(name: str, shape: tuple[int, ...]) -> None:
    """The papers apply the activation, then pool: the same outputs and gradients."""
    torch.manual_seed(3)
    ours: Any = build_model(name, shape, 10, seed=0)
    images = torch.rand(8, *shape)
    layers = list(ours)
    for place in [place for place, layer in enumerate(layers) if isinstance(layer, nn.MaxPool2d)]:
        layers[place : place + 2] = layers[place + 1], layers[place]
    published = nn.Sequential(*layers)
    assert [type(layer) for layer in published] != [type(layer) for layer in ours]
    outputs = [network(images) for network in (ours, published)]
    torch.testing.assert_close(*outputs)
    gradients = [torch.autograd.grad(found.square().sum(), list(ours.parameters())) for found in outputs]
    for first, second in zip(*gradients, strict=True):
        torch.testing.assert_close(first, second)


def test_a_standardised_network_ignores_brightness_and_contrast_and_keeps_the_size_of_activations() -> None:
    model: Any = build_model("cnn-tanh-standardised", (28, 28), 10, seed=0)
    images = torch.rand(200, 28, 28)
    torch.testing.assert_close(model(images), model(5.0 * images + 3.0), rtol=1e-3, atol=1e-3)
    assert 0.1 < float(model(images).detach().std()) < 2.0
    dense = next(layer for layer in model if isinstance(layer, torch.nn.Linear))
    assert float(dense.weight.detach().std()) == pytest.approx(512**-0.5, rel=0.05)
    assert not bool(dense.bias.any())


@pytest.mark.parametrize("name", ["cnn-tanh", "lstm"])
def test_records_of_another_shape_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="records"):
        build_model(name, (5, 5, 5, 5), 10, seed=0)
