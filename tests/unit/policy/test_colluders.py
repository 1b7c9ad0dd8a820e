"""The owner's number of colluders reaches shares, confirmations and graphs, not only the charge."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from discreet.config import Config, parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.secagg import Bell, Bonawitz, Malicious, SemiHonest, SemiMalicious, SumTerms, default_threshold
from discreet.silo.policy import Account, Charge, Policy, PolicyRefusal, RefusalCode, read_plan, review
from discreet.silo.policy.review import Approval, _of_colluders

TODAY = date(2026, 1, 1)


def terms(n: int, low: int, colluding: int, threshold: int) -> SumTerms:
    return SumTerms(bytes(32), tuple(f"s{i}" for i in range(n)), threshold, low, colluding, 20, 3, bytes(32))


def reviewed(plan: Plan, policy: Policy, *, max_colluding: int) -> Approval | None:
    require = policy.require.model_copy(update={"max_colluding": max_colluding})
    own = policy.model_copy(update={"require": require})
    return review(plan, own, Account({}), today=TODAY, approved=frozenset())


@pytest.fixture
def unguarded(policy: Policy) -> Plan:
    """A plan that allows for no colluder: four silos, all of which must survive, three of whom unmask."""
    config = read_plan_config(max_colluding=0, min_survivors=4)
    return prepare(config).plan


def read_plan_config(**aggregation: Any) -> Config:
    capacity = {"cleveland": 240, "hungary": 210, "switzerland": 50, "long_beach_va": 110}
    return parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": capacity},
            "training": {
                "rounds": 3,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
            },
            "privacy": {"epsilon": 0.5, "delta": 1e-6},
            "aggregation": aggregation,
        }
    )


def test_an_owner_who_assumes_more_colluders_than_the_shares_withstand(
    unguarded: Plan, policy: Policy
) -> None:
    """Two colluders hold both kinds of share of anybody: 2 * 3 shares are not more than 4 silos + 2."""
    reviewed(unguarded, policy, max_colluding=1)
    with pytest.raises(
        PolicyRefusal, match=r"withstand 2 colluding silos.* made for 0: threshold must"
    ) as caught:
        reviewed(unguarded, policy, max_colluding=2)
    assert caught.value.code is RefusalCode.NOT_ALLOWED
    assert "Set 'aggregation.max_colluding' to at least 2." in str(caught.value)


@pytest.mark.parametrize(("plans", "owners"), [(0, 2), (2, 0)])
def test_the_charge_is_under_the_larger_of_both_numbers(
    unguarded: Plan, policy: Policy, plans: int, owners: int
) -> None:
    plan = replace(unguarded, thresholds=replace(unguarded.thresholds, max_colluding=plans))
    require = policy.require.model_copy(update={"max_colluding": owners})
    charge = Charge.under(plan, policy.model_copy(update={"require": require}))
    assert charge.max_colluding == max(plans, owners)
    assert charge.cost(3).epsilon > Charge(plan, 0).cost(3).epsilon


def test_a_plan_that_allows_for_as_many_is_approved(policy: Policy) -> None:
    plan = prepare(read_plan_config(max_colluding=1, min_survivors=4)).plan
    assert reviewed(plan, policy, max_colluding=1).charge.max_colluding == 1


@pytest.mark.parametrize("n", range(4, 12))
@pytest.mark.parametrize("mode", [Malicious(), SemiHonest()])
def test_shares_and_confirmations_are_counted_with_the_owners_number(
    n: int, mode: Malicious | SemiHonest
) -> None:
    """A plan's terms use the number that they were made for; another must satisfy every inequality."""
    for made_for in range(n - 2):
        low = n
        threshold = default_threshold(n, low, made_for, mode)
        for assumed in range(made_for, n):
            shares = threshold > assumed and low - assumed >= 2
            if mode.confirms:
                quorum = (n + made_for) // 2 + 1
                shares = shares and 2 * threshold > n + assumed and 2 * quorum > n + assumed
            try:
                Bonawitz(mode).check_against(terms(n, low, made_for, threshold), assumed)
                Bell(SemiMalicious() if isinstance(mode, Malicious) else mode).check_against(
                    terms(n, low, made_for, threshold), assumed
                )
            except ConfigurationError:
                assert not shares
            else:
                assert shares


def test_confirmations_count_even_where_shares_would_do() -> None:
    """All six must unmask, but five confirmations of six silos allow two sets with four colluders."""
    made = terms(6, 6, 0, 6)
    with pytest.raises(ConfigurationError, match="4 confirmations of 6 clients allow two survivor sets"):
        Bonawitz().check_against(made, 2)
    Bonawitz().check_against(replace(made, max_colluding=2), 2)


@pytest.mark.parametrize(
    ("mode", "words"),
    [(SemiMalicious(), "allow two survivor sets"), (SemiHonest(), "must have degree 20 and threshold 9")],
    ids=repr,
)
def test_a_sparse_graph_is_that_of_the_owners_number(mode: SemiHonest | SemiMalicious, words: str) -> None:
    bell = Bell(mode)
    made = terms(100, 90, 2, bell.sparsity(100, 90, 2).threshold)
    bell.check_against(made, 2)
    with pytest.raises(ConfigurationError, match=words):
        bell.check_against(made, 8)


def test_the_oracle_has_no_shares_to_check(document: bytes) -> None:
    plan = read_plan(document)
    ideal = plan.config.model_copy(
        update={"aggregation": plan.config.aggregation.model_copy(update={"protocol": "ideal"})}
    )
    assert not list(_of_colluders(Charge(replace(plan, config=ideal), 3)))
