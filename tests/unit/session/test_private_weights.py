"""Class weights by noisy counts: the rule, the rounds that follow, what a run leaves, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import Arrays, Run, Target, load_model, open_run, plan_evaluation, plan_training, train
from discreet.engines.local import Opening
from discreet.errors import PrivacyViolation
from discreet.kinds import StableSteps
from discreet.kinds.weighted import Weighted
from discreet.plan import Plan, parse_plan
from discreet.plan.balancing import Balancing
from discreet.plan.preparation import BlockSum
from discreet.rounds.preparing import announced_map, prepared_from
from tests.unit.session.test_evaluated_training import Killed, killed_at, refuses
from tests.unit.session.test_evaluation import SILOS, hospitals

PRIVATE = {"kind": "private", "share": 0.2}
STEPS: dict[str, Any] = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 4}


def planned(weights: Any = PRIVATE, *, epsilon: float = 8.0, **changes: Any) -> Plan:
    local = changes.pop("local", STEPS) | ({} if weights is None else {"class_weights": weights})
    public = hospitals(**changes.pop("rules", {})).public(capacity=300)
    return plan_training(public, target=Target(epsilon), **{"rounds": 3, "local": local} | changes)


def told(run: Run) -> Any:
    found = prepared_from(run.record.directory.load_state().arrays)
    assert found is not None
    return announced_map(run.plan, found)


@pytest.fixture(scope="module")
def weighed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    plan = planned(evaluate={"every": 3, "epsilon": 8.0})
    return train(plan, hospitals(), out=tmp_path_factory.mktemp("weighed") / "run", seed=1)


def test_the_rarest_weighs_most_and_noise_is_not_taken_for_a_class() -> None:
    plan = planned()
    kind = Balancing(plan.config, plan.facts)
    counts = np.array([900.0, 100.0, 3.0])
    assert kind.found([BlockSum(counts, 1.0)]).tolist() == [[pytest.approx(1 / 9), 1.0]]
    # A count of 1 at noise of 10 may be one of 20; and 1/20 is the least weight.
    assert kind.found([BlockSum(np.array([100.0, 1.0, 0.0]), 100.0)]).tolist() == [[0.2, 1.0]]
    assert kind.found([BlockSum(np.array([9000.0, -5.0, 0.0]), 1.0)]).tolist() == [[0.05, 1.0]]
    for forged in ([0.049, 1.0], [1.0, 1.1], [np.nan, 1.0], [-1.0, 1.0]):
        with pytest.raises(PrivacyViolation, match=r"class weights must be in \[0\.05, 1\]"):
            kind.require(np.array([forged]))


@pytest.mark.parametrize("forged", [[1.0, 1.0], [0.05, 1.0], [0.3, 0.06], [0.05, 0.05]])
def test_a_round_is_that_of_public_weights_and_moves_by_no_more_than_planned(forged: list[float]) -> None:
    plan = planned()
    own = plan.under(np.array([forged])).silo_training("north", 2)
    public = planned(forged).silo_training("north")
    assert isinstance(own, StableSteps)
    assert own == public
    assert own.loss == Weighted(own.loss.loss, tuple(one / max(forged) for one in forged))
    agreed = plan.silo_training("north")
    assert isinstance(agreed, StableSteps)
    assert own.l2_sensitivity() == agreed.l2_sensitivity()
    assert own.update_bound(300) == agreed.update_bound(300)
    assert own.guard() == agreed.guard()
    assert own.rounding_share(6) == agreed.rounding_share(6)


def test_rounds_use_the_weights_that_were_released(weighed: Run) -> None:
    weights = told(weighed)
    assert weights.shape == (1, 2)
    assert weights.max() == 1.0
    assert weights.min() < 1.0
    other = train(planned(None), hospitals(), out=weighed.path.parent / "plain", seed=1)
    one, two = (run.record.directory.load_state().arrays["parameters"] for run in (weighed, other))
    assert not np.allclose(one, two)


def test_counts_and_rounds_meet_the_target_together() -> None:
    plan, plain = planned(), planned(None)
    budget = plan.spent(plan.releases)
    assert budget.epsilon == pytest.approx(8.0, rel=1e-2)
    assert budget.epsilon <= 8.0
    assert plan.noise_multiplier == pytest.approx(plain.noise_multiplier / np.sqrt(0.8), rel=0.02)
    assert plan.preparation is not None
    assert plan.spent(1).epsilon < 8.0
    assert parse_plan(plan.document()) == plan


def test_a_run_is_verified_and_its_model_used_as_any_other(weighed: Run) -> None:
    assert weighed.verify()
    rows = {"age": [30.0, 80.0], "sex": ["f", "m"]}
    model = load_model(weighed.path)
    assert model.predict_proba(rows).tolist() == weighed.predict_proba(rows).tolist()
    page = (weighed.path / "report.html").read_text()
    assert "weigh 2 classes inversely to their noisy counts" in page
    weights = told(weighed).ravel()
    assert f"0: {weights[0]:.3g}, 1: {weights[1]:.3g}" in page
    assert json.loads((weighed.path / "result.json").read_text())["held_out"]["accuracy"]
    # Records are used as they are read, so that silos may be asked about the model afterwards too.
    assert plan_evaluation(weighed.released, capacity=150, target=Target(8.0)).questions


def test_a_run_goes_on_and_a_lost_count_stays_charged(tmp_path: Path) -> None:
    plan = planned()
    with pytest.raises(Killed):
        train(plan, hospitals(), out=tmp_path / "run", seed=1, observe=killed_at(2))
    again = train(plan, hospitals(), out=tmp_path / "run", seed=1, opening=Opening.RESUME)
    assert again.verify()
    assert told(again).max() == 1.0
    with pytest.raises(Killed):
        train(plan, hospitals(), out=tmp_path / "lost", seed=1, observe=killed_at(1))
    for name in ("state.safetensors", "metrics.jsonl"):
        (tmp_path / "lost" / name).unlink()
    lines = (tmp_path / "lost" / "ledger.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "lost" / "ledger.jsonl").write_text("".join(lines[:2]))
    lost = train(plan, hospitals(), out=tmp_path / "lost", seed=1, opening=Opening.RESUME)
    assert lost.record.spending.lost == (1,)
    assert prepared_from(lost.record.directory.load_state().arrays) is None
    assert open_run(lost.path).verify()


@pytest.mark.parametrize("kind", ["persons", "arrays", "untuned"])
def test_persons_arrays_and_settings_left_to_the_plan(kind: str, tmp_path: Path) -> None:
    if kind == "arrays":
        chance = np.random.default_rng(3)
        parts = {
            name: (chance.normal(size=(200, 5)), (chance.uniform(size=200) < 0.2).astype(np.int64))
            for name in SILOS
        }
        own: Any = Arrays(parts, num_classes=2, norm_bound=1.0)
        plan = plan_training(own.public(capacity=200), target=Target(8.0), rounds=2,
                             local=STEPS | {"class_weights": PRIVATE})  # fmt: skip
    elif kind == "persons":
        rules: dict[str, Any] = {"person": {"column": "who", "most_records": 2}}
        own = hospitals(**rules)
        plan = plan_training(own.public(capacity=300), target=Target(8.0, unit="person"), rounds=2,
                             local=STEPS | {"class_weights": PRIVATE})  # fmt: skip
    else:
        own, plan = hospitals(), planned(local={"kind": "stable-steps"}, rounds=2)
    run = train(plan, own, out=tmp_path / "run", seed=1)
    weights = told(run).ravel()
    assert weights.max() == 1.0
    if kind == "arrays":
        assert weights[0] == pytest.approx(0.25, abs=0.1)
    assert run.verify()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "with standardise": ({"data": {"standardise": {"kind": "private"}}}, "it asks about one of the two"),
    "a strange key": ({"training": {"local": STEPS | {"class_weights": {"kind": "private", "mode": 1}}}},
                      r"class_weights\.mode"),
    "no target": ({"privacy": {"epsilon": None, "noise_multiplier": 3.0}}, "'privacy.epsilon' must be given"),
    "a number": ({"data": {"label_range": [0.0, 1.0], "classes": None}}, "class_weights' must be"),
    "several labels": ({"data": {"label": ["ill", "old"], "classes": None}}, "several labels; got 2"),
    "several, evaluated": (
        {"data": {"label": ["ill", "old"], "classes": None}, "evaluate": {"every": 1, "epsilon": 1.0},
         "training": {"local": STEPS}},
        "'evaluate' must not be given where there are several labels.*Train one label, or leave it out"),
    "several, tangents": (
        {"data": {"label": ["ill", "old"], "classes": None},
         "training": {"local": {"kind": "tangent-steps", "learning_rate": 0.1}}},
        "must not be tangent-steps where there are several labels"),
    "exchanged": ({"training": {"sampling": {"kind": "fixed-size", "fraction": 0.5}}}, "fixed-size"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proven_is_refused_in_one_line(name: str) -> None:
    changes, message = REFUSED[name]
    tables: dict[str, Any] = {
        "training": {"rounds": 3, "local": STEPS | {"class_weights": PRIVATE}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
    }
    refuses(tables, changes, message)
