"""What a round turns into the next: the norm moves with the count, and a checkpoint holds it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from safetensors.numpy import load, save

from discreet.config import parse_config
from discreet.encoding import to_ring
from discreet.kinds.model_facts import LEAST_VARIANCE
from discreet.plan import FederationFacts, Plan, make_plan
from discreet.rounds import RoundSum, Training, initial_state, update

SILOS = ("north", "east", "south", "west")


def plan(clip_norm: object) -> Plan:
    config = parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 100},
            "training": {
                "rounds": 3,
                "local": {"kind": "single-step"},
                "server": {"kind": "momentum", "learning_rate": 2.0, "momentum": 0.5},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": clip_norm},
        }
    )
    facts = FederationFacts(SILOS, (3,), 2, 1.0, 3, "0" * 64, 1, linear=True)
    return make_plan(config, facts)


def released(made: Plan, vector: list[float]) -> RoundSum:
    """A secure sum that stands for ``vector``."""
    integers = np.rint(np.array(vector) * made.grid.scale).astype(np.int64)
    return RoundSum(to_ring(integers, made.grid.bits), SILOS, b"", 0, None)


def test_the_server_rule_sees_updates_in_weights_and_the_norm_follows_the_count() -> None:
    """400 records expected; 0.5·(300 - 200) in the count says that 300 of them were within."""
    fixed = plan(4.0)
    moving = plan({"quantile": 0.5, "initial": 4.0, "learning_rate": 0.3})
    parameters = np.array([1.0, -1.0, 0.5])
    plain = update(fixed, initial_state(fixed, parameters), 1, released(fixed, [40.0, 0.0, -80.0]))
    start = initial_state(moving, parameters)
    assert start.announced().tolist() == [1.0, -1.0, 0.5, 4.0]
    after = update(moving, start, 1, released(moving, [10.0, 0.0, -20.0, 50.0]))
    np.testing.assert_allclose(after.parameters, plain.parameters, atol=1e-3)
    assert after.clip_norm == pytest.approx(4.0 * math.exp(-0.3 * 0.25), rel=1e-3)
    assert plain.clip_norm is None
    assert plain.announced() is plain.parameters


@pytest.mark.parametrize("clip_norm", [4.0, {"quantile": 0.5, "initial": 4.0}], ids=["fixed", "moving"])
def test_a_checkpoint_continues_exactly(clip_norm: object) -> None:
    made = plan(clip_norm)
    start = initial_state(made, np.array([1.0, -1.0, 0.5]))
    outcome = released(made, [3.0] * made.grid.dimension)
    state = update(made, start, 1, outcome)
    restored = start.from_arrays(load(save(state.to_arrays())))
    again, on = update(made, restored, 2, outcome), update(made, state, 2, outcome)
    assert again.announced().tobytes() == on.announced().tobytes()


def test_a_checkpoint_without_its_norm_is_not_taken() -> None:
    made = plan({"quantile": 0.5, "initial": 4.0})
    start = initial_state(made, np.zeros(3))
    arrays = Training(start.parameters, start.server).to_arrays()
    with pytest.raises(KeyError):
        start.from_arrays(arrays)


def test_running_variances_that_noise_makes_small_or_negative_are_floored_by_a_public_rule() -> None:
    """The last weights are two variances; means and other weights may have any sign."""
    made = plan(4.0)
    facts = dataclasses.replace(made.facts, dimension=7, batch_norm_channels=2, linear=False)
    made = make_plan(made.config, facts)
    state = initial_state(made, np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0]))
    # Four silos of 100 records divide the sum, and the server's rate is 2.
    after = update(made, state, 1, released(made, [-80.0] * 5 + [-800.0, 40.0])).parameters
    expected = [0.6] * 3 + [-0.4] * 2 + [LEAST_VARIANCE, 1.2]
    np.testing.assert_allclose(after, expected, atol=1e-2)
    assert after[5] == LEAST_VARIANCE
