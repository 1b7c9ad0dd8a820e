"""What a silo lets through, and what it refuses with which code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest

from discreet.config import parse_config
from discreet.engines.local import prepare
from discreet.kinds import BufferedConfig
from discreet.models import build_model, described
from discreet.plan.follows import first_difference
from discreet.privacy.adversary import Member
from discreet.privacy.units import Status, Unit
from discreet.session import plan_without_data
from discreet.silo.policy import Account, Charge, Policy, PolicyRefusal, RefusalCode, read_plan, review
from tests.support.honest_plans import plan_again

TODAY = date(2026, 1, 1)
NOTHING = Account({})


def changed(policy: Policy, table: str, **values: Any) -> Policy:
    part = getattr(policy, table).model_copy(update=values)
    return policy.model_copy(update={table: part})


def refusal(
    document: bytes,
    policy: Policy,
    account: Account = NOTHING,
    today: date = TODAY,
    approved: frozenset[str] = frozenset(),
) -> PolicyRefusal:
    with pytest.raises(PolicyRefusal) as caught:
        review(read_plan(document), policy, account, today=today, approved=approved)
    return caught.value


def test_a_plan_that_keeps_the_rules_is_approved_at_the_silos_own_numbers(
    document: bytes, policy: Policy
) -> None:
    approval = review(read_plan(document), policy, NOTHING, today=TODAY, approved=frozenset())
    planned = read_plan(document).guarantees
    stated = next(row for row in planned if row.adversary == approval.cost.adversary)
    assert approval.cost.epsilon == pytest.approx(stated.epsilon, rel=1e-12)


def test_the_model_built_here_has_the_digest_that_the_plan_states(
    altered: Callable[..., Any], policy: Policy
) -> None:
    """A policy that pins no weights does not take the plan's word for them."""
    unpinned = changed(policy, "require", models=("logistic",))
    error = refusal(altered(lambda plan: plan["facts"].update(model_digest="0" * 64)), unpinned)
    assert error.code is RefusalCode.PLAN
    assert "'facts.model_digest' must be that of the model built here" in str(error)


def test_a_plan_that_miscounts_its_weights_is_refused_before_its_model_is_made(
    altered: Callable[..., Any], policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.plan.public_model.build_model", pytest.fail)
    unpinned = changed(policy, "require", models=("mlp",))

    def huge(plan: dict[str, Any]) -> None:
        plan["config"]["model"]["name"] = "mlp"
        plan["config"]["training"]["local"] = {"kind": "single-step"}
        plan["config"]["privacy"]["clip_norm"] = 1.0
        plan["facts"].update(feature_shape=[200_000], linear=False)
        plan_again(plan)

    assert "'facts.dimension' must be the weights of 'mlp'" in str(refusal(altered(huge), unpinned))


def test_an_owner_who_assumes_more_colluders_pays_more(document: bytes, policy: Policy) -> None:
    """min_survivors - colluders shares of noise stand: 3 survivors, 1 or 2 colluders."""
    plan = read_plan(document)
    assert Charge(plan, 1).honest_silos == 2
    assert Charge(plan, 1).cost(3).epsilon < Charge(plan, 2).cost(3).epsilon


def test_another_member_knows_its_own_noise_even_if_nobody_colludes(document: bytes) -> None:
    plan = read_plan(document)
    assert plan.thresholds.min_survivors == 3
    assert Charge(plan, 0).honest_silos == 2
    assert Charge(plan, 0).cost(3).epsilon == Charge(plan, 1).cost(3).epsilon
    member = next(row for row in plan.guarantees if isinstance(row.adversary, Member))
    assert Charge(plan, 0).cost(plan.rounds).epsilon >= member.epsilon


def test_a_sum_of_two_honest_inputs_is_enough_for_a_silo_that_assumes_no_colluder(document: bytes) -> None:
    """Its own share is then all the noise that counts, but the inputs still hide each other."""
    plan = read_plan(document)
    two = replace(plan, thresholds=replace(plan.thresholds, min_survivors=2, max_colluding=0))
    assert (Charge(two, 0).honest_silos, Charge(two, 0).honest_inputs) == (1, 2)


def test_even_if_all_others_collude_the_silos_own_noise_stands(document: bytes) -> None:
    assert Charge(read_plan(document), 9).honest_silos == 1


def test_a_guarantee_about_exchanging_records_cannot_be_added_to_the_budget(policy: Policy) -> None:
    exact = {"cleveland": 240, "hungary": 210, "long_beach_va": 110, "switzerland": 50}
    plan = prepare(
        parse_config(
            {
                "data": {"source": "heart-disease", "record_capacity": exact},
                "training": {
                    "rounds": 3,
                    "local": {"kind": "single-step"},
                    "sampling": {"kind": "fixed-size", "fraction": 0.5},
                },
                "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
                "aggregation": {"min_survivors": 3, "max_colluding": 1},
            }
        )
    ).plan
    found = refusal(plan.document(), policy)
    assert found.code is RefusalCode.NOT_ALLOWED
    assert "present or absent, as this silo's budget is; got replace-one" in str(found)


def test_the_last_day_counts(document: bytes, policy: Policy) -> None:
    review(read_plan(document), policy, NOTHING, today=policy.expires, approved=frozenset())
    late = refusal(document, policy, today=policy.expires + timedelta(days=1))
    assert late.code is RefusalCode.EXPIRED


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"unit": "client"}, "privacy.unit must be client"),
        ({"min_survivors": 4}, "at least 4"),
        ({"protocols": ("bell",)}, "aggregation.protocol must be one of bell"),
        ({"modes": ("semi-honest",)}, "aggregation.mode must be one of semi-honest"),
        ({"models": ("mlp",)}, "model must be one of mlp"),
        ({"max_colluding": 2}, "at least 2 honest silos"),
    ],
)
def test_rules_of_the_policy(document: bytes, policy: Policy, values: dict[str, Any], words: str) -> None:
    found = refusal(document, changed(policy, "require", **values))
    assert found.code is RefusalCode.NOT_ALLOWED
    assert words in str(found)


