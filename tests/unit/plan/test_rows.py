"""docs/theory/rows.md: which shares stand before each adversary, in which relation, what fails how often."""

import math
from typing import Any

import pytest
from planned import plan

from discreet.accounting.gdp import gaussian_delta
from discreet.accounting.tally import tally
from discreet.plan import Plan, load_plan
from discreet.plan.assumptions import PRESENCE
from discreet.privacy.adversary import (
    Adversary,
    Member,
    ReleasedModels,
    ServerWithColluders,
)
from discreet.privacy.assumptions import numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation

SINGLE = {"kind": "single-step"}
STABLE = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 20}
TANGENT = {"kind": "tangent-steps", "learning_rate": 0.02, "steps": 20}
SHARDED = {"kind": "sharded", "num_shards": 20, "learning_rate": 0.1, "batch_size": 8}
CLIPPED = {"kind": "clipped-update", "learning_rate": 0.1}
NOISY = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 3}


def row(made: Plan, adversary: type[Adversary]) -> Guarantee:  # type: ignore[valid-type]
    return next(found for found in made.guarantees if isinstance(found.adversary, adversary))


# --- shares of noise -------------------------------------------------------------------------------------


@pytest.mark.parametrize("silos", [3, 4, 5, 10])
def test_a_member_that_subtracts_its_own_noise_faces_the_target(silos: int) -> None:
    """The others' Gaussian noise, worked out by hand: ε of T releases at min_survivors − 1 shares."""
    made = plan(silos=silos, rounds=10)
    assert dict(made.adversaries())[Member()] == silos - 1
    share = made.release.share.variance / made.release.share.num_silos
    mu = math.sqrt(10.0 / ((silos - 1) * share)) * made.release.l2_sensitivity
    assert gaussian_delta(mu, 2.0) <= 1e-5
    assert gaussian_delta(mu / 0.999, 2.0) > 1e-5
    assert row(made, ReleasedModels).epsilon < row(made, Member).epsilon <= 2.0


def test_a_target_for_outsiders_prints_what_a_member_learns() -> None:
    """Three silos, ten rounds: a member that subtracts its own noise gets 2.51 where 2 was asked for."""
    made = plan(silos=3, rounds=10, against="outsiders")
    assert made.spent(10).adversary == ReleasedModels()
    assert row(made, ReleasedModels).epsilon == pytest.approx(2.0, rel=1e-3)
    assert row(made, Member).epsilon == pytest.approx(2.51, abs=0.005)


@pytest.mark.parametrize(
    ("aggregation", "against", "expected", "shares"),
    [
        ({}, "members", Member(), 4),
        ({}, "outsiders", ReleasedModels(), 5),
        ({"min_survivors": 4, "max_colluding": 1}, "members", ServerWithColluders(1), 3),
        ({"min_survivors": 4, "max_colluding": 1}, "outsiders", ServerWithColluders(1), 3),
        ({"max_colluding": 2}, "members", ServerWithColluders(2), 3),
    ],
)
def test_the_budget_is_that_of_whoever_faces_the_fewest_shares(
    aggregation: dict[str, Any], against: str, expected: Adversary, shares: int
) -> None:
    made = plan(aggregation=aggregation, against=against)
    assert made.budget_adversary() == (expected, shares)
    assert made.thresholds.honest_survivors == shares
    assert row(made, type(expected)).epsilon == pytest.approx(2.0, rel=1e-2)
    assert row(made, type(expected)).epsilon <= 2.0


def test_a_plan_keeps_whom_its_target_is_for_in_its_file(tmp_path: Any) -> None:
    made = plan(against="outsiders")
    made.save(tmp_path / "plan.json")
    loaded = load_plan(tmp_path / "plan.json")
    assert loaded.budget_adversary() == made.budget_adversary()
    assert (loaded.release, loaded.guarantees) == (made.release, made.guarantees)
    assert made.digest() != plan().digest()


# --- relations -------------------------------------------------------------------------------------------


def test_a_client_that_is_absent_takes_its_noise_with_it_so_presence_is_public_in_every_row() -> None:
    made = plan(CLIPPED, unit="client", sampling={"kind": "poisson", "probability": 0.5})
    assert {found.neighboring for found in made.guarantees} == {NeighboringRelation.REPLACE_SPECIAL}
    assert all(PRESENCE in found.assumptions for found in made.guarantees)
    assert "another participating client" in row(made, Member).adversary.describe()
    assert not any(PRESENCE in found.assumptions for found in plan().guarantees)


# --- how often a failure counts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("local", "times", "settings"),
    [
        (SINGLE, 20, {}),
        (SINGLE, 20, {"sampling": {"kind": "poisson", "probability": 0.5}}),
        (SINGLE, 40, {"sampling": {"kind": "fixed-size", "fraction": 0.5}}),
        (STABLE, 40, {}),
        (TANGENT, 40, {}),
        (SHARDED, 40, {}),
        (CLIPPED, 20, {"unit": "client"}),
        (NOISY, 60, {}),
    ],
    ids=["single", "single-poisson", "single-fixed", "stable", "tangent", "sharded", "clipped", "noisy"],
)
def test_rounding_failures_are_counted_as_derived(
    local: dict[str, Any], times: int, settings: dict[str, Any]
) -> None:
    """T rounds: T·β for one difference; 2T·β for two, and where a unit's own coin gives it a step."""
    made = plan(local, **settings)
    beta = made.release.rounding_failure_prob
    assert beta > 0.0
    failure = tally(made.event(3, 20)).failure
    assert failure == pytest.approx(times * beta + 20 * made.release.guard_failure_prob, rel=1e-12)


@pytest.mark.parametrize("delta", [1e-5, 1e-12, 1e-20])
@pytest.mark.parametrize("local", [SINGLE, STABLE, TANGENT, SHARDED, CLIPPED, NOISY], ids=lambda a: a["kind"])
@pytest.mark.parametrize("mode", ["malicious", "semi-honest", "one-phase"])
def test_every_assumption_has_a_number_of_its_own(local: dict[str, Any], mode: str) -> None:
    unit = {"unit": "client"} if local is CLIPPED else {}
    accepted = {"accept_assumptions": ["independent-local-state"]} if local is NOISY else {}
    aggregation = {"mode": mode, "max_colluding": 1}
    numbers = numbered(plan(local, aggregation=aggregation, rounds=1, **unit, **accepted).guarantees)
    assert max(numbers.values()) <= 20, numbers


def test_a_large_sparse_graph_has_numbers_for_its_assumptions() -> None:
    numbers = numbered(plan(silos=60, aggregation={"protocol": "bell"}).guarantees)
    assert {10, 11, 14} & set(numbers.values())
    assert max(numbers.values()) <= 20, numbers
