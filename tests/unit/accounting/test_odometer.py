"""A budget for what is chosen on the way: never exceeded, nothing free, no part lent to another."""

import math
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Rdp, epsilon
from discreet.accounting.gdp import gaussian_epsilon
from discreet.accounting.odometer import AdaptiveFilter, Composition, Cost
from discreet.errors import BudgetExhausted, ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import (
    Composed,
    DiscreteGaussianNoise,
    Event,
    Failure,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    SkellamNoise,
    StatisticalDistance,
)

STEP = Release(GaussianNoise(20.0), 1.0, 1, PoissonSampling(0.2))


@pytest.mark.parametrize("composition", list(Composition))
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.5, 0.999])
@pytest.mark.parametrize("budget", [1e-30, 1e-9, 1e-3, 1.0, 700.0, 1e4, 1e5, 2e5, 1e6, 1e12, 1e300])
def test_a_budget_of_any_size_is_a_filter_or_refused(
    budget: float, delta: float, composition: Composition
) -> None:
    made = filter_or_words(budget, delta, composition)
    if isinstance(made, str):
        assert f"got {budget}, {delta}" in made
        assert not 1e-3 <= budget <= 1e3 or delta == 1e-300
    else:
        assert 0.0 < made.divergence_limit < math.inf
        assert made.epsilon_of(Cost(made.divergence_limit)) <= budget + 1e-12


def filter_or_words(budget: float, delta: float, composition: Composition) -> AdaptiveFilter | str:
    try:
        return AdaptiveFilter(budget, delta, composition=composition)
    except ConfigurationError as error:
        return str(error)


def admitted(state: AdaptiveFilter, event: Event) -> AdaptiveFilter:
    return state.after(state.cost(event))


def spend_all(state: AdaptiveFilter, event: Event) -> tuple[AdaptiveFilter, int]:
    count = 0
    while True:
        try:
            state = admitted(state, event)
        except BudgetExhausted:
            return state, count
        count += 1


@pytest.mark.parametrize(("budget", "delta"), [(0.3, 1e-6), (1.0, 1e-5), (8.0, 1e-5)])
@pytest.mark.parametrize("event", [STEP, replace(STEP, sampling=PoissonSampling(1.0))])
def test_what_passed_costs_no_more_than_the_budget_by_any_accountant(
    budget: float, delta: float, event: Release
) -> None:
    state, count = spend_all(AdaptiveFilter(budget, delta), event)
    assert count > 0
    assert state.used <= 1.0
    one_order = Rdp(orders=(state.order,))
    assert epsilon(Repeated(event, count), delta=delta, accountant=one_order).epsilon <= budget
    assert epsilon(Repeated(event, count), delta=delta).epsilon <= budget


def test_ten_trainings_cost_what_the_page_says() -> None:
    """docs/theory/budgets.md: ten of (1, 1e-6) fit into (3.47, 1e-5), where adding ε would charge 10."""
    mu = 0.23670438
    assert gaussian_epsilon(mu, 1e-6) == pytest.approx(1.0, abs=1e-6)
    training = Release(GaussianNoise(1.0), mu, 1)
    state, count = spend_all(AdaptiveFilter(3.47, 1e-5), training)
    assert count == 10
    assert spend_all(AdaptiveFilter(3.40, 1e-5), training)[1] == 9
    assert 0.9 < state.used <= 1.0


@given(
    stddevs=st.lists(st.floats(1.0, 50.0), min_size=1, max_size=12),
    budget=st.floats(0.1, 10.0),
    log_delta=st.floats(-9.0, -3.0),
)
def test_no_order_of_events_passes_more_than_the_budget(
    stddevs: list[float], budget: float, log_delta: float
) -> None:
    delta = 10.0**log_delta
    state, passed = AdaptiveFilter(budget, delta), list[Event]()
    for stddev in stddevs:
        event = Release(GaussianNoise(stddev), 1.0, 1)
        try:
            state = admitted(state, event)
        except BudgetExhausted:
            continue
        passed.append(event)
    if passed:
        assert epsilon(Composed(tuple(passed)), delta=delta).epsilon <= budget


def test_everything_else_is_charged_too() -> None:
    clean = admitted(AdaptiveFilter(1.0, 1e-5), STEP)
    assert admitted(clean, Failure(5e-8, "rounding")).spent.failure == 5e-8
    assert admitted(clean, StatisticalDistance(1e-9, "sampler")).spent.failure == pytest.approx(
        1e-9 * (1.0 + math.e)
    )
    assert (
        admitted(clean, Release(SkellamNoise(10_000.0, 1), 5.0, 10)).spent.divergence > clean.spent.divergence
    )
    compared = admitted(AdaptiveFilter(100.0, 1e-5), Release(DiscreteGaussianNoise(1.5, 3), 1.0, 10))
    assert compared.spent.log_ratio > 0.0


def test_no_part_of_the_budget_is_lent_to_another() -> None:
    """What Rényi divergence leaves over must not be used for failures: that choice would see the outputs."""
    budget = AdaptiveFilter(1.0, 1e-5)
    with pytest.raises(BudgetExhausted):
        admitted(
            budget, Failure(1.1 * budget.failure_limit, "more than was set aside, with nothing else spent")
        )
    with pytest.raises(BudgetExhausted):
        admitted(replace(budget, spent=Cost(log_ratio=1.1 * budget.log_ratio_limit)), STEP)


def test_limits_together_are_the_budget() -> None:
    """Set aside and left, put together again by the conversion, give (ε, δ) and no more."""
    budget = AdaptiveFilter(2.0, 1e-6)
    order, cost = budget.order, budget.log_ratio_limit
    left = (budget.delta - budget.failure_limit) * math.exp(-cost)
    converted = (
        budget.divergence_limit
        + math.log1p(-1.0 / order)
        - (math.log(left) + math.log(order)) / (order - 1.0)
    )
    assert converted + 2.0 * cost == pytest.approx(budget.epsilon, rel=1e-12)


def test_the_order_is_the_best_one_for_gaussian_releases() -> None:
    budget = AdaptiveFilter(1.0, 1e-5)
    best = budget.divergence_limit / budget.order

    def bears(order: float) -> float:
        left = (budget.delta - budget.failure_limit) * math.exp(-budget.log_ratio_limit)
        room = budget.epsilon - 2.0 * budget.log_ratio_limit
        return (room - math.log1p(-1.0 / order) + (math.log(left) + math.log(order)) / (order - 1.0)) / order

    assert all(bears(order) <= best * (1.0 + 1e-9) for order in map(float, range(2, 200)))


def test_a_message_says_how_much_would_be_used() -> None:
    state, _ = spend_all(AdaptiveFilter(1.0, 1e-5), STEP)
    with pytest.raises(BudgetExhausted, match=r"would use 10\d"):
        admitted(state, STEP)


def test_unknown_events_are_refused() -> None:
    with pytest.raises(UnsupportedAnalysisError):
        admitted(AdaptiveFilter(1.0, 1e-5), cast(Any, "something"))


@pytest.mark.parametrize(("budget", "delta"), [(0.0, 1e-5), (1.0, 0.0), (1.0, 1.0), (math.nan, 1e-5)])
def test_bad_budgets(budget: float, delta: float) -> None:
    with pytest.raises(ConfigurationError):
        AdaptiveFilter(budget, delta)