def test_a_silo_that_the_plan_does_not_name_is_not_part_of_it(document: bytes, policy: Policy) -> None:
    assert "silos must be" in str(refusal(document, policy.model_copy(update={"silo": "elsewhere"})))


def test_a_model_is_allowed_by_name_or_by_digest(document: bytes, policy: Policy) -> None:
    plan = read_plan(document)
    for name in ("logistic", f"sha256:{plan.facts.model_digest}"):
        allowed = changed(policy, "require", models=(name,))
        review(read_plan(document), allowed, NOTHING, today=TODAY, approved=frozenset())


def test_features_beyond_the_allowed_columns_are_refused(altered: Callable[..., Any], policy: Policy) -> None:
    def columns(plan: dict[str, Any]) -> None:
        plan["config"]["data"].update({"ranges": {"age": [0.0, 120.0], "income": [0.0, 1e6]}})

    found = refusal(altered(columns), changed(policy, "data", columns=("age",)))
    assert "feature columns must be among age" in str(found)
    assert "income" in str(found)


def test_a_column_that_tells_people_apart_is_the_one_that_the_policy_names(
    altered: Callable[..., Any], policy: Policy
) -> None:
    def identified(plan: dict[str, Any]) -> None:
        plan["config"]["data"].update({"ranges": {"age": [0.0, 120.0]}, "id": "diagnosis"})

    by_columns = changed(policy, "data", columns=("age",))
    assert "must be left out at this silo; the plan has diagnosis" in str(
        refusal(altered(identified), by_columns)
    )
    by_id = changed(policy, "data", columns=("age",), id="patient")
    assert "must be patient at this silo; the plan has diagnosis" in str(refusal(altered(identified), by_id))


def test_categories_are_columns_as_well(altered: Callable[..., Any], policy: Policy) -> None:
    def columns(plan: dict[str, Any]) -> None:
        plan["config"]["data"].update({"ranges": {"age": [0.0, 120.0]}, "categories": {"hiv": ["no", "yes"]}})

    assert "hiv" in str(refusal(altered(columns), changed(policy, "data", columns=("age",))))


def test_dates_are_columns_as_well(altered: Callable[..., Any], policy: Policy) -> None:
    def columns(plan: dict[str, Any]) -> None:
        born = {"from": "1900-01-01", "to": "2020-12-31"}
        plan["config"]["data"].update({"ranges": {"age": [0.0, 120.0]}, "dates": {"born": born}})

    assert "born" in str(refusal(altered(columns), changed(policy, "data", columns=("age",))))


def test_an_unlisted_source_is_refused_where_columns_are_restricted(document: bytes, policy: Policy) -> None:
    assert "a list of feature columns" in str(refusal(document, changed(policy, "data", columns=("age",))))


@pytest.mark.parametrize(
    ("key", "limit"),
    [("max_epsilon_per_training", 0.9), ("max_epsilon", 0.9), ("max_delta_per_training", 9e-6)],
)
def test_more_than_the_budget_is_refused_by_the_limit_that_it_exceeds(
    document: bytes, policy: Policy, key: str, limit: float
) -> None:
    found = refusal(document, changed(policy, "budget", **{key: limit}))
    assert found.code is RefusalCode.BUDGET
    assert f"'budget.{key}'" in str(found)


