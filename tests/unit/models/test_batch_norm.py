"""Batch norm as weights: where they lie in the vector, what is refused, what stays as it was made."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models import build_model, described, flatten, load_flat
from discreet.models.batch_norm import running_statistics, without_counts
from discreet.models.checks import check_model


def network(*layers: nn.Module) -> nn.Module:
    return without_counts(nn.Sequential(nn.Linear(3, 4), *layers, nn.Linear(4, 2)))


def normalised(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    (features,) = feature_shape
    return nn.Sequential(nn.Linear(features, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, num_classes))


class Remembering(nn.Module):
    """Keeps the mean of what it last saw, in a buffer that nobody sums."""

    last: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(1), persistent=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.last.copy_(features.mean().detach())
        return features


def remembering(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return nn.Sequential(Remembering(), normalised(feature_shape, num_classes))


class Mixing(nn.Module):
    """Mixes records, also where it answers."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features - features.mean(dim=0)


def mixing(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return nn.Sequential(Mixing(), normalised(feature_shape, num_classes))


def built(factory: str) -> nn.Module:
    return build_model(f"{__name__}:{factory}", (3,), 2, seed=0, mixes_records=True)


def test_means_and_then_variances_follow_the_weights_in_the_models_order() -> None:
    model = network(nn.BatchNorm1d(4), nn.ReLU(), nn.BatchNorm1d(4, affine=False))
    with torch.no_grad():
        for tensor, first in zip(running_statistics(model), (0, 10, 100, 110), strict=True):
            tensor.copy_(torch.arange(4.0) + first)
    assert isinstance(model, nn.Sequential)
    assert model[1].running_var is running_statistics(model)[2]
    assert model[3].running_mean is running_statistics(model)[1]
    vector = flatten(model)
    assert len(vector) == (12 + 4) + 8 + (8 + 2) + 16
    expected = [0, 1, 2, 3, 10, 11, 12, 13, 100, 101, 102, 103, 110, 111, 112, 113]
    np.testing.assert_array_equal(vector[-16:], expected)
    load_flat(model, vector + 1.0)
    np.testing.assert_array_equal(flatten(model), (vector + 1.0).astype(np.float32))
    with pytest.raises(ConfigurationError, match="shape"):
        load_flat(model, vector[:-16])


def test_a_built_model_counts_no_batches_and_looks_at_it_leave_it_as_it_was_made() -> None:
    model = built("normalised")
    assert [name for name, _ in model.named_buffers()] == ["1.running_mean", "1.running_var"]
    before = flatten(model)
    facts = described(model, (3,))
    np.testing.assert_array_equal(before[-8:], [0, 0, 0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(flatten(model), before)
    assert (facts.dimension, facts.batch_norm_channels) == (len(before), 4)


def test_a_released_file_loads_into_ordinary_batch_norm() -> None:
    ordinary = normalised((3,), 2)
    ordinary.load_state_dict(dict(built("normalised").state_dict()))
    assert ordinary.state_dict()["1.num_batches_tracked"] == 0


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        (nn.BatchNorm1d(4, track_running_stats=False), "track_running_stats=True"),
        (nn.BatchNorm1d(4, momentum=None), "momentum .* None at '1'"),
        (nn.BatchNorm1d(4, momentum=0.0), "momentum .* 0.0 at '1'"),
        (nn.SyncBatchNorm(4), "must be nn.BatchNorm1d"),
        (nn.LazyBatchNorm1d(), "must be nn.BatchNorm1d"),
    ],
)
def test_what_would_be_a_leftover_is_refused(layer: nn.Module, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        check_model(network(layer), mixes_records=True)


def test_a_count_of_batches_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="batch norm must be"):
        check_model(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), mixes_records=True)


def test_kinds_that_clip_record_by_record_refuse_it_and_name_those_that_do_not() -> None:
    with pytest.raises(ConfigurationError, match=r"BatchNorm1d at '1'.*sharded \(record\) or clipped-update"):
        build_model(f"{__name__}:normalised", (3,), 2, seed=0)


def test_other_buffers_that_follow_the_data_are_refused_beside_it() -> None:
    with pytest.raises(ConfigurationError, match=r"\['0.last'\] are updated"):
        built("remembering")


def test_answers_that_depend_on_other_records_are_refused_beside_it() -> None:
    with pytest.raises(ConfigurationError, match="must not depend on the other records"):
        built("mixing")
