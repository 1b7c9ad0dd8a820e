"""Silos that send by themselves: each protected by all of its own noise, whoever sees what it sends."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import discreet
from discreet.accounting import epsilon
from discreet.accounting.composable import composable
from discreet.config import Config, load_config, parse_config
from discreet.config.run import Dropout
from discreet.config.speed import SpeedConfig
from discreet.engines.flower.consortium import rehearse
from discreet.engines.local import LocalEngine, Opening, RunResult, prepare, run
from discreet.errors import ConfigurationError
from discreet.models import flatten
from discreet.plan import Plan, load_plan
from discreet.plan.composable import composable_cost
from discreet.plan.counted import contributions_of
from discreet.plan.guaranteed import against, event_against
from discreet.plan.persons import for_persons
from discreet.privacy.adversary import SiloMessages
from discreet.privacy.events import GaussianNoise, Release, Repeated
from discreet.privacy.units import Status
from discreet.randomness import SeededRandom
from discreet.rounds import Contribution, RoundOrder, contributions, initial_state, round_order
from discreet.session.composed import SEEDED
from discreet.session.finish import finish
from discreet.session.public import plan_without_data
from discreet.verify import verify
from tests.contracts.neighbours.test_schedule import with_one_more
from tests.end_to_end.test_interruption import Killed, killed_after_the_sum, killed_before_the_sum

EXAMPLE = Path(__file__).parents[2] / "examples" / "alone.toml"
SLOW = "long_beach_va"


def changed(**schedule: Any) -> Config:
    config = load_config(EXAMPLE)
    plain = {"kind": "local", "pace": {"hungary": 2, SLOW: 5}, **schedule}
    document = config.model_dump(mode="json", exclude_none=True)
    document["training"]["schedule"] = plain
    return parse_config(document, source="test")


def weights(result: RunResult) -> str:
    tensors = load_file(result.directory.model)
    return hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).hexdigest()


def test_the_example_runs_says_what_it_is_and_verifies(tmp_path: Path) -> None:
    config = load_config(EXAMPLE)
    result = run(config, tmp_path / "run")
    made = result.plan.timetable
    assert made is not None
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [(line["tick"], tuple(line["survivors"])) for line in lines] == [
        (one.tick, one.silos) for one in made.sums
    ]
    assert result.metrics["accuracy"] > result.metrics["base_rate"] + 0.1
    page = finish(result, None).read_text(encoding="utf-8")
    assert "Without secure aggregation, as planned" in page
    assert "With secure aggregation" not in page
    assert "against another participating silo" not in page
    assert "Masked vector" not in page
    assert "none: every silo&#x27;s message is seen" in page
    assert [found.subject for found in verify(tmp_path / "run")]
    assert load_plan(tmp_path / "run" / "plan.json").digest() == result.plan.digest()
    assert '"protocol": "none"' in (tmp_path / "run" / "plan.json").read_text()


def test_the_same_seed_gives_the_same_bits_for_any_number_of_workers(tmp_path: Path) -> None:
    found = {
        weights(
            run(
                changed(on_model="window", window=2, pace={}).model_copy(update={"speed": speed}),
                tmp_path / str(n),
            )
        )
        for n, speed in enumerate((SpeedConfig(workers=1), SpeedConfig(workers=2)))
    }
    assert len(found) == 1
    assert found != {weights(run(changed(), tmp_path / "latest"))}


def planned(**schedule: Any) -> Plan:
    return prepare(changed(**schedule)).plan


def test_every_silo_has_one_row_for_its_own_contributions_with_its_own_noise() -> None:
    """Against an account that knows nothing of plans: one share, and as many releases as the silo makes."""
    plan = planned(lost=0.9, on_model="wait", max_staleness=3)
    made = plan.timetable
    assert made is not None
    assert plan.release.share.num_silos == 1
    assert [row.adversary for row in plan.guarantees] == [SiloMessages(silo) for silo in plan.facts.silos]
    assert len({made.contributions_of(silo) for silo in plan.facts.silos}) > 1
    for row in plan.guarantees:
        assert isinstance(row.adversary, SiloMessages)
        count = made.contributions_of(row.adversary.silo)
        gaussian = Release(GaussianNoise(plan.noise_multiplier), 1.0, plan.grid.dimension)
        alone = epsilon(Repeated(gaussian, count), delta=plan.privacy.delta).epsilon
        assert row.status is Status.PROVEN
        assert alone <= row.epsilon <= alone * 1.02
    most = max(plan.guarantees, key=lambda row: row.epsilon)
    assert most.epsilon == pytest.approx(plan.privacy.epsilon or 0.0, rel=1e-3)
    assert plan.spent(plan.rounds) == most


def own_variance(plan: Plan) -> float:
    """Returns the variance of one silo's noise, over the squared sensitivity."""
    share = plan.release.share
    return float(share.variance / share.num_silos / plan.release.l2_sensitivity**2)


