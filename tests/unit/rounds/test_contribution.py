"""What one silo computes in a round: its memory, and that it is its update plus its share of noise."""

from __future__ import annotations

import tracemalloc
from typing import cast

import numpy as np
import pytest
import torch
from torch import nn

from discreet.config import parse_config
from discreet.data import Records
from discreet.encoding import encode
from discreet.errors import ConfigurationError
from discreet.kinds import OneRelease
from discreet.learning import local_update
from discreet.mechanisms import round_with_noise, sample_share
from discreet.models import described, flatten
from discreet.plan import Plan, federation_facts, make_plan
from discreet.privacy.events import RoundedGaussianNoise
from discreet.randomness import SeededRandom
from discreet.rounds import contribute, round_rotation

SILOS = ("north", "east", "south", "west")


def made(
    model: nn.Module,
    features: int,
    *,
    rotation: bool,
    noise_first: bool = False,
    mechanism: str = "rounded-gaussian",
) -> Plan:
    config = parse_config(
        {
            "data": {"source": "module:elsewhere", "record_capacity": 20},
            "training": {"rounds": 4, "local": {"kind": "single-step"}},
            "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0, "mechanism": mechanism},
            "aggregation": {
                "min_survivors": 3,
                "max_colluding": 1,
                "rotation": rotation,
                "noise_first": noise_first,
            },
        }
    )
    facts = federation_facts(
        SILOS,
        feature_shape=(features,),
        num_classes=2,
        feature_norm_bound=None,
        model=described(model, (features,)),
    )
    return make_plan(config, facts)


def network(features: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, 2))


def records(features: int) -> Records:
    drawn = np.random.default_rng(1).normal(size=(12, features)).astype(np.float32)
    return Records(drawn, np.arange(12) % 2)


@pytest.mark.parametrize("rotation", [False, True])
def test_a_contribution_is_the_rounded_update_plus_one_share(rotation: bool) -> None:
    model = network(9, 7)
    plan, start, source = made(model, 9, rotation=rotation), flatten(model), SeededRandom(3)
    turned = round_rotation(plan, 5)
    values = contribute(
        plan,
        "east",
        1,
        model=model,
        parameters=start,
        records=records(9),
        randomness=source,
        rotation=turned,
    ).values
    update = local_update(
        cast(OneRelease, plan.silo_training("east")), model, start, records(9), source.derive("training")
    )
    rounded = encode(update.vector, plan.grid, source.derive("dither"), turned)
    share = sample_share(plan.release.share, len(start), source.derive("noise"))
    assert np.array_equal(values, rounded + share)


def test_noise_may_come_before_the_rounding() -> None:
    """The same ε on a coarser grid and in a narrower ring; the integers are roundings of real noise."""
    model = network(9, 7)
    late, early = made(model, 9, rotation=False), made(model, 9, rotation=False, noise_first=True)
    assert early.grid.bits <= late.grid.bits - 6
    assert early.spent(4).epsilon <= 1.0
    assert early.spent(4).epsilon == pytest.approx(late.spent(4).epsilon, rel=2e-3)
    assert early.release.rounding_failure_prob == 0.0
    start, source = flatten(model), SeededRandom(3)
    values = contribute(
        early, "east", 1, model=model, parameters=start, records=records(9), randomness=source
    ).values
    update = local_update(
        cast(OneRelease, early.silo_training("east")), model, start, records(9), source.derive("training")
    )
    real = update.vector * early.grid.scale
    expected = round_with_noise(real, cast(RoundedGaussianNoise, early.release.share), source.derive("noise"))
    assert np.array_equal(values, expected)


def test_only_real_noise_can_come_first() -> None:
    with pytest.raises(ConfigurationError, match="must be rounded-gaussian"):
        made(network(9, 7), 9, rotation=False, noise_first=True, mechanism="skellam")


@pytest.mark.parametrize(("rotation", "most"), [(False, 2.8), (True, 3.5)])
def test_a_large_contribution_takes_less_than_four_updates_of_memory(
    rotation: bool, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that NumPy allocates from the public model to the vector for secure aggregation.

    Update and integers, half an update of buffers for the noise; before them, a rotated copy.
    """
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    model = network(2000, 700)
    plan, start = made(model, 2000, rotation=rotation), flatten(model)
    turned = round_rotation(plan, 5)
    few = records(2000)
    tracemalloc.start()
    contribution = contribute(
        plan,
        "east",
        1,
        model=model,
        parameters=start,
        records=few,
        randomness=SeededRandom(3),
        rotation=turned,
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert contribution.values.nbytes == start.nbytes
    assert 2.0 < peak / start.nbytes < most
