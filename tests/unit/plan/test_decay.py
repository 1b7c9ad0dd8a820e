"""Learning rates that fall: same noise, same guarantee, and an update that is sent in units of its rate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.config import Config, parse_config
from discreet.engines.local import Prepared, prepare
from discreet.errors import ConfigurationError
from discreet.kinds import StableSteps, TangentSteps
from discreet.learning import LocalUpdate
from discreet.models import flatten
from discreet.plan.weight_noise import weight_noise
from discreet.randomness import SeededRandom
from discreet.rounds import train_silo

STABLE = {"kind": "stable-steps", "learning_rate": 0.05, "steps": 4}
CLIP = {"clip_norm": 1.0}
ALL = ("cleveland", "hungary", "long_beach_va", "switzerland")


def config(local: dict[str, Any], *, rounds: int = 4, server: Any = None, **privacy: Any) -> Config:
    return parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 303},
            "training": {"rounds": rounds, "local": local, "server": server or {"kind": "averaging"}},
            "privacy": {"epsilon": 4.0, "delta": 1e-5} | privacy,
            "aggregation": {"protocol": "ideal", "min_survivors": 3},
        }
    )


def update(made: Prepared, release: int, start: Floats) -> Floats:
    found = train_silo(
        made.plan,
        "cleveland",
        release,
        model=made.model,
        parameters=start,
        records=made.federation.silo("cleveland").train,
        randomness=SeededRandom(2),
    )
    assert isinstance(found, LocalUpdate)
    return found.vector


@pytest.mark.parametrize("kind", ["averaging", "tail-mean", "momentum"])
def test_a_servers_rate_may_fall_with_the_inverse_of_time(kind: str) -> None:
    server = {"kind": kind, "learning_rate": 0.5, "decay": {"kind": "inverse-time", "rate": 2.0}}
    server |= {"momentum": 0.0} if kind == "momentum" else {}
    plan = prepare(config(STABLE, server=server)).plan
    rule, place = plan.server_rule, np.zeros(1)
    state, moved = rule.init(1), []
    for _ in range(3):
        state, after = rule.step(state, place, np.ones(1), plan.rounds)
        moved.append(float(after[0] - place[0]))
        place = after
    assert moved == pytest.approx([0.5, 0.5 / 3.0, 0.5 / 5.0])
    assert "decay 1/(1 + 2·t)" in plan.training.server.describe()


@pytest.mark.parametrize("decay", [0.5, {"kind": "inverse-time", "rate": 1.0}])
def test_noise_and_guarantee_are_those_of_a_constant_rate(decay: Any) -> None:
    plain, made = (prepare(config(STABLE | more)).plan for more in ({}, {"decay": decay}))
    assert (made.grid, made.release, made.guarantees) == (plain.grid, plain.release, plain.guarantees)
    assert made.digest() != plain.digest()
    third = 0.25 if decay == 0.5 else 1.0 / 3.0
    assert made.unit_length(3) == pytest.approx(third)
    total = SeededRandom(1).words(made.grid.dimension) >> np.uint64(64 - made.grid.bits)
    np.testing.assert_allclose(made.decoded(total, 3), third * plain.decoded(total, 3))


@pytest.mark.parametrize(
    ("local", "privacy"),
    [
        (STABLE, {}),
        (STABLE | {"l2_regulariser": 0.1}, {}),
        ({"kind": "tangent-steps", "learning_rate": 0.02, "steps": 2}, CLIP),
        ({"kind": "sharded", "learning_rate": 0.1, "num_shards": 4}, CLIP),
        ({"kind": "clipped-update", "learning_rate": 0.1}, CLIP | {"unit": "client", "delta": 1e-3}),
    ],
    ids=lambda value: value.get("kind", ""),
)
def test_a_round_trains_at_its_own_rate(local: dict[str, Any], privacy: dict[str, Any]) -> None:
    """Compared with the same training whose config states the rate of the third round."""
    made = prepare(config(local | {"decay": 0.5}, **privacy))
    slow = prepare(config(local | {"learning_rate": local["learning_rate"] / 4.0}, **privacy))
    start = flatten(made.model) + 0.1
    first, third, expected = update(made, 1, start), update(made, 3, start), update(slow, 1, start)
    training = made.plan.silo_training("cleveland", 3)
    assert training.unit_length == (0.25 if isinstance(training, StableSteps | TangentSteps) else 1.0)
    np.testing.assert_array_equal(training.unit_length * third, expected)
    assert not np.array_equal(first, third)
    assert training.l2_sensitivity() == made.plan.silo_training("cleveland").l2_sensitivity()
    assert "decay 0.5 a round" in made.plan.training.local.describe()


def test_the_band_around_weights_follows_the_rate() -> None:
    plain, made = (prepare(config(STABLE | more)).plan for more in ({}, {"decay": 0.5}))
    every, last = dict.fromkeys((1, 2, 3, 4), ALL), {3: ALL}
    whole, found = weight_noise(plain, every), weight_noise(made, every)
    assert whole is not None
    assert found is not None
    assert found.stddev == pytest.approx(whole.stddev * ((1 + 1 / 4 + 1 / 16 + 1 / 64) / 4) ** 0.5)
    third, alone = weight_noise(made, last), weight_noise(plain, last)
    assert third is not None
    assert alone is not None
    assert third.stddev == pytest.approx(alone.stddev / 4.0)
    assert third.proven


@pytest.mark.parametrize(
    ("local", "privacy", "message"),
    [
        ({"kind": "single-step", "decay": 0.9}, CLIP, r"unknown key 'training.local.decay'"),
        ({"kind": "stable-steps", "decay": 0.9}, {}, r"unknown key 'training.local.decay'\.$"),
        (STABLE | {"decay": 1.5}, {}, r"'training.local.decay': must be at most 1; got 1.5"),
        (STABLE | {"decay": {"kind": "inverse-time", "rate": 0.0}}, {}, r"'training.local.decay.rate'"),
        (STABLE | {"decay": 1e-7}, {}, r"'training.local.decay' must leave at least 2\^-64 .* 1e-21"),
        (
            STABLE | {"learning_rate": 1e-303, "decay": {"kind": "inverse-time", "rate": 5e18}},
            {},
            r"'training.local.decay' must leave .* at .* rounding could be inf times",
        ),
    ],
)
def test_a_decay_that_nobody_can_carry_out_is_refused(
    local: dict[str, Any], privacy: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        prepare(config(local, **privacy))


def test_a_decay_that_rounding_would_stop_midway_is_refused() -> None:
    """The rate of the last round is far above 2^-64 of the first, and below what float64 can carry out."""
    with pytest.raises(
        ConfigurationError, match=r"'training.local.decay' must leave .* round 16 .* rounding"
    ):
        prepare(config(STABLE | {"decay": 0.1}, rounds=16))
    made = prepare(config(STABLE | {"decay": 0.1}, rounds=8))
    assert np.isfinite(update(made, 8, flatten(made.model) + 0.1)).all()


def test_a_plan_without_a_decay_says_nothing_of_one() -> None:
    agreed = prepare(config(STABLE)).plan.to_json()
    assert isinstance(agreed, dict)
    assert "decay" not in str(agreed["config"]["training"]["local"])  # type: ignore[call-overload,index]
