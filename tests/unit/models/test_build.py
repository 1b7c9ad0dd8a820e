from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models import LinearHead, build_model, count_weights, flatten
from discreet.models.build import BUNDLED


def net(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(feature_shape), num_classes))


def not_a_model(feature_shape: tuple[int, ...], num_classes: int) -> int:
    return num_classes + len(feature_shape)


def test_logistic_has_one_output_for_two_classes_and_starts_at_zero() -> None:
    binary = build_model("logistic", (4,), 2, seed=0)
    several = build_model("logistic", (2, 3), 5, seed=0)
    assert isinstance(binary, LinearHead)
    assert binary.weight.shape == (1, 4)
    assert several.weight.shape == (5, 6)
    assert not flatten(several).any()


def test_initial_weights_are_a_function_of_the_seed_alone() -> None:
    spec = f"{__name__}:net"
    torch.manual_seed(5)
    state = torch.get_rng_state()
    first = flatten(build_model(spec, (3,), 4, seed=1))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    assert np.array_equal(flatten(build_model(spec, (3,), 4, seed=1)), first)
    assert not np.array_equal(flatten(build_model(spec, (3,), 4, seed=2)), first)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("logistik", "Did you mean 'logistic'"),
        ("no_such_module_here:net", "Cannot import"),
        ("math:no_such_name", "Cannot import"),
        ("math:pi", "must be callable"),
        (f"{__name__}:not_a_model", "must return a torch.nn.Module"),
    ],
)
def test_unusable_specs_are_refused(spec: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        build_model(spec, (3,), 4, seed=0)


def test_a_model_of_another_shape_is_refused_when_it_is_built() -> None:
    def wrong(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
        return nn.Linear(feature_shape[0] + 1, num_classes)

    globals()["wrong"] = wrong
    with pytest.raises(ConfigurationError, match="cannot take features of shape"):
        build_model(f"{__name__}:wrong", (3,), 4, seed=0)


def test_no_class_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least 2 classes"):
        build_model("logistic", (3,), 0, seed=0)


def failing_factory(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return nn.Linear(feature_shape[7], num_classes)


def test_a_factory_that_fails_is_one_clear_line() -> None:
    with pytest.raises(
        ConfigurationError, match=r"cannot be made for features of shape \(2,\) and 3 classes"
    ):
        build_model(f"{__name__}:failing_factory", (2,), 3, seed=0)


@pytest.mark.parametrize("name", sorted(BUNDLED))
def test_weights_are_counted_without_being_made(name: str) -> None:
    shape = {"lstm": (14,), "logistic": (14,), "mlp": (14,)}.get(name, (1, 28, 28))
    assert count_weights(name, shape, 10) == len(flatten(build_model(name, shape, 10, seed=0)))


def test_a_huge_model_is_counted_in_no_time_and_a_users_own_is_not() -> None:
    assert (count_weights("mlp", (8_000_000,), 2) or 0) > 10**8
    assert count_weights("module:factory", (3,), 2) is None
