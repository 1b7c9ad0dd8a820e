"""A clipping norm that follows a quantile: what it adds to a plan, and where it is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from scipy.optimize import brentq

from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.kinds import ClippedUpdate, QuantileClipped, SingleStep
from discreet.plan import FederationFacts, Plan, load_plan, make_plan, sum_terms
from discreet.plan.sweep import costs
from discreet.privacy.tradeoff import GaussianTradeoff

FACTS = FederationFacts(
    silos=("north", "east", "south", "west"),
    feature_shape=(6,),
    num_classes=2,
    feature_norm_bound=1.0,
    dimension=6,
    model_digest="0" * 64,
    outputs=1,
    linear=True,
)
QUANTILE = {"quantile": 0.5, "initial": 3.0, "weight": 0.5}


def plan(local: dict[str, Any], clip_norm: Any, *, unit: str = "record", **tables: Any) -> Plan:
    data = {
        "data": {"source": "heart-disease", "record_capacity": 200},
        "training": {"rounds": 9, "local": local},
        "privacy": {"unit": unit, "noise_multiplier": 6.0, "delta": 1e-5, "clip_norm": clip_norm},
    }
    return make_plan(parse_config({name: {**data.get(name, {}), **tables.get(name, {})} for name in
                                   {**data, **tables}}), FACTS)  # fmt: skip


SINGLE_STEP = {"kind": "single-step"}
CLIPPED_UPDATE = {"kind": "clipped-update", "learning_rate": 0.1}
KINDS = [(SINGLE_STEP, "record"), (CLIPPED_UPDATE, "client")]


@pytest.mark.parametrize(("local", "unit"), KINDS)
def test_epsilon_is_that_of_the_same_multiplier_by_hand(local: dict[str, Any], unit: str) -> None:
    """Nine releases at z = 6 are one Gaussian release with μ = √9/6; the count costs no ε of its own."""
    made = plan(local, QUANTILE, unit=unit)
    by_hand = brentq(lambda epsilon: GaussianTradeoff(math.sqrt(9) / 6).delta(epsilon) - 1e-5, 0.0, 20.0)
    assert made.spent(9).epsilon == pytest.approx(by_hand, rel=2e-3)
    assert made.spent(9).epsilon == pytest.approx(plan(local, 3.0, unit=unit).spent(9).epsilon, rel=1e-4)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_the_count_costs_noise_on_the_update(weight: float) -> None:
    """In units of the norm one unit moves the sum by √(1 + weight²/4); rounding adds at most 1 %."""
    made = plan(SINGLE_STEP, {**QUANTILE, "weight": weight})
    moved = made.release.l2_sensitivity / made.grid.scale
    assert 1.0 <= moved / math.sqrt(1 + weight**2 / 4) <= 1.012
    stddev = math.sqrt(made.release.share.variance) / made.grid.scale
    assert stddev == pytest.approx(6.0 * moved, rel=1e-9)


def test_the_count_is_one_more_coordinate_of_everything_that_travels() -> None:
    made = plan(SINGLE_STEP, QUANTILE)
    assert made.facts.dimension == 6
    assert made.grid.dimension == made.release.dimension == sum_terms(made, bytes(32)).length == 7
    assert plan(SINGLE_STEP, 3.0).grid.dimension == 6


def test_the_grid_does_not_depend_on_the_first_norm_but_the_noise_in_weights_does() -> None:
    small, large = (plan(SINGLE_STEP, {**QUANTILE, "initial": initial}) for initial in (0.1, 10.0))
    assert small.grid == large.grid
    assert costs(large).noise_norm == pytest.approx(100 * costs(small).noise_norm)
    assert costs(large).signal_to_noise == pytest.approx(costs(small).signal_to_noise)


@pytest.mark.parametrize(("local", "unit"), KINDS)
def test_a_saved_plan_keeps_the_rule(local: dict[str, Any], unit: str, tmp_path: Path) -> None:
    made = plan(local, QUANTILE, unit=unit)
    made.save(tmp_path / "plan.json")
    loaded = load_plan(tmp_path / "plan.json")
    assert loaded.digest() == made.digest()
    training = loaded.silo_training("north")
    assert isinstance(training, QuantileClipped)
    assert isinstance(training.kind, SingleStep if unit == "record" else ClippedUpdate)
    assert (training.kind.clip_norm, training.rule.quantile) == (3.0, 0.5)


@pytest.mark.parametrize(
    ("local", "message"),
    [
        ({"kind": "sharded", "groups": 4, "learning_rate": 0.1}, "got sharded. Use one of these, or"),
        ({"kind": "noisy-steps", "steps": 2, "learning_rate": 0.1}, "got noisy-steps. Use one of these, or"),
        ({"kind": "stable-steps", "steps": 2, "learning_rate": 0.01}, "must be left out with stable-steps"),
        ({"kind": "single-step", "style": {"kind": "automatic"}}, "must be flat or per-layer"),
    ],
    ids=["sharded", "noisy-steps", "stable-steps", "automatic"],
)
def test_where_no_norm_is_to_be_found_it_is_refused_in_one_line(local: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        plan(local, QUANTILE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_tangent_steps_and_steps_kept_in_the_ball_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="got tangent-steps"):
        plan({"kind": "tangent-steps", "steps": 2, "learning_rate": 0.001}, QUANTILE)
    with pytest.raises(ConfigurationError, match="'project_steps' must be false"):
        plan({**CLIPPED_UPDATE, "project_steps": True}, QUANTILE, unit="client")
