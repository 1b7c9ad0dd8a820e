"""Runs together: exactly composed, far below the sum, and only where they are about the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet.accounting import epsilon
from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.plan.guaranteed import event_against
from discreet.privacy.events import Composed
from discreet.session.composed import ALL_PLANNED


def trained(folder: Path, seed: int, **privacy: Any) -> discreet.Run:
    config = {
        "data": {
            "source": "heart-disease",
            "record_capacity": {"cleveland": 260, "hungary": 225, "switzerland": 50, "long_beach_va": 120},
        },
        "training": {"local": {"kind": "stable-steps"}, "rounds": 3},
        "privacy": {"epsilon": 1.0, "delta": 1e-6, **privacy},
        "aggregation": {"protocol": "bonawitz", "min_survivors": 3},
    }
    plan = discreet.prepare(parse_config(config)).plan
    return discreet.train(plan, out=folder / f"run-{seed}", seed=seed)


def test_two_runs_cost_less_than_their_sum_and_more_than_one(tmp_path: Path) -> None:
    runs = [trained(tmp_path, seed) for seed in (1, 2)]
    found = discreet.composed(runs, delta=1e-6)
    alone = runs[0].plan.spent(3).epsilon
    assert alone < found.epsilon < 1.5 * alone
    adversary, honest = runs[0].plan.budget_adversary()
    events = Composed(tuple(event_against(run.plan, adversary, honest, rounds=3) for run in runs))
    assert found.epsilon == epsilon(events, delta=1e-6).epsilon
    assert ALL_PLANNED in found.assumptions
    assert discreet.composed(runs[:1], delta=1e-6).epsilon == pytest.approx(alone)
    stated = json.loads((runs[0].path / "result.json").read_text())["composable"]
    assert stated["mu"] == pytest.approx((3**0.5) / runs[0].plan.noise_multiplier, rel=1e-6)
    assert stated["unit"] == "record"


def test_a_composable_cost_that_was_altered_is_found(tmp_path: Path) -> None:
    run = trained(tmp_path, 1)
    run.verify()
    place = run.path / "result.json"
    result = json.loads(place.read_text())
    result["composable"]["mu"] /= 2.0
    place.write_text(json.dumps(result, indent=1))
    with pytest.raises(discreet.DiscreetError):
        run.verify()


def test_runs_about_different_things_are_not_composed(tmp_path: Path) -> None:
    one = trained(tmp_path, 1)
    other = trained(tmp_path, 2, against="outsiders")
    with pytest.raises(ConfigurationError, match="one unit, relation and adversary"):
        discreet.composed([one, other], delta=1e-6)
    with pytest.raises(ConfigurationError, match="at least one run"):
        discreet.composed([], delta=1e-6)
