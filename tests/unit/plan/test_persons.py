"""What a plan's noise leaves to a person with several records: closed form, brute force, and an attack."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.accounting.gdp import gaussian_epsilon
from discreet.data import Records
from discreet.encoding import noisy_integers
from discreet.models import build_model
from discreet.plan import Plan
from discreet.plan.persons import for_persons
from discreet.randomness import SeededRandom
from discreet.rounds import train_silo
from tests.unit.plan.planned import plan

DELTA = 1e-5


def mu(planned: Plan) -> float:
    """Distance over standard deviation of one record in one round, against the budget adversary."""
    return 1.0 / planned.noise_multiplier


@pytest.mark.parametrize("local", ["single-step", "sharded"])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_without_sampling_it_is_the_gaussian_at_k_times_the_distance(local: str, count: int) -> None:
    table = {"kind": local} if local == "single-step" else {"kind": local, "groups": 4, "learning_rate": 0.1}
    planned = plan(table)
    ((_, found),) = for_persons(planned, records=(count,))
    moved = 2.0 if local == "sharded" else 1.0
    exact = gaussian_epsilon(count * moved * mu(planned) * math.sqrt(planned.rounds), DELTA)
    assert exact <= found.epsilon <= 1.002 * exact


def test_one_record_is_the_plans_own_row() -> None:
    planned = plan(sampling={"kind": "poisson", "probability": 0.3})
    ((_, found),) = for_persons(planned, records=(1,))
    own = planned.spent(planned.rounds)
    assert (found.delta, found.status, found.assumptions) == (own.delta, own.status, own.assumptions)
    assert own.epsilon <= found.epsilon <= 1.001 * own.epsilon


def mixture_delta(mean: float, rate: float, count: int, epsilon: float) -> float:
    """δ(ε) of one round by quadrature, the larger of adding and removing the k records."""
    drawn = stats.binom(count, rate).pmf(np.arange(count + 1))

    def density(x: float) -> float:
        return float(drawn @ stats.norm.pdf(x - mean * np.arange(count + 1)))

    def gap(x: float, *, added: bool) -> float:
        one, other = (density(x), stats.norm.pdf(x)) if added else (stats.norm.pdf(x), density(x))
        return max(0.0, one - math.exp(epsilon) * other)

    reach = (-12.0, 12.0 + count * mean)
    return max(
        integrate.quad(lambda x, added=added: gap(x, added=added), *reach, limit=2000, epsabs=1e-13)[0]
        for added in (True, False)
    )


@pytest.mark.parametrize("count", [2, 5])
def test_with_sampling_each_record_has_a_coin_of_its_own(count: int) -> None:
    planned = plan(rounds=1, sampling={"kind": "poisson", "probability": 0.2})
    ((_, found),) = for_persons(planned, records=(count,))
    exact = mixture_delta(mu(planned), 0.2, count, found.epsilon)
    # An upper bound, and not a loose one: a little less ε would not do.
    assert exact <= DELTA
    assert mixture_delta(mu(planned), 0.2, count, 0.99 * found.epsilon) > DELTA


def test_more_records_cost_more_than_in_proportion() -> None:
    planned = plan()
    one = planned.spent(planned.rounds).epsilon
    rows = for_persons(planned)
    assert [count for count, _ in rows] == [2, 5, 10]
    assert all(found.epsilon > count * one for count, found in rows)


def test_failures_count_for_every_record() -> None:
    planned = plan()
    risky = replace(planned, release=replace(planned.release, rounding_failure_prob=DELTA / 100.0))
    # 20 rounds, twice: ten records alone would use the whole δ up four times over.
    assert all(math.isinf(found.epsilon) for _, found in for_persons(risky, records=(10,)))


def test_no_row_where_nothing_is_known_or_asked() -> None:
    fixed = plan(sampling={"kind": "fixed-size", "fraction": 0.25})
    assert for_persons(fixed) == ()
    clients = plan({"kind": "clipped-update", "learning_rate": 0.1}, unit="client")
    assert for_persons(clients) == ()


@pytest.mark.parametrize("count", [2, 10])
def test_crafted_records_of_one_person_reach_the_claim_and_never_exceed_it(count: int) -> None:
    planned = plan(rounds=1)
    model = build_model("logistic", (64,), 10, seed=0)
    features = np.random.default_rng(1).random((40, 64)).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    # Gradients of one direction, far beyond the clipping norm's length after scaling.
    features[:count] = np.full(64, 1.0 / 8.0)
    labels = np.arange(40) % 10
    labels[:count] = 3
    whole = Records(features, labels)
    sides = [
        train_silo(
            planned,
            "silo-0",
            1,
            model=model,
            parameters=np.linspace(-5.0, 5.0, 640),
            records=whole.take(np.arange(start, 40)),
            randomness=SeededRandom(3),
        ).vector
        for start in (0, count)
    ]
    sent = [
        noisy_integers(np.pad(side, (0, 10)), planned.grid, planned.release.share, SeededRandom(4), None)
        for side in sides
    ]
    moved = float(np.linalg.norm(sent[0] - sent[1]))
    claimed = count * planned.grid.l2_sensitivity
    assert 0.95 * claimed <= moved <= claimed
