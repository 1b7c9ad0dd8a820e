"""Release 0 asks the records that are trained on: every guarantee is of both, and so is the target."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from discreet.accounting import epsilon
from discreet.config import parse_config
from discreet.config.evaluated import evaluation
from discreet.data.standard import Place
from discreet.errors import ConfigurationError
from discreet.kinds import Asked, StableStepsConfig
from discreet.plan import Plan, parse_plan, seen
from discreet.plan.centring import Centring
from discreet.plan.counted import one_after_the_other, parts
from discreet.plan.follows import unlike_its_config
from discreet.plan.guaranteed import event_against
from discreet.plan.order import Order
from discreet.plan.persons import for_persons
from discreet.plan.standardising import Standardising
from discreet.plan.sweep import costs
from discreet.privacy.events import Composed
from discreet.privacy.wire import digest
from discreet.session import plan_without_data

SILOS = ("a", "b", "c")
DATA: dict[str, Any] = {
    "source": "csv:unset.csv",
    "label": "sick",
    "ranges": {"age": [0.0, 600.0], "days": [0.0, 900.0], "dose": [0.0, 1.0]},
    "categories": {"stage": ["I", "II", "III"]},
    "missing": {"days": "indicator"},
    "record_capacity": dict.fromkeys(SILOS, 300),
    "partition": {"kind": "column", "column": "site", "names": list(SILOS)},
    "standardise": {"kind": "private"},
}
LOCAL: dict[str, Any] = {"kind": "single-step"}
PERSON = {"column": "who", "capacity": dict.fromkeys(SILOS, 100), "most_records": 3, "most_silos": 2}


def tables(**changes: Any) -> dict[str, Any]:
    """A config; of a change ``table__key`` only that key, None leaves it out."""
    found: dict[str, Any] = {
        "data": dict(DATA),
        "training": {"rounds": 5, "local": LOCAL},
        "privacy": {"epsilon": 2.0, "delta": 1e-5, "clip_norm": 1.0},
    }
    for path, value in changes.items():
        table, _, key = path.partition("__")
        if key:
            found[table] = {**found.get(table, {}), key: value}
        else:
            found[table] = value
        found[table] = {name: own for name, own in found[table].items() if own is not None}
    return found


def places(plan: Plan) -> tuple[Place, ...]:
    return Standardising(plan.config, plan.facts).places


def planned(**changes: Any) -> Plan:
    return plan_without_data(parse_config(tables(**changes), source="test"))


PERSONS: dict[str, Any] = {"data__record_capacity": None, "data__person": PERSON, "privacy__unit": "person"}
PROJECT = {"kind": "private-pca", "components": 3, "share": 0.2}
KINDS: dict[str, dict[str, Any]] = {
    "single-step": {},
    "sampled": {"training__sampling": {"kind": "poisson", "probability": 0.3}},
    "stable-steps": {"training": {"local": {"kind": "stable-steps"}}, "privacy__clip_norm": None},
    "quantile": {"privacy__clip_norm": {"quantile": 0.5, "initial": 1.0}},
    "skellam": {"privacy__mechanism": "skellam"},
    "colluding": {"aggregation": {"min_survivors": 3, "max_colluding": 1}},
    "persons": PERSONS,
    "evaluated": {"evaluate": {"every": 2, "epsilon": 2.0}},
    "segments": {
        "training__segments": [{"rounds": 2, "noise_scale": 2.0}, {"rounds": 3, "clip_norm": 0.5}],
        "training__rounds": None,
    },
    "most of it": {"data__standardise": {"kind": "private", "share": 0.9}},
    "centred": {"data__standardise": None, "data__centre": {"kind": "private", "share": 0.05}},
    "projected persons": PERSONS | {"data__standardise": None, "data__project": PROJECT},
}


@pytest.fixture(scope="module", params=KINDS)
def plan(request: pytest.FixtureRequest) -> Plan:
    return planned(**KINDS[request.param])


def misses_a_release(plan: Plan) -> bool:
    """Says whether a row claims less than an accountant finds for both stages, put together by hand."""
    asked, alone = plan.preparation, replace(plan, preparation=None, evaluation=None)
    assert asked is not None
    for row in plan.guarantees:
        honest = dict(plan.adversaries())[row.adversary]
        events = tuple(
            event_against(stage, row.adversary, honest, rounds=stage.rounds) for stage in (asked, alone)
        )
        whole = epsilon(Composed(events), delta=row.delta, neighboring=plan.release.neighboring)
        if row.epsilon < (1 - 1e-9) * whole.epsilon:
            return True
    return False


def test_every_row_is_of_the_preparation_and_the_rounds_together(plan: Plan) -> None:
    assert not misses_a_release(plan)


def test_the_target_is_met_and_used_up(plan: Plan) -> None:
    """By both together: half of the budget that is nobody's would be as wrong as none."""
    assert 1.99 <= plan.spent(plan.releases).epsilon <= 2.0


