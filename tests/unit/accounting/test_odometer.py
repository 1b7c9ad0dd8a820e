"""Budgets: refuse before they are exceeded, survive a resume, merge."""

import math
from typing import Any, cast

import pytest

from discreet.accounting import Rdp, epsilon
from discreet.accounting.odometer import AdaptiveFilter, PlannedBudget, parallel, sequential
from discreet.errors import BudgetExhausted, ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import (
    Failure,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    SkellamNoise,
    StatisticalDistance,
)

STEP = Release(GaussianNoise(4.0), 1.0, 1, PoissonSampling(0.2))


def spend_all(
    state: AdaptiveFilter | PlannedBudget, event: Release | Repeated, limit: int = 10_000
) -> tuple[Any, ...]:
    count = 0
    while count < limit:
        try:
            state = state.admit(event)
        except BudgetExhausted:
            break
        count += 1
    return state, count


def test_planned_budget_stops_one_step_before() -> None:
    budget, count = spend_all(PlannedBudget(1.0, 1e-5), Repeated(STEP, 10))
    assert budget.cost().epsilon <= 1.0
    assert epsilon(Repeated(STEP, 10 * count + 10), delta=1e-5).epsilon > 1.0


def test_state_is_a_value_so_a_resume_is_the_same() -> None:
    first = PlannedBudget(1.0, 1e-5).admit(STEP)
    resumed = PlannedBudget(1.0, 1e-5, spent=first.spent)
    assert resumed.admit(STEP) == first.admit(STEP)


def test_adaptive_filter_never_exceeds_its_target() -> None:
    budget = AdaptiveFilter(1.0, 1e-5, order=20.0)
    state, count = spend_all(budget, STEP)
    assert 0.0 < state.cost() <= 1.0
    exact = epsilon(Repeated(STEP, count), delta=1e-5, accountant=Rdp(orders=(20.0,)))
    assert state.cost() == pytest.approx(exact.epsilon, rel=1e-9)
    assert epsilon(Repeated(STEP, count), delta=1e-5).epsilon <= 1.0


def test_adaptive_filter_charges_everything_else_too() -> None:
    clean = AdaptiveFilter(1.0, 1e-5, order=20.0).admit(STEP)
    failing = clean.admit(Failure(5e-6, "rounding"))
    assert failing.cost() > clean.cost()
    distant = clean.admit(StatisticalDistance(1e-6, "sampler"))
    assert distant.cost() > clean.cost()
    with pytest.raises(BudgetExhausted):
        clean.admit(Failure(2e-5, "more than delta"))
    coarse = clean.admit(Release(SkellamNoise(10_000.0, 1), 5.0, 10))
    assert coarse.cost() > clean.cost()


def test_comparison_costs_are_paid_twice_in_epsilon_and_once_in_delta() -> None:
    spent = AdaptiveFilter(5.0, 1e-5, order=20.0, renyi=0.05, log_ratio=0.1)
    clean = AdaptiveFilter(5.0, 1e-5 * math.exp(-0.1), order=20.0, renyi=0.05)
    assert spent.cost() == pytest.approx(clean.cost() + 0.2)


def test_unknown_events_are_refused() -> None:
    for budget in (PlannedBudget(1.0, 1e-5), AdaptiveFilter(1.0, 1e-5, order=8.0)):
        with pytest.raises(UnsupportedAnalysisError):
            budget.admit(cast(Any, "something"))


def test_merging() -> None:
    both = sequential([Repeated(STEP, 5), Repeated(STEP, 7)])
    assert epsilon(both, delta=1e-5).epsilon == epsilon(Repeated(STEP, 12), delta=1e-5).epsilon
    one, two = (epsilon(Repeated(STEP, n), delta=1e-5) for n in (5, 7))
    assert parallel([one, two]) is two
    with pytest.raises(ConfigurationError, match="one delta"):
        parallel([one, epsilon(STEP, delta=1e-6)])
    with pytest.raises(ConfigurationError, match="at least one"):
        parallel([])


def test_bad_filters() -> None:
    with pytest.raises(ConfigurationError):
        AdaptiveFilter(1.0, 1e-5, order=1.0)