def test_it_has_more_noise_than_a_secure_sum_of_the_same_silos() -> None:
    document = changed().model_dump(mode="json", exclude_none=True)
    del document["training"]["schedule"]
    document["aggregation"] = {"min_survivors": 4}
    together = prepare(parse_config(document, source="test")).plan
    alone = planned()
    assert alone.noise_multiplier == pytest.approx(together.noise_multiplier, rel=0.01)
    ratio = own_variance(alone) / own_variance(together)
    assert ratio == pytest.approx(3.0, rel=0.02), "a share of three is a third of the variance"


def test_lost_messages_and_kills_cost_what_was_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = changed()
    gone = (
        Dropout(silo="cleveland", round=1, stage="mask"),
        Dropout(silo="switzerland", round=1, stage="mask"),
    )
    lossy = config.model_copy(update={"run": config.run.model_copy(update={"dropouts": gone})})
    for kill, release in ((killed_before_the_sum, 3), (killed_after_the_sum, 5)):
        with monkeypatch.context() as patch:
            kill(patch, release)
            opening = Opening.NEW if release == 3 else Opening.RESUME
            with pytest.raises(Killed):
                run(lossy, tmp_path / "run", opening=opening)
    result = run(lossy, tmp_path / "run", opening=Opening.RESUME)
    assert result.spending.lost[0] == 1
    assert len(result.spending.lost) == 3
    assert result.spending.charged == result.plan.rounds
    assert [row.epsilon for row in result.guarantees] == [row.epsilon for row in result.plan.guarantees]


def test_one_record_moves_one_silos_messages_by_at_most_the_claim() -> None:
    """And a silo begins on the mean of the models that the rule names."""
    made = prepare(changed(on_model="window", window=2))
    plan, source = made.plan, SeededRandom(5)
    silos = {silo.name: silo.train for silo in made.federation.silos}
    neighbours = {**silos, SLOW: with_one_more(silos[SLOW])}
    state, moved = initial_state(plan, flatten(made.model)), 0
    loose = replace(plan, capacities=tuple(one + 1 for one in plan.capacities))
    models = [state.parameters]
    for release in range(1, plan.rounds + 1):
        order = round_order(plan, state, release, release)
        assert order.starts is not None
        assert plan.timetable is not None
        for turn in plan.timetable.sums[release - 1].turns:
            mean = (models[turn.base] + models[max(0, turn.base - 1)]) / 2
            assert np.allclose(order.starts[turn.silo].parameters, mean)
        without, found = (
            contributions(loose, held, order, model=made.model, randomness=source)
            for held in (silos, neighbours)
        )
        for name, contribution in found.items():
            distance = np.linalg.norm(contribution.values - without[name].values)
            assert distance == 0 or name == SLOW
            assert distance <= plan.grid.l2_sensitivity
            moved += int(distance > 0)
        if state.history is not None:
            history = state.history.after(release, state.parameters + 0.01 * release)
            state = replace(state, parameters=history.models[-1], history=history)
            models.append(state.parameters)
    assert 0 < moved <= contributions_of(plan, SLOW)


