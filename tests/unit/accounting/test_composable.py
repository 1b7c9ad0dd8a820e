"""What a run costs, for other programs to add up: the numbers are those of the accountants."""

from __future__ import annotations

import math

import pytest

from discreet.accounting import Rdp, epsilon
from discreet.accounting.composable import ORDERS, composable
from discreet.accounting.gdp import gaussian_epsilon
from discreet.privacy.events import (
    Composed,
    Event,
    Failure,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
    SkellamNoise,
    StatisticalDistance,
)
from discreet.privacy.units import NeighboringRelation

ADD = NeighboringRelation.ADD_REMOVE
PLAIN = Repeated(Release(GaussianNoise(4.0), 1.0, 10), 8)
SAMPLED = Repeated(Release(GaussianNoise(2.0), 1.0, 10, PoissonSampling(0.1)), 30)


def test_gaussian_releases_have_mu_and_the_line_of_divergences() -> None:
    found = composable(PLAIN, ADD)
    assert found.mu == pytest.approx(math.sqrt(8) / 4.0)
    for order, value in zip(found.orders, found.renyi, strict=True):
        assert value == pytest.approx(order * 8 / 32)


def converted(values: list[float], delta: float) -> float:
    """Canonne, Kamath, Steinke (2020), Proposition 12, written out again."""
    return min(
        value + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        for order, value in zip(ORDERS, values, strict=True)
    )


@pytest.mark.parametrize("events", [(PLAIN, PLAIN), (SAMPLED, PLAIN), (SAMPLED, SAMPLED)])
def test_added_up_by_another_program_they_bound_the_composition(events: tuple[Event, ...]) -> None:
    costs = [composable(event, ADD) for event in events]
    values = [
        sum(value or math.inf for value in column) for column in zip(*(c.renyi for c in costs), strict=True)
    ]
    by_hand = converted(values, 1e-5)
    assert by_hand == pytest.approx(
        epsilon(Composed(events), delta=1e-5, accountant=Rdp(orders=ORDERS)).epsilon, rel=1e-9
    )
    assert epsilon(Composed(events), delta=1e-5).epsilon <= by_hand
    if all(cost.mu is not None for cost in costs):
        mu = math.sqrt(sum((cost.mu or 0.0) ** 2 for cost in costs))
        assert gaussian_epsilon(mu, 1e-5) == pytest.approx(
            epsilon(Composed(events), delta=1e-5).epsilon, rel=1e-6
        )


def test_what_is_no_divergence_stands_beside_it() -> None:
    noisy = Release(RoundedGaussianNoise(40.0, 3), 5.0, 100)
    found = composable(Composed((noisy, Failure(1e-9, "guard"), StatisticalDistance(1e-12, "sampler"))), ADD)
    assert (found.failure, found.distance) == (1e-9, 1e-12)
    assert found.mu is not None
    assert found.log_ratio >= 0.0
    assert composable(SAMPLED, ADD).mu is None


def test_skellam_noise_has_divergences_and_no_mu() -> None:
    found = composable(Repeated(Release(SkellamNoise(1e6, 3), 200.0, 100), 8), ADD)
    assert found.mu is None
    for order, value in zip(found.orders[:3], found.renyi, strict=False):
        assert value is not None
        assert value >= 8 * order * 200.0**2 / (2.0 * 3e6)