def test_what_other_trainings_spent_counts(document: bytes, policy: Policy) -> None:
    plan = read_plan(document)
    earlier = Account({"another": (Charge(plan, 1), 3)})
    roomy = changed(policy, "budget", max_epsilon=2.001, max_delta=2.001e-5)
    review(read_plan(document), roomy, earlier, today=TODAY, approved=frozenset())
    tight = changed(policy, "budget", max_epsilon=1.999)
    assert "'budget.max_epsilon'" in str(refusal(document, tight, earlier))


def test_the_same_training_is_not_counted_twice(document: bytes, policy: Policy) -> None:
    plan = read_plan(document)
    again = Account({plan.digest(): (Charge(plan, 1), 2)})
    tight = changed(policy, "budget", max_epsilon=1.001, max_delta=1.001e-5)
    review(read_plan(document), tight, again, today=TODAY, approved=frozenset())


def test_trainings_add_up(document: bytes, policy: Policy) -> None:
    charge = Charge(read_plan(document), 1)
    account = Account({"one": (charge, 3), "two": (charge, 1), "never started": (charge, 0)})
    epsilon, delta = account.total(policy.budget.lifetime)
    assert epsilon == pytest.approx(charge.cost(3).epsilon + charge.cost(1).epsilon)
    assert delta == pytest.approx(2 * charge.cost(3).delta)


def test_a_person_approves_one_plan_and_no_other(document: bytes, policy: Policy) -> None:
    careful = changed(policy, "require", approval="person")
    assert refusal(document, careful).code is RefusalCode.APPROVAL
    assert refusal(document, careful, approved=frozenset({"0" * 64})).code is RefusalCode.APPROVAL
    plan = read_plan(document)
    review(plan, careful, NOTHING, today=TODAY, approved=frozenset({plan.digest()}))


@pytest.mark.parametrize(
    ("path", "factor"),
    [
        (("release", "share", "silo_stddev"), 0.5),
        (("release", "share", "silo_stddev"), 1 - 1e-6),
        (("release", "l2_sensitivity"), 0.5),
        (("grid", "scale"), 2.0),
        (("grid", "l2_sensitivity"), 0.5),
    ],
)
def test_noise_and_grid_must_follow_from_the_config(
    altered: Callable[..., Any], policy: Policy, path: tuple[Any, ...], factor: float
) -> None:
    def edit(plan: dict[str, Any]) -> None:
        for key in path[:-1]:
            plan = plan[key]
        plan[path[-1]] *= factor

    found = refusal(altered(edit), policy)
    assert found.code is RefusalCode.PLAN
    assert path[-1] in str(found)


def test_a_stated_guarantee_is_not_believed(altered: Callable[..., Any], policy: Policy) -> None:
    def flatter(plan: dict[str, Any]) -> None:
        for row in plan["guarantees"]:
            row["epsilon"] = 0.01

    assert "guarantees" in str(refusal(altered(flatter), policy))


@pytest.mark.parametrize("junk", [b"", b"{}", b"[]", b'{"digest": 1, "plan": {"version": 1}}', b"\xff"])
def test_bytes_that_are_no_plan_are_refused(junk: bytes, policy: Policy) -> None:
    assert refusal(junk, policy).code is RefusalCode.PLAN


def test_differences_are_named_and_rounding_is_none() -> None:
    assert first_difference({"a": [1.0, {"b": 2}]}, {"a": [1.0 + 1e-12, {"b": 2}]}) is None
    assert first_difference({"a": [1.0, {"b": 2}]}, {"a": [1.0, {"b": 3}]}) == ("a.1.b", 2, 3)
    assert first_difference({"a": 1}, {"a": 1.0}) == ("a", 1, 1.0)
    assert str(first_difference({"a": 1}, {})) == "'a' is 1, and left out here"
    assert str(first_difference([1], [1, "x" * 900], "list"))[-40:].endswith("x here")


def test_the_model_digest_is_the_plans(document: bytes) -> None:
    plan = read_plan(document)
    model = build_model("logistic", plan.facts.feature_shape, 2, seed=0)
    assert described(model, plan.facts.feature_shape) == plan.facts.model
    assert described(build_model("logistic", (3,), 2, seed=0), (3,)) != plan.facts.model


