"""Settings of single silos: the worst one meets the target, and each has the guarantee that is its own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant

from discreet.errors import ConfigurationError
from discreet.kinds import NoisySteps
from discreet.plan import Plan, parse_plan
from discreet.plan.composable import composable_cost
from discreet.plan.counted import contributions, normaliser
from discreet.plan.follows import unlike_its_config
from discreet.plan.guaranteed import against, event_against, guarantees_for
from discreet.plan.persons import for_persons
from discreet.plan.silos import decides_text
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.units import Status
from discreet.randomness import SeededRandom
from discreet.silo.policy import Charge
from tests.unit.plan.planned import plan

STEPS: dict[str, Any] = {"kind": "stable-steps", "learning_rate": 0.01, "steps": 20}
NOISY: dict[str, Any] = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 3}


def poisson(probability: float) -> dict[str, Any]:
    return {"kind": "poisson", "probability": probability}


def own_rows(made: Plan) -> dict[str, float]:
    return {row.silo: row.epsilon for row in made.guarantees if row.silo is not None}


@pytest.fixture(scope="module")
def three_sorts() -> Plan:
    """Everybody, one at a lower rate, one sampled rarely."""
    return plan(
        STEPS,
        rounds=5,
        own={"silo-1": {"learning_rate": 0.004}, "silo-3": {"sampling": poisson(0.3)}},
        epsilon=1.0,
    )


def test_the_worst_silo_meets_the_target_and_others_have_a_row_of_their_own(three_sorts: Plan) -> None:
    rows = own_rows(three_sorts)
    assert list(rows) == list(three_sorts.facts.silos)
    assert rows["silo-0"] == rows["silo-2"] == pytest.approx(1.0, rel=1e-3)
    assert rows["silo-0"] <= 1.0 + 1e-9
    assert max(rows["silo-1"], rows["silo-3"]) < 0.5
    assert three_sorts.spent(5).epsilon == rows["silo-0"]
    assert all(row.status is Status.PROVEN for row in three_sorts.guarantees)


def test_the_noise_is_that_of_a_plan_in_which_all_are_like_the_worst(three_sorts: Plan) -> None:
    """Nobody else's settings cost the others anything."""
    alike = plan(STEPS, rounds=5, epsilon=1.0)
    assert three_sorts.release.share.variance == pytest.approx(alike.release.share.variance, rel=1e-6)
    assert three_sorts.grid == alike.grid


def test_a_silo_that_is_worse_than_all_others_raises_the_noise_for_all() -> None:
    made = plan(STEPS, rounds=5, own={"silo-2": {"learning_rate": 0.02}}, epsilon=1.0)
    rows = own_rows(made)
    assert rows["silo-2"] == pytest.approx(1.0, rel=1e-3)
    assert rows["silo-0"] < 0.5
    assert made.release_of("silo-2") == made.release
    assert made.release_of("silo-0").l2_sensitivity < 0.6 * made.release.l2_sensitivity


def test_neither_the_longest_nor_the_likeliest_need_be_the_worst() -> None:
    """A long contribution that is rare, and a short one that is sure: the target holds for each by itself."""
    own = {"silo-0": {"clip_norm": 2.0, "sampling": poisson(0.05)}}
    made = plan(rounds=20, own=own, epsilon=1.0)
    rows = own_rows(made)
    assert max(rows.values()) == pytest.approx(1.0, rel=1e-3)
    assert rows["silo-0"] < rows["silo-1"]
    # As if both were in one silo, which no silo is, would be far from it.
    assert event_against(made, *made.budget_adversary(), rounds=20) != event_against(
        made, *made.budget_adversary(), rounds=20, silo="silo-0"
    )
    other = plan(rounds=20, own={"silo-0": {"clip_norm": 6.0, "sampling": poisson(0.5)}}, epsilon=1.0)
    assert own_rows(other)["silo-0"] > own_rows(other)["silo-1"]