def test_the_preparation_gets_its_share(plan: Plan) -> None:
    share = plan.data.preparation.share if plan.data.preparation else 0.0
    first = plan.spent(1).epsilon
    assert 0.0 < first < 2.0
    alone = planned(**{"data__standardise": {"kind": "private", "share": 0.01}}).spent(1).epsilon
    assert (first > alone) == (share > 0.01)


def test_a_composition_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fault that matters most: rounds that do not know of the release before them."""

    def forgetful(plan: Plan, releases: int) -> Any:
        return one_after_the_other(plan, releases)[-1:]

    monkeypatch.setattr(seen, "one_after_the_other", forgetful)
    assert misses_a_release(planned())


def test_the_releases_are_in_a_fixed_order() -> None:
    plan = planned(evaluate={"every": 2, "epsilon": 2.0})
    assert plan.releases == 1 + 5 + 3
    assert [plan.order.prepares(release) for release in range(1, 10)] == [True] + [False] * 8
    evaluations = [release for release in range(1, 10) if plan.order.evaluates(release)]
    assert evaluations == [4, 7, 9]
    assert [plan.order.round_of(release) for release in range(1, 10)] == [0, 1, 2, 2, 3, 4, 4, 5, 5]
    order = Order(5, 2, preparing=1)
    assert [order.evaluated(count) for count in range(10)] == [0, 0, 0, 0, 1, 1, 1, 2, 2, 3]


def test_an_evaluation_does_not_pay_for_the_preparation() -> None:
    """It asks the other side, which release 0 does not."""
    plan = planned(evaluate={"every": 5, "epsilon": 0.5})
    (training, rounds), (asked, count) = parts(plan, plan.releases)
    assert (rounds, count) == (6, 1)
    assert asked.spent(count).epsilon <= 0.5
    assert training.spent(rounds).epsilon == plan.spent(plan.releases).epsilon > 1.99


def test_a_plan_is_read_back_and_follows_from_its_config(plan: Plan) -> None:
    read = parse_plan(plan.document())
    assert read.digest() == plan.digest()
    assert unlike_its_config(read) is None


def test_a_plan_whose_columns_cannot_be_read_is_none() -> None:
    document = json.loads(planned().document())
    document["plan"]["config"]["data"]["ranges"]["age"] = [0, 0]
    document["digest"] = digest(document["plan"])
    with pytest.raises(ConfigurationError, match="the plan must be a plan; a field of it is not") as refused:
        parse_plan(json.dumps(document).encode())
    assert type(refused.value) is ConfigurationError


@pytest.mark.parametrize("key", ["release", "grid", "capacities", "guarantees"])
def test_a_preparation_with_less_noise_than_its_config_leads_to_is_found(key: str) -> None:
    altered, weaker = (json.loads(planned(**own).document()) for own in ({}, {"privacy__epsilon": 9.0}))
    if key == "capacities":
        weaker["plan"]["preparation"][key] = [1, 1, 1]
    altered["plan"]["preparation"][key] = weaker["plan"]["preparation"][key]
    altered["digest"] = digest(altered["plan"])
    difference = unlike_its_config(parse_plan(json.dumps(altered).encode()))
    assert difference is not None
    assert difference.path.startswith(("preparation", "guarantees"))


def test_a_preparation_that_is_left_out_of_a_plan_is_refused() -> None:
    document = json.loads(planned().document())
    del document["plan"]["preparation"]
    document["digest"] = digest(document["plan"])
    with pytest.raises(ConfigurationError, match="'preparation' of a plan must be there if"):
        parse_plan(json.dumps(document).encode())


def test_other_plans_are_what_they_were() -> None:
    plan = planned(data__standardise=None)
    assert '"preparation"' not in plan.document().decode()
    assert plan.releases == plan.rounds
    assert one_after_the_other(plan, 3) == ((plan, 3),)


def test_settings_that_the_plan_works_out_see_what_is_left() -> None:
    left = {"privacy__clip_norm": None, "training": {"local": {"kind": "stable-steps"}}}
    rates = []
    for share in (None, 0.19, 0.75):
        stated = None if share is None else {"kind": "private", "share": share}
        local = planned(**left, data__standardise=stated).training.local
        assert isinstance(local, StableStepsConfig)
        rates.append(local.learning_rate)
    assert rates[1] == pytest.approx(0.9 * rates[0])
    assert rates[2] == pytest.approx(0.5 * rates[0])


def test_it_asks_where_the_numbers_are() -> None:
    plan = planned()
    found = [(place.number, place.missing) for place in places(plan)]
    assert found == [(0, None), (1, 2), (3, None)]
    asked = plan.preparation
    assert asked is not None
    training = asked.silo_training("a")
    assert isinstance(training, Asked)
    assert len({one.block.size for one in training.blocks}) == 1
    assert asked.facts.feature_shape == plan.facts.feature_shape


def test_columns_in_bins_are_not_asked() -> None:
    assert [place.number for place in places(planned(data__bins={"age": 4}))] == [4, 6]


def test_several_records_of_one_person_count_in_both(plan: Plan) -> None:
    for count, row in for_persons(plan):
        assert row.epsilon > plan.spent(plan.releases).epsilon * (1 if count > 1 else 0.99)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a share of nothing": ({"data__standardise": {"kind": "private", "share": 0.0}}, "from 0.001 to 0.9"),
    "all of it": ({"data__standardise": {"kind": "private", "share": 1.0}}, "from 0.001 to 0.9"),
    "no floor": ({"data__standardise": {"kind": "private", "floor": 0.0}}, "must be above 0"),
    "another kind": ({"data__standardise": {"kind": "public"}}, "'private'"),
    "no ranges": ({"data__ranges": None, "data__missing": None}, "columns of 'ranges' or 'dates'"),
    "too many columns": ({"data__ranges": {f"g{n}": [0.0, 1.0] for n in range(65)}, "data__missing": None},
                         "at most 64 columns of 'ranges' and 'dates', which share one noisy sum; got 65."),
    "all in bins": ({"data__bins": 4}, "columns of 'ranges' or 'dates'"),
    "clients": ({"privacy__unit": "client", "training__local": {"kind": "clipped-update",
                 "learning_rate": 0.1}}, "without the client unit"),
    "no target": ({"privacy__epsilon": None, "privacy__noise_multiplier": 3.0}, "'privacy.epsilon' must be"),
    "fixed size": ({"training__sampling": {"kind": "fixed-size", "fraction": 0.1}}, "without fixed-size"),
    "fixed size in segments": ({"training__segments": [{"rounds": 2, "sampling": {"kind": "fixed-size",
                               "fraction": 0.1}}], "training__rounds": None}, "without fixed-size"),
    "a schedule": ({"training__schedule": {"kind": "buffered", "buffer": 2, "pace": {"a": 2}}},
                   "without 'training.schedule'"),
    "noisy steps": ({"training__local": {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 2}},
                    "without noisy-steps"),
    "an image": ({"data__transform": "scattering", "data__source": "npz:x.npz"}, "ranges"),
    "two of them": ({"data__project": PROJECT}, "standardise and project must not both be given"),
    "no fewer directions": ({"data__standardise": None, "data__project": PROJECT | {"components": 7}},
                            "'data.project.components' must be less than the 7 features of a record; got 7"),
    "too many features": ({"data__standardise": None, "data__project": PROJECT, "data__categories":
                          {"stage": [str(n) for n in range(1020)]}}, "for at most 1024 features"),
    "groups": ({"data__standardise": None, "data__project": PROJECT, "evaluate": {"every": 1, "epsilon": 1.0,
                "by": "stage"}}, "'evaluate.by' must be left out with 'data.project'"),
    "asked by itself": ({"data__asked": "training"}, "must be left out where questions are asked"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proven_is_refused_in_one_line(name: str) -> None:
    changes, said = REFUSED[name]
    with pytest.raises(ConfigurationError) as refused:
        planned(**changes)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "'ask." not in str(refused.value)


def test_only_a_preparation_asks_training_records() -> None:
    asked = tables(data__standardise=None, data__asked="training")
    del asked["training"], asked["privacy"]["clip_norm"]
    with pytest.raises(ConfigurationError, match=r"state 'data\.standardise'"):
        plan_without_data(parse_config({**asked, "ask": [{"kind": "count"}]}, source="test"))


def test_moments_of_whole_records_are_for_preparations_alone() -> None:
    question = {"kind": "second-moments", "features": 8, "norm_bound": 1.0}
    asked = tables(data__standardise=None, data__label=None)
    del asked["training"], asked["privacy"]["clip_norm"]
    with pytest.raises(ConfigurationError, match="must ask moments of columns"):
        plan_without_data(parse_config({**asked, "ask": [question]}, source="test"))


def test_records_of_a_function_need_not_end_with_a_constant() -> None:
    plan = planned(data__standardise=None, data__centre={"kind": "private"})
    data = plan.data.model_copy(update={"source": "mine:records"})
    with pytest.raises(ConfigurationError, match="as those of files, arrays and bundled sources do"):
        Centring(plan.config.model_copy(update={"data": data}), plan.facts).require_suitable()


def test_a_projection_is_smaller_in_rounds() -> None:
    plan = planned(data__standardise=None, data__project=PROJECT)
    assert plan.preparation is not None
    assert (plan.facts.feature_shape, plan.model_shape) == ((8,), (4,))
    assert plan.grid.dimension == 4
    assert plan.preparation.grid.dimension == 9 + 36
    assert plan.map_length(2) == 3 * 8


def test_silos_are_not_asked_about_a_model_that_standardises() -> None:
    with pytest.raises(ConfigurationError, match="it standardises them"):
        evaluation(planned().to_json(), "0" * 64, [[0.0]], {})  # type: ignore[arg-type]


def test_a_preparation_moves_neither_segments_nor_a_rate_that_falls() -> None:
    local = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 2}
    segments = [{"rounds": 2}, {"rounds": 2, "noise_scale": 0.5}]
    plan = planned(training={"local": local, "segments": segments}, privacy__clip_norm=None)
    assert plan.order.beginnings == (2, 4)
    assert [own.release for _, own in plan.segment_plans()] == [stage.release for stage in plan.stages]
    plan = planned(training={"local": local | {"decay": 0.5}, "rounds": 3}, privacy__clip_norm=None)
    assert plan.order.beginnings == (2,)
    assert [plan.silo_training("a", release).unit_length for release in (1, 2, 3)] == [1.0, 1.0, 0.5]


@pytest.mark.parametrize("decay", [0.9, {"kind": "inverse-time", "rate": 1.0}])
@pytest.mark.parametrize(
    "local", [{"kind": "stable-steps", "steps": "each"}, {"kind": "sharded", "groups": 5, "batch_size": 8}]
)
def test_a_rate_that_falls_begins_at_the_first_round_and_not_at_the_preparation(
    decay: Any, local: dict[str, Any]
) -> None:
    falling = {**local, "learning_rate": 0.1, "decay": decay}
    norm = None if local["kind"] == "stable-steps" else 1.0
    prepared = planned(training__local=falling, privacy__clip_norm=norm)
    alone = planned(training__local=falling, privacy__clip_norm=norm, data__standardise=None)
    assert prepared.order.first_round == 2
    assert alone.order.first_round == 1
    for release in (None, 0, 1, 2):
        assert prepared.silo_training("a", release) == alone.silo_training("a", 1)
    assert prepared.silo_training("a", 3) == alone.silo_training("a", 2) != alone.silo_training("a", 1)
    assert costs(prepared).noise_norm > 0.0
