"""How much of the noise arrives in released weights: by hand, and the map that must not amplify it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_config
from discreet.data import Records
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.kinds import StableSteps
from discreet.kinds.heads import Softmax
from discreet.learning import local_update
from discreet.models.convexity import LinearHead
from discreet.plan import Plan
from discreet.plan.weight_noise import arrival, weight_noise
from discreet.randomness import SeededRandom

ALL = ("cleveland", "hungary", "long_beach_va", "switzerland")
WITHOUT_ONE = ALL[:3]


def plan_of(
    server: dict[str, Any] | None = None,
    local: dict[str, Any] | None = None,
    privacy: dict[str, Any] | None = None,
    rounds: int = 4,
) -> Plan:
    steps = {"kind": "stable-steps", "learning_rate": 0.02, "steps": "each"}
    tables = {
        "name": "noise",
        "data": {"source": "heart-disease", "record_capacity": 303},
        "training": {"rounds": rounds, "local": local or steps, "server": server or {"kind": "averaging"}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5} | (privacy or {}),
        "aggregation": {"protocol": "ideal", "min_survivors": 3},
    }
    return prepare(parse_config(tables)).plan


def rounds_of(*survivors: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
    return dict(enumerate(survivors, 1))


def share_variance(plan: Plan) -> float:
    """Of one silo's noise, in weights: its share, and the dither."""
    share = plan.release.share.variance / plan.release.share.num_silos
    return (share + 0.25) / plan.grid.scale**2


def test_averaging_divides_by_the_survivors_and_variances_add_up() -> None:
    plan = plan_of()
    found = weight_noise(plan, rounds_of(ALL, WITHOUT_ONE, ALL))
    assert found is not None
    assert found.proven
    by_hand = (4 / 4**2 + 3 / 3**2 + 4 / 4**2) * share_variance(plan)
    assert found.stddev == pytest.approx(math.sqrt(by_hand), rel=1e-12)


def test_a_tail_mean_takes_in_late_noise_in_part() -> None:
    plan = plan_of({"kind": "tail-mean", "learning_rate": 0.5}, rounds=5)
    # Of five models, the last three: noise of round 4 is in two of them.
    whole = 0.5 / 4
    expected = [whole, whole, whole, whole * 2 / 3, whole / 3]
    assert arrival(plan, rounds_of(*[ALL] * 5)).tolist() == pytest.approx(expected)
    # One round was lost: the last model is released.
    assert arrival(plan, rounds_of(*[ALL] * 4)).tolist() == pytest.approx([whole] * 4)


def test_a_learning_rate_that_decays_and_momentum() -> None:
    plan = plan_of({"kind": "averaging", "learning_rate": 0.8, "decay": 0.5}, rounds=3)
    assert arrival(plan, rounds_of(*[ALL] * 3)).tolist() == pytest.approx([0.2, 0.1, 0.05])
    plan = plan_of({"kind": "momentum", "learning_rate": 1.0, "momentum": 0.5}, rounds=3)
    assert arrival(plan, rounds_of(*[ALL] * 3)).tolist() == pytest.approx([1.75 / 4, 1.5 / 4, 1 / 4])


STEPS = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 8}


@pytest.mark.parametrize(
    ("server", "local", "proven"),
    [
        ({"kind": "averaging"}, STEPS, True),
        ({"kind": "tail-mean"}, STEPS, True),
        ({"kind": "averaging", "learning_rate": 1.01}, STEPS, False),
        ({"kind": "momentum"}, STEPS, False),
        ({"kind": "averaging", "smoothing": {"sigma": 1.0}}, STEPS, False),
        ({"kind": "averaging"}, STEPS | {"l2_regulariser": 0.1}, False),
    ],
)
def test_the_theorem_is_claimed_where_its_assumptions_hold(
    server: dict[str, Any], local: dict[str, Any], proven: bool
) -> None:
    found = weight_noise(plan_of(server, local), rounds_of(ALL))
    assert found is not None
    assert found.proven == proven


def test_other_kinds_rest_on_an_assumption() -> None:
    found = weight_noise(plan_of(local={"kind": "single-step"}, privacy={"clip_norm": 1.0}), rounds_of(ALL))
    assert found is not None
    assert not found.proven


def test_no_bound_where_noise_is_scaled_by_what_was_seen() -> None:
    dimension = plan_of().facts.dimension
    for rule in ({"kind": "adam"}, {"kind": "muon", "shapes": [[1, dimension]]}):
        assert weight_noise(plan_of(rule), rounds_of(ALL)) is None
    for other in (dimension - 1, dimension + 1):
        with pytest.raises(ConfigurationError, match=rf"the model's {dimension} weights; got {other}\."):
            plan_of({"kind": "muon", "shapes": [[1, other]]})
    moving = {"initial": 1.0, "quantile": 0.5}
    plan = plan_of(local={"kind": "single-step"}, privacy={"clip_norm": moving})
    assert weight_noise(plan, rounds_of(ALL)) is None
    inside = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 1}
    plan = plan_of(local=inside, privacy={"clip_norm": 1.0, "epsilon": 20.0})
    assert weight_noise(plan, rounds_of(ALL)) is None


@pytest.mark.parametrize("steps", [1, 4, None])
def test_a_silos_round_does_not_amplify_a_difference_of_weights(steps: int | None) -> None:
    generator = np.random.default_rng(3)
    features = generator.normal(size=(40, 6)).astype(np.float32)
    features /= 1.001 * np.linalg.norm(features, axis=1, keepdims=True)
    records = Records(features, generator.integers(0, 3, size=40))
    kind = StableSteps(
        loss=Softmax(3),
        norm_bound=1.0,
        learning_rate=1.99 / (0.5 * (1 if steps is None else 40)),
        steps=steps,
        record_capacity=40,
    )
    model, worst = LinearHead(6, 3), 0.0
    for trial in range(50):
        one, other = generator.normal(size=(2, 18)) * 10.0 ** generator.uniform(-3, 1)
        ends = [
            start + local_update(kind, model, start, records, SeededRandom(trial)).vector
            for start in (one, other)
        ]
        worst = max(worst, float(np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(one - other)))
    assert 0.3 < worst <= 1.0 + 1e-12
