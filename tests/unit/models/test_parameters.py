from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models import flatten, load_flat


def test_load_then_flatten_is_the_identity_on_float32_values() -> None:
    model: Any = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Linear(3, 2))
    vector = np.arange(len(flatten(model)), dtype=np.float64)
    load_flat(model, vector)
    assert np.array_equal(flatten(model), vector)
    assert torch.equal(model[0].weight.flatten(), torch.arange(24.0))


def test_order_is_logical_whatever_the_memory_layout() -> None:
    model: Any = nn.Sequential(nn.Conv2d(2, 3, 2))
    before = flatten(model)
    model.to(memory_format=torch.channels_last)
    assert np.array_equal(flatten(model), before)
    load_flat(model, before[::-1].copy())
    assert np.array_equal(flatten(model), before[::-1])


def test_frozen_parameters_are_left_out_and_left_alone() -> None:
    model = nn.Linear(3, 2)
    model.weight.requires_grad_(False)
    weight = model.weight.clone()
    load_flat(model, np.array([5.0, 6.0]))
    assert model.bias.tolist() == [5.0, 6.0]
    assert torch.equal(model.weight, weight)


@pytest.mark.parametrize("vector", [np.zeros(7), np.zeros((2, 4)), np.full(8, np.nan)])
def test_wrong_vectors_are_refused(vector: np.ndarray) -> None:
    with pytest.raises(ConfigurationError):
        load_flat(nn.Linear(3, 2), vector)
