from __future__ import annotations

import pytest
import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models.batch_norm import without_counts
from discreet.models.build import build_model
from discreet.models.checks import check_model, check_records_independent


class Counter(nn.Module):
    def __init__(self, *, persistent: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64), persistent=persistent)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.linear(features)


class Centred(nn.Module):
    """Mixes records without any layer type that says so."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.linear(features - features.mean(dim=0))


def mixing_factory(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return Centred()


@pytest.mark.parametrize(
    ("layer", "replacement"),
    [(nn.BatchNorm2d(3), "GroupNorm"), (nn.BatchNorm1d(3), "GroupNorm"), (nn.LazyBatchNorm1d(), "GroupNorm")],
)
def test_batch_norm_is_refused_with_its_name_and_a_replacement(layer: nn.Module, replacement: str) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(layer))
    with pytest.raises(ConfigurationError, match=rf"BatchNorm.*'1\.0'.*{replacement}"):
        check_model(model)


def test_instance_norm_with_running_statistics_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="track_running_stats=False"):
        check_model(nn.Sequential(nn.InstanceNorm2d(3, track_running_stats=True), nn.Linear(3, 2)))


def test_an_integer_buffer_is_refused_unless_declared_constant() -> None:
    with pytest.raises(ConfigurationError, match="integer buffer 'seen'"):
        check_model(Counter(persistent=True))
    check_model(Counter(persistent=False))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_non_finite_parameters_are_refused(value: float) -> None:
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight[0, 0] = value
    with pytest.raises(ConfigurationError, match="'weight'"):
        check_model(model)


def test_a_model_without_trainable_parameters_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="at least one trainable"):
        check_model(nn.Linear(2, 2).requires_grad_(False))


def test_mixing_is_measured_where_the_type_does_not_tell() -> None:
    features = torch.tensor([[1.0, 2.0], [3.0, -1.0]])
    check_model(Centred())
    with pytest.raises(ConfigurationError, match="must not depend on the other records"):
        check_records_independent(Centred(), features)
    check_records_independent(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)), features)


class Kept(nn.Module):
    """Keeps a running mean of what it sees, and answers by it."""

    def __init__(self, where: str) -> None:
        super().__init__()
        mean = torch.zeros(2)
        if where == "buffer":
            self.register_buffer("mean", mean)
        else:
            self.mean = nn.Parameter(mean, requires_grad=False) if where == "weight" else [mean]

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        mean = self.mean[0] if isinstance(self.mean, list) else self.mean
        with torch.no_grad():
            mean.lerp_(features.mean(dim=0), 0.5)
        return features - mean


@pytest.mark.parametrize(("where", "named"), [("buffer", "0.mean"), ("weight", "0.mean"), ("list", "later")])
def test_a_layer_that_keeps_something_beside_batch_norm_is_refused(where: str, named: str) -> None:
    torch.manual_seed(0)  # batch norm hides a shift but for its last bits, which not all weights show
    model = without_counts(nn.Sequential(Kept(where), nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5)))
    with pytest.raises(ConfigurationError, match=rf"must keep nothing of its records .*{named}"):
        check_records_independent(model, torch.rand(3, 2))
    check_records_independent(model[1:], torch.rand(3, 2))  # type: ignore[index]


class Remembered(nn.Module):
    """Keeps the newest record where no answer shows it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.last = nn.Parameter(torch.zeros(2), requires_grad=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.last.copy_(features[-1])
        return self.linear(features)


def test_a_frozen_weight_that_keeps_a_record_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'last'.* are updated from the data"):
        check_records_independent(Remembered(), torch.rand(3, 2) + 1.0)


def test_building_measures_mixing_too() -> None:
    with pytest.raises(ConfigurationError, match="must not depend on the other records"):
        build_model(f"{__name__}:mixing_factory", (2,), 2, seed=0)
