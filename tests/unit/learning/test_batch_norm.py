"""Running statistics in local steps: each step replaces them, nothing else moves them, they are clipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.kinds import ClippedUpdate, LocalSgd, OneRelease, Sharded, SingleStep, Softmax, TangentSteps
from discreet.learning import local_update
from discreet.learning.alike import require_rows_alike
from discreet.learning.clients import trained
from discreet.learning.objective import Client
from discreet.models import flatten
from discreet.models.batch_norm import without_counts
from discreet.randomness import SeededRandom

CHANNELS = 4


def network() -> nn.Module:
    torch.manual_seed(0)
    layers = (nn.Linear(3, CHANNELS), nn.BatchNorm1d(CHANNELS), nn.ReLU(), nn.Linear(CHANNELS, 2))
    return without_counts(nn.Sequential(*layers))


def records(count: int, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    return Records(rng.normal(size=(count, 3)).astype(np.float32), rng.integers(0, 2, count))


def moved(local: LocalSgd, data: Records) -> np.ndarray[Any, Any]:
    model = network()
    ((vector, _),) = trained(local, model, flatten(model), [Client(data, SeededRandom(1))])
    return vector


def test_a_step_goes_as_torchs_own_training_does() -> None:
    """Two epochs of one batch: weights by the gradient, statistics by their share of the batch's."""
    data, model = records(9), network()
    features, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    start, optimiser = flatten(model), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(features), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    np.testing.assert_allclose(moved(LocalSgd(0.1, 9, epochs=2), data), flatten(model) - start, atol=1e-6)


def test_momentum_decay_and_rate_leave_statistics_alone() -> None:
    """A single step: with all of them, statistics move by the same."""
    plain, heavy = (
        moved(settings, records(9))[-2 * CHANNELS :]
        for settings in (LocalSgd(1e-9, 9), LocalSgd(7.0, 9, momentum=0.9, weight_decay=3.0))
    )
    np.testing.assert_array_equal(plain, heavy)
    assert np.linalg.norm(plain) > 0.01


def test_a_batch_of_one_record_takes_no_step() -> None:
    assert not moved(LocalSgd(0.5, 4, epochs=3), records(1)).any()
    # Of nine records in batches of four, the last stands alone: whatever it is, it changes nothing.
    data = records(9)
    last = int(SeededRandom(1).permutation(9)[8])
    wild = Records(data.features.copy(), data.labels)
    wild.features[last] = 1e30
    np.testing.assert_array_equal(moved(LocalSgd(0.5, 4), data), moved(LocalSgd(0.5, 4), wild))
    assert not np.array_equal(moved(LocalSgd(0.5, 3), data), moved(LocalSgd(0.5, 3), wild))


@pytest.mark.parametrize("kind", [Sharded(0.01, 2, LocalSgd(0.1, 4)), ClippedUpdate(0.01, 0.1, 4)])
def test_statistics_are_inside_what_is_clipped(kind: OneRelease) -> None:
    model = network()
    vector = local_update(kind, model, flatten(model), records(20), SeededRandom(0)).vector
    assert np.linalg.norm(vector[-2 * CHANNELS :]) > 0.5 * kind.l2_sensitivity() / 2.0
    assert np.linalg.norm(vector) <= kind.update_bound(20)


def test_groups_are_measured_alike_and_the_model_stays_as_it_was() -> None:
    model = network()
    before = flatten(model)
    require_rows_alike([Sharded(1.0, 4, LocalSgd(0.1, 5))], model, (3,))
    np.testing.assert_array_equal(flatten(model), before)


@pytest.mark.parametrize("kind", [SingleStep(1.0), TangentSteps(Softmax(2), 1.0, 0.1, 3, 20)])
def test_kinds_that_clip_record_by_record_refuse_it(kind: OneRelease) -> None:
    model = network()
    with pytest.raises(ConfigurationError, match="must not mix records"):
        local_update(kind, model, flatten(model), records(5), SeededRandom(0))