@pytest.mark.parametrize("accepted", [False, True])
def test_unproven_assumptions_take_the_owners_leave(
    altered: Callable[..., Any], policy: Policy, accepted: bool
) -> None:
    """Several noisy steps, calibrated to the published claim that the silos' noise adds up."""

    def conditional(plan: dict[str, Any]) -> None:
        plan["config"]["training"]["local"] = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 2}
        plan["config"]["privacy"].update(clip_norm=1.0, accept_assumptions=["independent-local-state"])
        plan_again(plan)

    document, owner = altered(conditional), changed(policy, "require", accept_conditional=accepted)
    if accepted:
        approval = review(read_plan(document), owner, NOTHING, today=TODAY, approved=frozenset())
        assert approval.cost.status is Status.CONDITIONAL
    else:
        assert "does not rest on unproven assumptions" in str(refusal(document, owner))


def for_persons(plan: dict[str, Any], **person: Any) -> None:
    stated = {"column": "patient", "capacity": dict.fromkeys(plan["facts"]["silos"], 100), "most_records": 5}
    plan["config"]["data"] = {
        "source": "csv:visits.csv",
        "label": "ill",
        "ranges": {f"x{number}": [0.0, 1.0] for number in range(plan["facts"]["feature_shape"][0] - 1)},
        "person": stated | person,
    }
    plan["config"]["privacy"]["unit"] = "person"
    plan_again(plan)


@pytest.mark.parametrize(
    ("person", "own", "words"),
    [
        ({}, (None, "record", 1), "privacy.unit must be record"),
        ({}, (None, "person", 1), "data.person.column must be named in the policy at this silo"),
        ({"column": "visit"}, ("patient", "person", 1), "must be patient"),
        ({}, ("patient", "person", 2), "most_silos must be at least 2"),
        ({"most_silos": 2}, ("patient", "person", 2), ""),
        ({}, ("patient", "person", 1), ""),
    ],
)
def test_whose_a_record_is_is_the_owners_word(
    altered: Callable[..., Any],
    policy: Policy,
    person: dict[str, Any],
    own: tuple[str | None, str, int],
    words: str,
) -> None:
    """A coordinator that named the column of visits would make every visit a person."""
    document = altered(lambda plan: for_persons(plan, **person))
    column, unit, silos = own
    own_file = changed(policy, "data", source="csv:own.csv", person=column)
    owner = changed(own_file, "require", unit=unit, most_silos=silos)
    if words:
        assert words in str(refusal(document, owner))
    else:
        approval = review(read_plan(document), owner, NOTHING, today=TODAY, approved=frozenset())
        assert approval.plan.unit is Unit.PERSON


def test_questions_are_about_the_columns_that_the_owner_permits_and_need_no_label(policy: Policy) -> None:
    silos = ("cleveland", "hungary", "long_beach_va", "switzerland")
    asked = {
        "data": {
            "source": "csv:tables/",
            "record_capacity": dict.fromkeys(silos, 400),
            "ranges": {"age": [20, 90]},
            "categories": {"sex": ["f", "m"]},
        },
        "ask": [{"kind": "table", "of": ["sex", "age"]}],
        "privacy": {"epsilon": 0.5, "delta": 1e-6},
        "aggregation": {"min_survivors": 4},
    }
    document = plan_without_data(parse_config(asked)).document()
    own = changed(changed(policy, "require", models=("answers",)), "data", source="csv:own.csv")
    permitting = changed(own, "data", columns=("age", "sex"), labels=("outcome",))
    cost = review(read_plan(document), permitting, NOTHING, today=TODAY, approved=frozenset()).cost
    assert cost.epsilon <= 0.6
    by_age = changed(own, "data", columns=("age",))
    assert "feature columns must be among age" in str(refusal(document, by_age))
    training = changed(own, "require", models=("logistic",))
    assert "model must be one of logistic" in str(refusal(document, training))


def test_a_silo_is_charged_for_the_sums_of_a_timetable_that_it_is_in(document: bytes, policy: Policy) -> None:
    asked = read_plan(document).config
    schedule = BufferedConfig.model_validate(
        {"kind": "buffered", "buffer": 3, "pace": {policy.silo: 3}, "stale_weight": "equal"}
    )
    training = asked.training.model_copy(update={"schedule": schedule})
    plan = plan_without_data(asked.model_copy(update={"training": training}))
    approval = review(read_plan(plan.document()), policy, NOTHING, today=TODAY, approved=frozenset())
    planned = plan.timetable
    assert planned is not None
    own = planned.contributions_of(policy.silo)
    assert 0 < own < plan.training.planned_rounds
    assert approval.cost == approval.charge.cost(own)
    assert approval.cost.epsilon < approval.charge.cost(plan.training.planned_rounds).epsilon