def test_more_sorts_of_silo_than_can_be_accounted_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever proposes a plan makes every silo work it out."""
    monkeypatch.setattr("discreet.plan.make.grids_and_noise", lambda *_: pytest.fail("noise was worked out"))
    own = {f"silo-{number}": {"learning_rate": 0.001 * (1 + number)} for number in range(51)}
    with pytest.raises(
        ConfigurationError, match=r"'silos' must lead to at most 50 sorts .* lead to 51\. Give"
    ):
        plan(STEPS, own=own, silos=60, rounds=5)


@pytest.mark.parametrize("change", ["capacities", "thresholds"])
def test_what_costs_nothing_is_compared_first(
    three_sorts: Plan, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr("discreet.plan.follows.make_plan", lambda *_: pytest.fail("a plan was made"))
    fewer = replace(three_sorts.thresholds, min_survivors=three_sorts.thresholds.min_survivors - 1)
    changed: dict[str, Any] = {"capacities": (1,) * 5, "thresholds": fewer}
    difference = unlike_its_config(replace(three_sorts, **{change: changed[change]}))
    assert difference is not None
    assert difference.path.startswith(change)


def test_what_only_the_time_depends_on_gives_no_rows() -> None:
    made, alike = plan(STEPS, rounds=5, own={"silo-1": {"steps": 60}}), plan(STEPS, rounds=5)
    assert not made.own
    assert not own_rows(made)
    assert made.release == alike.release
    assert made.digest() != alike.digest()
    assert made.silo_training("silo-1").steps == 60


def test_capacity_and_pace_are_said_where_they_are_said_of_all() -> None:
    here = plan(STEPS, rounds=5, own={"silo-1": {"capacity": 50}})
    there = plan(STEPS, rounds=5, data={"record_capacity": {"*": 400, "silo-1": 50}})
    assert here.digest() == there.digest()
    assert here.capacities == (400, 50, 400, 400, 400)
    floor = {"min_survivors": 3}
    fast = {"kind": "buffered", "buffer": 3}
    here = plan(STEPS, rounds=5, schedule=fast, own={"silo-1": {"pace": 4}}, aggregation=floor)
    there = plan(STEPS, rounds=5, schedule=fast | {"pace": {"silo-1": 4}}, aggregation=floor)
    assert here.digest() == there.digest()


def test_a_slow_silo_is_charged_for_the_sums_that_it_is_in() -> None:
    made = plan(
        STEPS,
        rounds=6,
        schedule={"kind": "buffered", "buffer": 3},
        own={"silo-1": {"pace": 3, "learning_rate": 0.009}},
        aggregation={"min_survivors": 3},
        epsilon=1.0,
    )
    planned = made.timetable
    assert planned is not None
    few = planned.contributions_of("silo-1")
    assert few < 6
    assert own_rows(made)["silo-1"] < 0.75
    assert own_rows(made)["silo-1"] == Charge(made, 0, "silo-1").cost(few).epsilon
    half = made.rounds // 2
    assert contributions(made, half, "silo-1") == sum("silo-1" in one.silos for one in planned.sums[:half])


def test_a_message_alone_has_its_own_silos_guarantee(three_sorts: Plan) -> None:
    alone = {
        row.adversary.silo: row.epsilon
        for row in three_sorts.guarantees
        if isinstance(row.adversary, WithoutSecureAggregation)
    }
    assert alone["silo-1"] < alone["silo-0"]
    assert alone["silo-3"] < alone["silo-0"]


def test_an_owner_is_charged_its_own_row(three_sorts: Plan) -> None:
    rows = own_rows(three_sorts)
    for silo, epsilon in rows.items():
        cost = Charge(three_sorts, 0, silo).cost(5)
        assert cost.epsilon == pytest.approx(epsilon, rel=1e-9)
        assert cost.silo == silo
    assert Charge(three_sorts, 0).cost(5).epsilon == pytest.approx(max(rows.values()), rel=1e-9)
    concern = guarantees_for(three_sorts, "silo-1")
    assert {row.epsilon for row in concern if not isinstance(row.adversary, WithoutSecureAggregation)} == {
        against(three_sorts, *row[:2], rounds=5, silo="silo-1").epsilon
        for row in three_sorts.adversaries()
        if not isinstance(row[0], WithoutSecureAggregation)
    }


def test_several_records_and_curves_are_those_of_the_worst_silo(three_sorts: Plan) -> None:
    alike = plan(STEPS, rounds=5, epsilon=1.0)
    for (_, own), (_, common) in zip(for_persons(three_sorts), for_persons(alike), strict=True):
        assert own.epsilon == pytest.approx(common.epsilon, rel=1e-3)
    mixed, plain = composable_cost(three_sorts), composable_cost(alike)
    assert mixed["renyi"] == pytest.approx(plain["renyi"], rel=1e-3)


def test_a_plan_says_what_each_silo_releases_and_is_read_back(three_sorts: Plan) -> None:
    document = three_sorts.document()
    read = parse_plan(document)
    assert read == three_sorts
    assert unlike_its_config(read) is None
    stated = json.loads(document)["plan"]["own"]
    assert [set(one) for one in stated] == [
        {"l2_sensitivity", "rounding_failure_prob", "sampling", "steps"}
    ] * 5


@pytest.mark.parametrize("field", ["l2_sensitivity", "rounding_failure_prob"])
def test_a_silo_plans_again_and_finds_what_a_plan_states_too_low(three_sorts: Plan, field: str) -> None:
    first, *rest = three_sorts.own
    lower = replace(first, **{field: 0.5 * getattr(first, field)})
    altered = replace(three_sorts, own=(lower, *rest))
    if getattr(first, field):
        difference = unlike_its_config(altered)
        assert difference is not None
        assert difference.path == f"own.0.{field}"


def test_what_a_sum_is_divided_by_counts_each_silo_as_it_samples() -> None:
    made = plan(rounds=5, sampling=poisson(0.5), own={"silo-1": {"sampling": poisson(0.1)}})
    assert normaliser(made, made.facts.silos) == pytest.approx(400 * (4 * 0.5 + 0.1))
    assert normaliser(made, ("silo-1",)) == pytest.approx(40)
    client = plan(
        {"kind": "clipped-update", "learning_rate": 0.1},
        rounds=5,
        unit="client",
        own={"silo-1": {"sampling": poisson(0.25), "clip_norm": 0.5}},
    )
    assert normaliser(client, client.facts.silos[:2]) == 4.25
    assert own_rows(client)["silo-1"] < 0.5 * own_rows(client)["silo-0"]


def test_a_person_at_several_silos_is_protected_as_at_the_worst() -> None:
    person = {"column": "who", "capacity": 100, "most_records": 4, "most_silos": 2}
    stated = {"record_capacity": None, "person": person, "id": None}
    data = {key: value for key, value in stated.items() if value is not None}
    one = plan(
        STEPS,
        rounds=5,
        data={**data, "record_capacity": None},
        own={"silo-1": {"learning_rate": 0.001}},
        unit="person",
    )
    alike = plan(STEPS, rounds=5, data={**data, "record_capacity": None}, unit="person")
    assert not one.own
    assert not own_rows(one)
    assert one.release == alike.release


class TestNoisySteps:
    def test_silos_of_other_numbers_of_steps_have_their_own_noise_only(self) -> None:
        made = plan(
            NOISY, rounds=2, sampling=poisson(0.1), own={"silo-1": {"steps": 1}, "silo-2": {"steps": 6}}
        )
        assert not made.release.sharing.adds_up
        assert [one.steps for one in made.own] == [3, 1, 6, 3, 3]
        rows = own_rows(made)
        assert rows["silo-1"] < rows["silo-0"] < rows["silo-2"] <= 2.0

    def test_a_rate_of_its_own_ends_the_adding_up_of_one_step_too(self) -> None:
        """The others' noise is in the sum at their rate, which may be far below the record's."""
        alike = plan(NOISY | {"steps": 1}, rounds=2)
        other = plan(NOISY | {"steps": 1}, rounds=2, own={"silo-1": {"learning_rate": 10.0}})
        assert alike.release.sharing.adds_up
        assert not other.release.sharing.adds_up

    def test_a_clip_of_its_own_leaves_the_conditional_claim(self) -> None:
        accepted = ("independent-local-state",)
        made = plan(NOISY, rounds=2, own={"silo-1": {"clip_norm": 0.5}}, accept_assumptions=accepted)
        assert made.release.sharing.adds_up
        assert own_rows(made)["silo-1"] < 0.6 * own_rows(made)["silo-0"]
        assert {row.status for row in made.guarantees if row.silo} == {Status.CONDITIONAL}
        with pytest.raises(ConfigurationError, match="accept_assumptions' must be empty where silos"):
            plan(NOISY, rounds=2, own={"silo-1": {"steps": 4}}, accept_assumptions=accepted)

    def test_messages_of_different_steps_and_rates_add_up_to_the_moves(self) -> None:
        made = plan(
            NOISY | {"momentum": 0.5},
            rounds=2,
            own={"silo-1": {"steps": 5}, "silo-2": {"learning_rate": 0.04}},
        )
        source, total, moved = SeededRandom(1), np.zeros(4, dtype=np.int64), np.zeros(4)
        for silo in made.facts.silos:
            training = made.silo_training(silo)
            assert isinstance(training, NoisySteps)
            steps = [source.integers_below(4, 1000) - 500 for _ in training.rates]
            total = total + training.step_weights().combine(steps)
            velocity: Any = 0.0
            for rate, step in zip(training.rates, steps, strict=True):
                velocity = 0.5 * velocity + step / made.grid.scale
                moved = moved - float(rate) * velocity
        assert made.decoded(total.astype("uint64") & (2**made.grid.bits - 1), 1) == pytest.approx(moved)

    def test_the_ring_holds_the_heaviest_message(self) -> None:
        few = plan(NOISY, rounds=2, own={"silo-1": {"steps": 1}})
        many = plan(NOISY, rounds=2, own={"silo-1": {"steps": 48}}, epsilon=8.0)
        heaviest = many.silo_training("silo-1").weight
        assert heaviest == 48
        worst = 5 * heaviest * many.grid.scale * many.grid.silo_bound
        assert worst < 2 ** (many.grid.bits - 1)
        assert few.silo_training("silo-1").weight == 1


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a stranger": ({"own": {"nobody": {"clip_norm": 1.0}}}, "'silos.nobody' must name a silo of the plan"),
    "nothing": ({"own": {"silo-1": {}}}, "at least one of capacity"),
    "an unknown key": ({"own": {"silo-1": {"capacty": 1}}}, "Did you mean 'capacity'?"),
    "no such setting": (
        {"own": {"silo-1": {"steps": 2}}},
        "'silos.silo-1.steps' must be left out with single-step",
    ),
    "a clip that is none": (
        {"local": STEPS, "own": {"silo-1": {"clip_norm": 2.0}}},
        "'silos.silo-1': 'privacy.clip_norm' must be left out",
    ),
    "too many steps": (
        {"local": NOISY, "own": {"silo-1": {"steps": 5000}}},
        "'silos.silo-1': 'steps': must be at most 2500",
    ),
    "each, where nobody can": ({"local": NOISY, "own": {"silo-1": {"steps": "each"}}}, "'silos.silo-1'"),
    "a rate that expands": (
        {"local": STEPS, "own": {"silo-1": {"learning_rate": 1.0}}},
        "'silos.silo-1': stable-steps needs learning_rate",
    ),
    "a moving norm": (
        {"own": {"silo-1": {"clip_norm": 1.0}}, "clip_norm": {"quantile": 0.5, "initial": 1.0}},
        "must have no settings but capacity and pace where the clipping norm follows a quantile",
    ),
    "another relation": (
        {"own": {"silo-1": {"sampling": {"kind": "fixed-size", "fraction": 0.1}}}},
        "'silos.silo-1.sampling' must be fixed-size just where",
    ),
    "coins among places": (
        {"sampling": {"kind": "fixed-size", "fraction": 0.1}, "own": {"silo-1": {"sampling": poisson(0.1)}}},
        "'silos.silo-1.sampling' must be fixed-size just where",
    ),
    "a capacity twice": (
        {"data": {"record_capacity": {"silo-1": 5}}, "own": {"silo-1": {"capacity": 6}}},
        "'silos.silo-1.capacity' must be said once",
    ),
    "a pace of rounds": ({"own": {"silo-1": {"pace": 3}}}, "'silos.silo-1.pace' must be beside 'schedule'"),
    "a capacity that is none": (
        {"own": {"silo-1": {"capacity": 0}}},
        "'silos.silo-1.capacity' must be a whole number, 1 or more; got 0",
    ),
    "a stranger's capacity": ({"own": {"nobody": {"capacity": 7}}}, "it differs in: nobody"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_proven_or_makes_no_sense_is_refused_in_one_line(case: str) -> None:
    settings, message = REFUSED[case]
    with pytest.raises(ConfigurationError) as caught:
        plan(rounds=2, **settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_fixed_sizes_of_their_own_are_of_places(three_sorts: Plan) -> None:
    places = {"kind": "fixed-size", "fraction": 0.2}
    made = plan(rounds=5, sampling=places, own={"silo-1": {"sampling": places | {"fraction": 0.05}}})
    rows = own_rows(made)
    assert rows["silo-1"] < 0.5 * rows["silo-0"]
    assert normaliser(made, made.facts.silos) == 4 * 80 + 20
    assert math.isclose(max(rows.values()), made.spent(5).epsilon)
    assert three_sorts.neighboring != made.neighboring


@pytest.mark.parametrize("seed", range(4))
def test_two_silos_rows_are_those_of_another_library(seed: int) -> None:
    """dp-accounting, told each silo's sensitivity and coins at the plan's noise, finds each silo's row."""
    source = SeededRandom(seed)
    clips, coins = 0.3 + 2.0 * source.uniform(2), 0.02 + 0.5 * source.uniform(2)
    rounds = int(1 + source.integers_below(1, 40)[0])
    own = {
        f"silo-{number}": {"clip_norm": float(clip), "sampling": poisson(float(prob))}
        for number, (clip, prob) in enumerate(zip(clips, coins, strict=True))
    }
    made = plan(rounds=rounds, sampling=poisson(0.05), own=own, epsilon=3.0)
    honest = made.thresholds.honest_survivors
    stddev = math.sqrt(made.release.share.variance / made.release.share.num_silos * honest)
    for silo, epsilon in list(own_rows(made).items())[:3]:
        release = made.release_of(silo)
        step = dp_accounting.PoissonSampledDpEvent(
            getattr(release.sampling, "prob", 1.0),
            dp_accounting.GaussianDpEvent(stddev / release.l2_sensitivity),
        )
        theirs = PLDAccountant().compose(dp_accounting.SelfComposedDpEvent(step, rounds)).get_epsilon(1e-5)
        # Integers and failure probabilities cost a little, and their grid is coarse.
        assert theirs - 2e-3 <= epsilon <= 1.02 * theirs + 2e-3


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"silo-1": {"learning_rate": 0.05}}, "silo-1 decides the noise: 4.8 times what the others need"),
        ({"silo-1": {"learning_rate": 0.001}}, None),
        ({"silo-1": {"learning_rate": 0.05}, "silo-2": {"learning_rate": 0.05}}, None),
        ({"silo-1": {"learning_rate": 0.05}, "silo-2": {"sampling": poisson(0.5)}}, None),
    ],
)
def test_one_silo_that_decides_the_noise_is_named(own: dict[str, Any], said: str | None) -> None:
    made = plan(STEPS, rounds=5, own=own)
    assert decides_text(made.facts.silos, made.own) == said
