"""Budgets over years: trainings that compose by a filter, limits that stand, a limit for each year."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import epsilon
from discreet.engines.flower.consortium import ConsortiumFolder
from discreet.errors import ConfigurationError, LedgerError
from discreet.plan import Plan
from discreet.plan.guaranteed import event_against
from discreet.privacy.events import Composed
from discreet.privacy.ledger import Aborted, Entry, Intent, Opened, charged_in
from discreet.silo.policy import Account, Charge, Policy, PolicyRefusal, RefusalCode, SiloLedger, load_policy
from discreet.silo.policy.document import BudgetTable
from discreet.silo.policy.limits import Fixed, Limits, filter_of
from discreet.silo.spending import _charged_intents
from discreet.silo.state import SiloState
from tests.unit.plan.planned import plan
from tests.unit.session.test_evaluated_training import planned as evaluated

POISSON = {"kind": "poisson", "probability": 0.2}
PERSON = {"person": {"column": "who", "capacity": 400, "most_records": 10}, "record_capacity": None}


def budget(**changes: Any) -> BudgetTable:
    wide = {"max_epsilon_per_training": 9.0, "max_delta_per_training": 0.1, "composition": "renyi"}
    return BudgetTable(**({"max_epsilon": 3.47, "max_delta": 1e-5} | wide | changes))


@lru_cache
def planned(rounds: int, target: float, sampled: bool = False) -> Plan:
    return plan(rounds=rounds, epsilon=target, delta=1e-6, sampling=POISSON if sampled else None)


def charge(rounds: int = 20, target: float = 1.0, sampled: bool = False) -> Charge:
    return Charge(planned(rounds, target, sampled), 0)


def account(*trainings: tuple[Charge, int], limits: BudgetTable | None = None) -> Account:
    known = {f"training {number}": entry for number, entry in enumerate(trainings)}
    return Account(known, {}, fixed(limits), fixed(limits))


def fixed(limits: BudgetTable | None = None, **changes: Any) -> Fixed:
    of_budget = limits or budget()
    return replace(
        Fixed(of_budget.lifetime, of_budget.year, 0, "record", None, 1, of_budget.retries), **changes
    )


@pytest.mark.parametrize(
    ("composition", "limit", "fits"),
    [
        ("sum", 10.1, 10),
        ("renyi", 3.47, 10),
        ("gaussian", 3.19, 10),
        ("renyi", 3.40, 9),
        ("gaussian", 3.1, 9),
    ],
)
def test_ten_trainings_cost_what_the_page_says(composition: str, limit: float, fits: int) -> None:
    """docs/theory/budgets.md: adding up, ten of (1, 1e-6) cost 10; by a filter 3.47, or 3.19."""
    limits = budget(
        max_epsilon=limit, composition=composition, max_delta=2e-5 if composition == "sum" else 1e-5
    )
    one = charge()
    assert one.cost(20).epsilon == pytest.approx(1.0, rel=1e-3)
    account(*[(one, 20)] * (fits - 1), limits=limits).require(limits, one, 20)
    with pytest.raises(PolicyRefusal) as refused:
        account(*[(one, 20)] * fits, limits=limits).require(limits, one, 20)
    assert refused.value.code is RefusalCode.BUDGET
    assert "'budget.max_epsilon'" in str(refused.value)


def test_what_is_shown_as_spent_is_a_bound_and_adds_up_to_the_limit() -> None:
    one, limits = charge(), budget(composition="gaussian", max_epsilon=3.19).lifetime
    spent, delta = account(*[(one, 20)] * 10).total(limits)
    assert 3.14 <= spent <= 3.19
    assert delta == 1e-5
    assert account(*[(one, 20)] * 10).share(limits) <= 1.0
    assert account().total(limits) == (0.0, 0.0)
    assert account((one, 0)).share(limits) == 0.0


CHOICES = st.lists(
    st.tuples(st.sampled_from([5, 20]), st.sampled_from([0.2, 1.0]), st.booleans(), st.integers(1, 20)),
    max_size=8,
)


@settings(max_examples=25, deadline=None)
@given(choices=CHOICES, limit=st.sampled_from([0.5, 2.0]), composition=st.sampled_from(["renyi", "gaussian"]))
def test_nothing_that_passed_costs_more_by_exact_composition(
    choices: list[tuple[int, float, bool, int]], limit: float, composition: str
) -> None:
    """Whatever is asked, and however far each training went: composed by loss distributions it is within."""
    limits = budget(max_epsilon=limit, composition=composition)
    known = account(limits=limits)
    for number, (rounds, target, sampled, releases) in enumerate(choices):
        one, count = charge(rounds, target, sampled and composition == "renyi"), min(releases, rounds)
        try:
            known.require(limits, one, count)
        except PolicyRefusal:
            continue
        known = replace(known, charged={**known.charged, str(number): (one, count)})
    events = [
        event_against(one.plan, one.adversary, one.honest_silos, rounds=count)
        for one, count in known.charged.values()
    ]
    if events:
        assert epsilon(Composed(tuple(events)), delta=1e-5).epsilon <= limit


def test_a_training_that_stopped_early_costs_its_share() -> None:
    one, limits = charge(), budget().lifetime
    empty = filter_of(limits)
    assert empty is not None
    whole, half = one.of_filter(empty, 1), account((one, 10))._of_filter(empty)
    assert half.divergence == pytest.approx(10 * whole.divergence)
    assert half.failure == pytest.approx(10 * whole.failure)


def test_a_filter_takes_what_the_dearer_side_costs() -> None:
    """A unit is on one side, training or held out: a budget must be right for those of either."""
    alone, both = (evaluated(asked, epsilon=1.0) for asked in (None, {"every": 2, "epsilon": 4.0}))
    empty = filter_of(budget().lifetime)
    assert empty is not None
    training, whole = (Charge(one, 0).of_filter(empty, one.releases) for one in (alone, both))
    assert whole.divergence > 5.0 * training.divergence
    assert empty.epsilon_of(whole) >= Charge(both, 0).cost(both.releases).epsilon > 3.5


def test_sampled_rounds_are_not_gaussian() -> None:
    limits = budget(composition="gaussian")
    with pytest.raises(PolicyRefusal, match="every unit takes part") as refused:
        account(limits=limits).require(limits, charge(sampled=True), 20)
    assert refused.value.code is RefusalCode.NOT_ALLOWED
    account().require(budget(), charge(sampled=True), 20)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (None, "nothing was"),
        (fixed(lifetime=Limits(9.0, 1e-5, "renyi")), "lifetime was epsilon = 9 at"),
        (fixed(lifetime=Limits(3.47, 1e-5, "gaussian")), "by gaussian and is"),
        (fixed(lifetime=Limits(3.47, 1e-5, "sum")), "by sum and is"),
        (fixed(year=Limits(1.0, 1e-5, "renyi")), "year was epsilon = 1 at"),
        (fixed(max_colluding=2), "max_colluding was 2 and is 0"),
        (fixed(unit="person"), "unit was person and is record"),
        (fixed(person="patient"), "person was patient and is None"),
        (fixed(most_silos=3), "most_silos was 3 and is 1"),
    ],
)
def test_what_was_not_written_down_before_holds_nothing(before: Fixed | None, said: str) -> None:
    one = charge()
    found = Account({"earlier": (one, 1)}, {}, before, fixed())
    with pytest.raises(PolicyRefusal, match="before the first contribution") as refused:
        found.require(budget(), one, 1)
    assert said in str(refused.value)
    assert refused.value.code is RefusalCode.BUDGET
    Account({"never begun": (one, 0)}, {}, before, fixed()).require(budget(), one, 1)


def test_sums_may_be_raised_and_do_not_follow_a_filter() -> None:
    """Adding up bounds whatever was spent, so its limits may move; after a filter it forgets what stood."""
    one, added = charge(), budget(composition="sum", max_epsilon=9.0, max_delta=1e-4)
    lower = fixed(budget(composition="sum", max_epsilon=3.0, max_delta=1e-4))
    Account({"earlier": (one, 1)}, {}, lower, fixed(added)).require(added, one, 1)
    Account({"earlier": (one, 1)}, {}, None, fixed(added)).require(added, one, 1)
    with pytest.raises(PolicyRefusal, match="before the first contribution"):
        Account({"earlier": (one, 1)}, {}, fixed(), fixed(added)).require(added, one, 1)


def test_room_for_retries_stands_and_a_sums_limits_may_still_move() -> None:
    """One failed round costs three hundredths of the training, and not another one."""
    one, cost = charge(), charge().whole
    wide = budget(composition="sum", max_epsilon=1.03, max_delta=1e-6, retries=1)
    room, stood = replace(one, retries=1), Account({"": (one, 0)}, {}, fixed(wide), fixed(wide))
    assert cost.epsilon < room.whole.epsilon < 1.03 * cost.epsilon
    stood.require(wide, room, 21)
    with pytest.raises(PolicyRefusal, match=r"22 releases, .*'budget.max_epsilon' = 1.03"):
        stood.require(wide, room, 22)
    said = r"21 releases, which have room for this silo's own 'budget.retries' = 1, must stay .* = 1.01"
    with pytest.raises(PolicyRefusal, match=said):
        stood.require(wide.model_copy(update={"max_epsilon": 1.01}), room, 1)
    with pytest.raises(PolicyRefusal, match=r"^21 releases must stay within .*'budget.max_epsilon'"):
        stood.require(wide, one, 21)
    raised = wide.model_copy(update={"max_epsilon": 9.0, "max_delta": 1e-4})
    Account({"earlier": (room, 1)}, {}, fixed(wide), fixed(raised)).require(raised, room, 1)
    for before, now in ((None, wide), (fixed(wide, retries=0), wide), (fixed(wide, retries=3), wide)):
        with pytest.raises(PolicyRefusal, match=r"'budget.retries' must be written down before the first"):
            Account({"earlier": (room, 1)}, {}, before, fixed(now)).require(now, room, 1)
    with pytest.raises(ValueError, match=r"charges every attempt by itself"):
        budget(composition="renyi", retries=1)


def test_what_a_new_filter_cannot_take_is_added_up_and_said() -> None:
    """Whoever looks after such a change must hear that it does not hold, and a bound that does."""
    limits = budget(composition="gaussian")
    sampled = charge(sampled=True)
    found = Account({"earlier": (sampled, 20), "later": (charge(), 5)}, {}, None, fixed(limits))
    assert "before the first contribution" in found.unfixed()
    costs = [sampled.cost(20), charge().cost(5)]
    added = (sum(cost.epsilon for cost in costs), sum(cost.delta for cost in costs))
    assert found.total(limits.lifetime) == added
    assert found.share(limits.lifetime) == max(added[0] / 3.47, added[1] / 1e-5)
    with pytest.raises(PolicyRefusal, match="before the first contribution"):
        found.require(limits, charge(), 20)
    with pytest.raises(PolicyRefusal, match="every unit takes part"):
        replace(found, fixed=fixed(limits)).total(limits.lifetime)


@pytest.mark.parametrize("composition", ["renyi", "gaussian"])
@pytest.mark.parametrize(
    ("pair", "over", "why"),
    [
        ((1e6, 1e-5), "", "at most about 1e5; got 1000000.0, 1e-05"),
        ((1e300, 1e-5), "", "at most about 1e5; got 1e"),
        ((1e-30, 1e-30), "", "enough of both for one release; got 1e-30, 1e-30"),
        ((1e6, 1e-5), "_per_year", "at most about 1e5; got 1000000.0, 1e-05"),
    ],
)
def test_limits_that_make_no_filter_are_refused_when_the_policy_is_read(
    composition: str, pair: tuple[float, float], over: str, why: str
) -> None:
    limits = {f"max_epsilon{over}": pair[0], f"max_delta{over}": pair[1]}
    with pytest.raises(ValueError, match="must make a filter") as refused:
        budget(composition=composition, **limits)
    assert why in str(refused.value)
    assert f"'max_epsilon{over}' and 'max_delta{over}'" in str(refused.value)
    budget(composition="sum", **limits)


def test_a_policy_with_such_limits_is_one_line(folder: ConsortiumFolder) -> None:
    path = folder.policy("cleveland")
    text = path.read_text().replace("[budget]", '[budget]\ncomposition = "renyi"', 1)
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    path.write_text(text.replace(old, "max_epsilon = 1e6"))
    with pytest.raises(ConfigurationError, match=r"got 1000000\.0, ") as refused:
        load_policy(path)
    assert "\n" not in str(refused.value)


def test_skellam_noise_is_not_gaussian() -> None:
    limits = budget(composition="gaussian")
    skellam = Charge(plan(mechanism="skellam"), 0)
    with pytest.raises(PolicyRefusal, match="this plan has skellam noise") as refused:
        account(limits=limits).require(limits, skellam, 1)
    assert refused.value.code is RefusalCode.NOT_ALLOWED


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"lifetime": 3}', '{"lifetime": {"epsilon": 1}}'])
def test_a_damaged_file_of_limits_is_no_fresh_budget(policy: Policy, text: str) -> None:
    state = SiloState(policy)
    assert state.folder.exists()
    state.fix(charged=False)
    (state.folder / "limits.json").write_text(text or " ", encoding="utf-8")
    with pytest.raises(LedgerError, match=r"limits\.json"):
        state.fixed()


def test_an_attempt_that_came_to_nothing_is_no_moment() -> None:
    entries: list[Entry] = [
        Opened("a" * 64, "secure"),
        Intent(1, "m", "2026-01-01"),
        Aborted(1, "timeout"),
        Intent(1, "m", "2026-01-02"),
    ]
    assert _charged_intents(entries) == [("a" * 64, Intent(1, "m", "2026-01-02"))]


def test_costs_about_records_and_about_persons_are_not_added() -> None:
    persons = Charge(plan(data=PERSON, unit="person", delta=1e-6, epsilon=1.0), 0)
    with pytest.raises(PolicyRefusal, match="must protect the same unit; this plan protects a person"):
        account((charge(), 3)).require(budget(), persons, 20)
    account((charge(), 0)).require(budget(), persons, 20)


def test_a_year_has_a_limit_of_its_own() -> None:
    limits = budget(max_epsilon_per_year=1.2, max_delta_per_year=1e-5)
    one, other = charge(), charge(rounds=5)
    stood = fixed(limits)
    earlier = Account({"before": (one, 20)}, {"before": 0}, stood, stood)
    earlier.require(limits, other, 5)
    now = replace(earlier, of_year={"before": 20})
    with pytest.raises(PolicyRefusal, match=r"budget\.max_epsilon_per_year"):
        now.require(limits, other, 5)
    assert now.this_year.share(limits.year or limits.lifetime) > 0.5
    with pytest.raises(ValueError, match="must be given together"):
        budget(max_epsilon_per_year=1.0)


def test_a_training_over_new_year_is_charged_to_both_years_by_its_releases(tmp_path: Path) -> None:
    ledger = SiloLedger.open(tmp_path / "ledger.jsonl")
    ledger.join("a" * 64, seeded=False)
    for day in (date(2026, 12, 30), date(2026, 12, 31), date(2027, 1, 1)):
        ledger.complete(ledger.contribute("a" * 64, "m", day), ("x",), "t")
    ledger.contribute("a" * 64, "m", date(2027, 1, 2))
    assert ledger.charged(2026) == {"a" * 64: {None: 2}}
    assert ledger.charged(2027) == {"a" * 64: {None: 2}}
    ledger.settle("a" * 64, believe_abort=True)
    assert ledger.charged(2027) == {"a" * 64: {None: 1}}
    ledger.close()


def test_a_release_without_a_day_counts_in_every_year() -> None:
    assert charged_in([Intent(1, "m")], 2026) == charged_in([Intent(1, "m")], 2031) == {None: 1}
    assert charged_in([Intent(1, "m", "2026-01-01")], 2031) == {}


def test_a_clock_that_went_back_begins_no_year_anew(tmp_path: Path) -> None:
    ledger = SiloLedger.open(tmp_path / "ledger.jsonl")
    ledger.join("a" * 64, seeded=False)
    ledger.complete(ledger.contribute("a" * 64, "m", date(2027, 1, 1)), ("x",), "t")
    assert ledger.charged(2026) == ledger.charged(2027) == {"a" * 64: {None: 1}}
    assert ledger.charged(2028) == {"a" * 64: {}}
    ledger.close()


def test_what_a_budget_rests_on_is_written_once(policy: Policy) -> None:
    state = SiloState(policy)
    assert state.folder.exists()
    assert state.fixed() is None
    state.fix(charged=False)
    assert state.fixed() == policy.fixed
    raised = policy.model_copy(update={"budget": policy.budget.model_copy(update={"max_epsilon": 99.0})})
    SiloState(raised).fix(charged=True)
    assert SiloState(raised).fixed() == policy.fixed
    # An attempt that came to nothing is not charged: then limits may still move, whatever the anchor knows.
    with closing(SiloLedger.open(state.ledger)) as ledger:
        assert state.anchor(ledger).limits is not None
    SiloState(raised).fix(charged=False)
    assert SiloState(raised).fixed() == raised.fixed
