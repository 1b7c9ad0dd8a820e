"""Questions that cannot be asked: one line that names the key, before anything is read."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from discreet.accounting.polya import unit_loss
from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.mechanisms import per_silo
from discreet.plan import Plan, asked, make_plan, parse_plan
from discreet.plan.narrower import narrower_by_laplace
from discreet.plan.over_records import plan_over_records
from discreet.plan.persons import for_persons
from discreet.privacy.adversary import Member, WithoutSecureAggregation
from discreet.privacy.events import PolyaNoise
from discreet.session import plan_without_data

SILOS = {"north": 100, "south": 100, "east": 100}
DATA: dict[str, Any] = {
    "source": "csv:tables/",
    "record_capacity": SILOS,
    "ranges": {"age": [20, 90], "days": [0, 1000], "died": [0, 1], "kind": [0, 2]},
    "dates": {"seen": {"from": "2020-01-01", "to": "2020-12-31"}},
    "categories": {"sex": ["f", "m"], "stage": ["I", "II", "III"]},
}


def planned(*questions: dict[str, Any], data: dict[str, Any] | None = None, **tables: Any) -> Plan:
    whole = {"data": DATA | (data or {}), "ask": list(questions), "privacy": {"epsilon": 1.0, "delta": 1e-5}}
    return plan_without_data(parse_config(whole | tables))


COUNT = {"kind": "count"}
HAZARDS: dict[str, Any] = {"kind": "hazards", "time": "days", "event": "died", "on": ["stage"]}
LOGISTIC: dict[str, Any] = {"kind": "logistic-regression", "outcome": "died", "on": ["sex"]}
SURVIVAL = {"kind": "survival", "time": "days", "event": "died"}


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"kind": "table", "of": ["weight"]}, "'of' must name a column .*got 'weight'"),
        ({"kind": "table", "of": ["age"], "bins": {"age": [50, 40]}}, "edges must increase"),
        ({"kind": "table", "of": ["age"], "bins": {"age": [10]}}, "inside the range"),
        ({"kind": "table", "of": ["age"], "bins": {"age": [20]}}, "must have an edge inside its range"),
        ({"kind": "table", "of": ["age"], "bins": {"sex": 3}}, "bins must be of columns in 'of'"),
        ({"kind": "table", "of": ["age", "age"]}, "every column once"),
        ({"kind": "table", "of": ["age", "days"], "bins": {"age": 1000, "days": 1000}}, "at most 65,536"),
        ({"kind": "moments", "of": ["sex"]}, "'sex' is one of texts"),
        ({"kind": "moments", "of": ["age"], "components": 2}, "at most the number of columns, 1; got 2"),
        ({"kind": "quantiles", "of": "stage"}, "'stage' is one of texts"),
        ({"kind": "quantiles", "of": "age", "at": [1.0]}, "must be below 1"),
        ({"kind": "linear-regression", "outcome": "age", "on": ["age"]}, "must be distinct"),
        ({"kind": "linear-regression", "outcome": "sex", "on": ["age"]}, "'sex' is one of texts"),
        (SURVIVAL | {"event": "kind"}, r"'event' must be 0 or 1, with the range \[0, 1\]"),
        (SURVIVAL | {"event": "stage"}, "two texts; 'stage' has 3"),
        (SURVIVAL | {"event": "sex", "happened": "x"}, "'happened' must be one of f, m; got 'x'"),
        (SURVIVAL | {"by": "age"}, "'by' must be a column of texts"),
        (SURVIVAL | {"by": "days"}, "must be distinct"),
        (HAZARDS | {"event": "kind"}, r"'event' must be 0 or 1, with the range \[0, 1\]"),
        (HAZARDS | {"on": ["weight"]}, r"'on' must name a column of 'data\.ranges'.*got 'weight'"),
        (HAZARDS | {"time": "sex"}, "'sex' is one of texts"),
        (HAZARDS | {"on": ["stage", "days"]}, "columns must be distinct"),
        (
            HAZARDS | {"reference": {"stage": "IV"}},
            "'reference' of 'stage' must be one of I, II, III; got 'IV'",
        ),
        (HAZARDS | {"reference": {"sex": "f"}}, "reference must be of columns that are asked; 'sex' is none"),
        (HAZARDS | {"bins": {"sex": 2}}, "bins must be of columns that are asked; 'sex' is none"),
        (HAZARDS | {"bins": {"days": 65}}, "'bins' of 'days' must be at most 64; got 65"),
        (HAZARDS | {"on": ["stage", "age"], "bins": {"age": 200}}, "at most 512 combinations.*got 804"),
        (
            HAZARDS | {"on": ["stage", "age"], "bins": {"age": 120, "days": 64}},
            "at most 65,536 numbers; got 95,",
        ),
        (HAZARDS | {"happened": "yes"}, "'happened' must be one of 0, 1; got 'yes'"),
        (HAZARDS | {"link": "probit"}, "cloglog"),
        (LOGISTIC | {"outcome": "stage"}, "'outcome' must be a column of two texts; 'stage' has 3"),
        (LOGISTIC | {"outcome": "age"}, "'outcome' must be 0 or 1"),
        (LOGISTIC | {"on": ["died"]}, "columns must be distinct"),
        (LOGISTIC | {"on": []}, "a list of at least 1"),
        ({"kind": "mode"}, "'count', 'table'"),
        ({"kind": "moments", "of": "age"}, r"must be a list, as in of = \[\"age\"\]; got 'age'"),
        ({"kind": "count", "of": "age"}, "unknown key 'ask.0.of'"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_line(question: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as refused:
        planned(question)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "tables", "words"),
    [
        ({"label": "sex"}, {}, "label must be left out where questions are asked"),
        ({"bins": 5}, {}, "bins must be left out"),
        ({}, {"training": {"rounds": 2, "local": {"kind": "single-step"}}}, "either 'ask' or a training"),
        ({}, {"model": {"name": "logistic"}}, "either 'ask' or a training"),
        ({}, {"privacy": {"epsilon": 1, "delta": 1e-5, "unit": "client"}}, "record or person"),
        (
            {},
            {"privacy": {"epsilon": 1, "delta": 1e-5, "clip_norm": 1.0}},
            "must be left out where questions",
        ),
        ({"source": "npz:a.npz", "ranges": None, "dates": None, "categories": None}, {}, "must be a table"),
        ({"record_capacity": dict.fromkeys(SILOS, 1 << 21)}, {}, "capacity"),
        ({}, {"ask": []}, "a list of at least 1"),
        ({}, {"ask": [COUNT] * 65}, "a list of at most 64"),
    ],
)
def test_a_config_that_is_half_a_training_is_refused(
    data: dict[str, Any], tables: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as refused:
        planned(COUNT, data=data, **tables)
    assert "\n" not in str(refused.value)


def test_records_without_a_label_train_nothing() -> None:
    whole = {
        "data": DATA | {"asked": True},
        "training": {"rounds": 1, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
    }
    with pytest.raises(ConfigurationError, match=r"'data\.label' must be given where a model is trained"):
        parse_config(whole)


def test_a_plan_of_questions_reads_itself_back() -> None:
    plan = planned(COUNT, SURVIVAL | {"by": "stage"}, {"kind": "table", "of": ["seen"], "bins": {"seen": 12}})
    again = parse_plan(plan.document())
    assert again == plan
    assert again.digest() == plan.digest()
    assert plan.facts.dimension == 1 + 4 * 26 * 3 + 13


def test_ratios_need_one_cell_for_each_combination() -> None:
    plan = planned(
        HAZARDS
        | {"on": ["stage", "age"], "bins": {"age": [50, 70], "days": 6}, "reference": {"age": "50 to 70"}},
        LOGISTIC | {"happened": "0"},
    )
    assert parse_plan(plan.document()) == plan
    assert plan.facts.dimension == 4 * 4 * (6 + 2) * 3 + 3 * 3


def test_the_noise_of_one_sum_does_not_grow_with_the_number_of_questions() -> None:
    alone, many = planned(COUNT), planned(COUNT, COUNT, COUNT)
    assert many.noise_multiplier == pytest.approx(alone.noise_multiplier, rel=0.01)
    assert many.rounds == 1


def evaluated(**changes: Any) -> dict[str, Any]:
    question = {"kind": "evaluation", "weights": [[0.1] * 11], "trained": "0" * 64, "silos": sorted(SILOS)}
    return question | changes


HELD_OUT: dict[str, Any] = {"asked": "held-out", "test_fraction": 0.5, "label": "outcome"}


@pytest.mark.parametrize(
    ("question", "data", "words"),
    [
        ({"weights": [[float("nan")] * 11]}, {}, "finite number"),
        ({"weights": [[0.1] * ((1 << 16) + 1)]}, {}, "a list of at most 65536"),
        ({"weights": [[0.1] * 12]}, {}, "a number for each of 11 features; got 12"),
        ({"weights": [[0.1] * 11] * 3}, {}, "a row for each logit of 2 classes; got 3"),
        ({"silos": ["north", "south"]}, {}, "the training's own silos"),
        ({"by": "age"}, {}, "'by' must name a column of"),
        ({"bins": [0.5, 0.4]}, {}, "edges must increase"),
        ({}, {"test_fraction": 0.0}, "test_fraction must be above 0"),
        ({}, {"asked": True, "label": None}, 'must be "held-out" where a model is evaluated'),
        ({"title": "a\nb"}, {}, "one line of printable characters"),
        ({"title": "\x1b[2J"}, {}, "one line of printable characters"),
    ],
)
def test_an_evaluation_of_something_else_is_refused(
    question: dict[str, Any], data: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        planned(evaluated(**question), data=HELD_OUT | data)


def test_questions_of_too_many_numbers_together_are_refused() -> None:
    large = {"kind": "table", "of": ["age", "days"], "bins": {"age": 250, "days": 250}}
    with pytest.raises(ConfigurationError, match=r"all questions together must have at most 262,144 numbers"):
        planned(*[large] * 5)


def test_a_plan_whose_records_have_other_classes_than_its_questions_is_refused() -> None:
    """A record of a class without a cell must be none that a silo could meet."""
    plan = planned(evaluated(), data=HELD_OUT)
    facts = dataclasses.replace(plan.facts, num_classes=10)
    with pytest.raises(ConfigurationError, match=r"11 features and 2 classes; got .* and 10"):
        make_plan(plan.config, facts)


def test_a_bundled_source_takes_no_rules_of_columns() -> None:
    """Its questions would be about other columns than the ones that a silo reads."""
    whole = {
        "data": {"source": "heart-disease", "record_capacity": 400, "ranges": {"age": [0, 9]}},
        "ask": [COUNT],
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
    }
    plain = {"data": {"source": "heart-disease", "record_capacity": 400}, "ask": [COUNT]}
    facts = plan_over_records(parse_config(whole | plain)).plan.facts
    with pytest.raises(ConfigurationError, match="must say nothing of columns"):
        make_plan(parse_config(whole), facts)


def test_many_silos_cost_a_plan_no_more_questions() -> None:
    """Blocks are worked out once for all silos."""
    counted = []
    original = asked.asked_blocks

    def counts(config: Any) -> Any:
        counted.append(config)
        return original(config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.plan.training.asked_blocks", counts)
        planned(COUNT, data={"record_capacity": {f"s{number}": 9 for number in range(40)}})
    assert len(counted) <= 2


LAPLACE = {"epsilon": 1.0, "delta": 1e-5, "mechanism": "discrete-laplace"}


@pytest.mark.parametrize("count", [1, 2, 5])
def test_discrete_laplace_noise_is_one_whole_of_the_shares_that_are_sure(count: int) -> None:
    questions: list[dict[str, Any]] = [COUNT, {"kind": "table", "of": ["sex"]}, SURVIVAL, HAZARDS, LOGISTIC]
    asked = questions[:count]
    plan = planned(*asked, privacy=LAPLACE)
    share = plan.release.share
    assert isinstance(share, PolyaNoise)
    assert share.whole == share.num_silos == plan.thresholds.honest_survivors == 2
    assert share.scale == pytest.approx(count, rel=2e-4)
    assert share.scale >= count
    rows = {type(row.adversary): row for row in plan.guarantees}
    assert 0.999 < rows[Member].epsilon <= 1.0
    # A single message has half a share's worth: more than the target, and no more than Theorem 7 says.
    alone, one = rows[WithoutSecureAggregation].epsilon, per_silo(share, 1)
    assert isinstance(one, PolyaNoise)
    assert alone == pytest.approx(count * unit_loss(one), rel=1e-6)
    assert alone > 1.2
    # Somebody with k records: each of them costs as much.
    for records, row in for_persons(plan):
        assert row.epsilon == pytest.approx(records * rows[Member].epsilon, rel=1e-6)


def test_discrete_laplace_noise_is_narrower_for_a_question_and_wider_for_many() -> None:
    one = planned(COUNT)
    found = narrower_by_laplace(one)
    assert found is not None
    assert found[0] == pytest.approx(3.76, rel=0.01)
    assert found[1] == pytest.approx(1.36, rel=0.01)
    assert narrower_by_laplace(planned(COUNT, privacy=LAPLACE)) is None
    assert narrower_by_laplace(planned(*[COUNT] * 10)) is None
    assert narrower_by_laplace(planned({"kind": "moments", "of": ["age"]})) is None


@pytest.mark.parametrize(
    ("questions", "tables", "words"),
    [
        ([COUNT, {"kind": "moments", "of": ["age"]}], {}, "question 2 does, and got discrete-laplace"),
        ([COUNT | {"weight": 2}, SURVIVAL], {}, "questions of one weight.*got unit record and weights 2, 1"),
        ([COUNT], {"aggregation": {"rotation": True}}, "without 'aggregation.rotation'"),
        ([COUNT], {"aggregation": {"noise_first": True}}, "must be rounded-gaussian"),
        (
            [COUNT],
            {"privacy": LAPLACE | {"epsilon": 1e-5}},
            "'privacy.epsilon' must be at least .* got 1e-05",
        ),
    ],
)
def test_what_discrete_laplace_noise_is_not_for(
    questions: list[dict[str, Any]], tables: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        planned(*questions, **({"privacy": LAPLACE} | tables))
    assert "\n" not in str(caught.value)


def test_persons_are_asked_with_gaussian_noise() -> None:
    person = {"column": "who", "capacity": SILOS, "most_records": 3}
    data = {"person": person, "record_capacity": None}
    with pytest.raises(ConfigurationError, match="must be with the record unit"):
        planned(COUNT, data=data, privacy=LAPLACE | {"unit": "person"})


def test_a_model_is_trained_with_gaussian_noise() -> None:
    whole = {
        "data": {"source": "heart-disease", "record_capacity": 300},
        "training": {"rounds": 2, "local": {"kind": "stable-steps"}},
        "privacy": LAPLACE,
    }  # fmt: skip
    with pytest.raises(ConfigurationError, match="must be with questions"):
        plan_over_records(parse_config(whole))