def test_a_batch_keeps_its_model_in_the_engine_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every contribution that is computed has one start; nothing can change it before it is sent."""
    orders: list[RoundOrder] = []
    real = LocalEngine._contributions

    def seen(self: LocalEngine, order: RoundOrder) -> dict[str, Contribution]:
        orders.append(order)
        return real(self, order)

    monkeypatch.setattr(LocalEngine, "_contributions", seen)
    result = run(changed(), tmp_path / "run")
    made = result.plan.timetable
    assert made is not None
    assert [tuple(order.starts or ()) for order in orders] == [one.silos for one in made.sums]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"aggregation": {"min_survivors": 3}}, "protocol' must be none with 'training.schedule' local"),
        ({"aggregation": {"protocol": "none", "min_survivors": 3}}, "must be left out with"),
        ({"aggregation": {"protocol": "none", "max_colluding": 1}}, "no sum is secret there"),
        ({"aggregation": {"protocol": "none", "mode": "semi-honest"}}, "so that they mean nothing"),
        ({"schedule": None, "aggregation": {"protocol": "none"}}, "and there alone; got none"),
        ({"schedule": {"kind": "local", "on_model": "interrupt"}}, r"moved by a record by \(1 \+ 2I\) clip"),
        ({"clip_norm": {"quantile": 0.5, "initial": 1.0}}, "clip_norm' must be a number with"),
    ],
)
def test_what_means_nothing_is_refused_in_one_line(
    tmp_path: Path, tables: dict[str, Any], message: str
) -> None:
    schedule = tables.get("schedule", {"kind": "local"})
    stated: dict[str, Any] = {
        "data": {"source": "heart-disease", "record_capacity": 300},
        "training": {
            "rounds": 4,
            "local": {"kind": "single-step"},
            **({} if schedule is None else {"schedule": schedule}),
        },
        "privacy": {"epsilon": 4.0, "delta": 1e-5, "clip_norm": tables.get("clip_norm", 1.0)},
        **({"aggregation": tables["aggregation"]} if "aggregation" in tables else {}),
    }
    with pytest.raises(ConfigurationError, match=message):
        run(parse_config(stated, source="test"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_real_silos_refuse_it_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"must not be local over real silos.*`discreet run` carries"
    ):
        rehearse(load_config(EXAMPLE), tmp_path / "up")
    assert not (tmp_path / "up").exists()


def at_paces(pace: dict[str, int], silos: dict[str, Any] | None = None) -> Plan:
    document = changed(pace=pace).model_dump(mode="json", exclude_none=True)
    return plan_without_data(parse_config(document | ({} if silos is None else {"silos": silos})))


def weakest_row(plan: Plan, sums: int) -> float:
    return max(against(plan, SiloMessages(silo), 1, rounds=sums).epsilon for silo in plan.facts.silos)


@pytest.mark.parametrize(
    ("pace", "silos"),
    [
        ({"cleveland": 9}, None),
        ({"hungary": 2}, {"cleveland": {"learning_rate": 0.01}}),
        ({SLOW: 5}, {SLOW: {"learning_rate": 0.01}, "hungary": {"learning_rate": 0.02}}),
    ],
    ids=["the first silo is the slowest", "the first silo is protected best", "three sorts"],
)
def test_what_is_spent_is_what_the_least_protected_silo_has_spent(
    pace: dict[str, int], silos: dict[str, Any] | None
) -> None:
    plan = at_paces(pace, silos)
    assert all(row.silo is None for row in plan.guarantees), "each row is of one silo's messages"
    for sums in range(plan.releases + 1):
        assert plan.spent(sums).epsilon == weakest_row(plan, sums)
    (_, several), *_ = for_persons(plan, records=(1,))
    assert several.epsilon == weakest_row(plan, plan.releases)
    target = plan.privacy.epsilon
    assert target is not None
    assert 0.98 * target < plan.spent(plan.releases).epsilon <= target
    alone = [event_against(plan, SiloMessages(silo), 1, rounds=plan.releases) for silo in plan.facts.silos]
    most = max(composable(event, plan.release.neighboring).mu or 0.0 for event in alone)
    assert composable_cost(plan)["mu"] == most


def test_runs_together_cost_what_the_least_protected_silo_has_spent(tmp_path: Path) -> None:
    plan = at_paces({"cleveland": 3}, {"cleveland": {"learning_rate": 0.01}})
    run = discreet.train(plan, out=tmp_path / "run", seed=1)
    assert run.plan.guarantees == plan.guarantees
    once, twice = (discreet.composed([run] * count, delta=plan.privacy.delta) for count in (1, 2))
    assert once.epsilon == pytest.approx(weakest_row(plan, plan.releases))
    assert twice.epsilon > 1.3 * once.epsilon
    assert SEEDED in once.assumptions
    report = (tmp_path / "run" / "report.html").read_text()
    assert "messages: records of" not in report
