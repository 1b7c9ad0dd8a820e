"""docs/theory/rows.md: which shares stand before each adversary, in which relation, what fails how often."""

import dataclasses
import math
from typing import Any

import pytest

from discreet.accounting import epsilon
from discreet.accounting.gdp import gaussian_delta
from discreet.accounting.tally import tally
from discreet.kinds.float_error import ROWS_ALIKE
from discreet.plan import Plan, load_plan
from discreet.plan.assumptions import DROPPING_OUT, NO_RETRY, ONE_SET, PRESENCE
from discreet.plan.releases import against_server
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    Member,
    ReleasedModels,
    ServerWithColluders,
    WithoutSecureAggregation,
)
from discreet.privacy.assumptions import numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status
from discreet.secagg import Bell
from tests.unit.plan.planned import plan

SINGLE = {"kind": "single-step"}
STABLE = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 20}
TANGENT = {"kind": "tangent-steps", "learning_rate": 0.02, "steps": 20}
SHARDED = {"kind": "sharded", "groups": 20, "learning_rate": 0.1, "batch_size": 8}
CLIPPED = {"kind": "clipped-update", "learning_rate": 0.1}
NOISY = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 3}


def row(made: Plan, adversary: type[Adversary]) -> Guarantee:
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
@pytest.mark.parametrize("local", [SINGLE, STABLE], ids=["single", "stable"])
@pytest.mark.parametrize("protocol", [{}, {"protocol": "bell", "mode": "semi-honest"}], ids=["all", "bell"])
def test_failures_stay_rare_against_any_delta(
    local: dict[str, Any], delta: float, protocol: dict[str, Any]
) -> None:
    sparse = {**protocol, "min_survivors": 55} if protocol else {}
    made = plan(local, silos=60 if protocol else 5, delta=delta, aggregation=sparse)
    event = against_server(made.event(2, 20), made.release, setups=40)
    assert 0.0 < tally(event).failure <= 4e-4 * delta
    assert 1.98 <= made.spent(20).epsilon <= 2.0


def test_an_ordinary_delta_keeps_its_rounding_and_its_guard() -> None:
    made = plan(STABLE)
    assert made.release.rounding_failure_prob == 1e-12
    assert 0.0 < made.release.guard_failure_prob <= 1e-12


# --- what is taken for granted ---------------------------------------------------------------------------


def test_a_sparse_graph_counts_against_the_server_only_and_follows_delta() -> None:
    sparse = {"protocol": "bell", "mode": "semi-honest", "min_survivors": 180, "max_colluding": 40}
    made, sharper = (plan(silos=200, delta=delta, aggregation=sparse) for delta in (1e-5, 1e-12))
    assert made.release.graph_failure_prob == 2.0**-40
    assert sharper.release.graph_failure_prob <= 1e-4 * 1e-12 / 40
    small, large = made.protocol, sharper.protocol
    assert isinstance(small, Bell)
    assert isinstance(large, Bell)
    assert large.sparsity(200, 180, 40).degree > small.sparsity(200, 180, 40).degree
    coarse = dataclasses.replace(made.release, graph_failure_prob=1e-7)
    event = made.event(140, 20)
    assert tally(against_server(event, coarse, setups=40)).failure == pytest.approx(
        4e-6 + tally(event).failure
    )
    assert epsilon(against_server(event, coarse, setups=40), delta=1e-5) != epsilon(event, delta=1e-5)
    drawn = "the sparse graph of masks is drawn at most 40 times"
    assert {drawn in found.assumptions for found in made.guarantees[2:4]} == {True}
    assert {drawn in found.assumptions for found in made.guarantees[:2]} == {False}


def test_a_server_that_must_commit_first_is_said_to_do_so_above_fifty_silos() -> None:
    text = "the server may do anything once it has committed to the key list"
    for silos, expected in ((50, False), (60, True)):
        lying = {"protocol": "bell", "mode": "malicious", "min_survivors": silos - 2, "max_colluding": 1}
        made = plan(silos=silos, aggregation=lying)
        assert (text in row(made, AggregationServer).assumptions) is expected
        assert text not in row(made, ReleasedModels).assumptions


@pytest.mark.parametrize(("mode", "said"), [("semi-honest", True), ("one-phase", True), ("malicious", False)])
def test_what_a_protocol_does_not_enforce_is_said_in_words(mode: str, *, said: bool) -> None:
    made = plan(aggregation={"mode": mode})
    assert (ONE_SET in row(made, AggregationServer).assumptions) is said
    sums = "at most 20 sums are opened; a silo's own ledger counts those that it was in"
    assert (sums in row(made, AggregationServer).assumptions) is not said
    assert all(DROPPING_OUT in found.assumptions for found in made.guarantees)
    assert [NO_RETRY in found.assumptions for found in made.guarantees] == [False] * 3 + [True] * 5
    assert all(found.status is Status.PROVEN for found in made.guarantees)


def test_what_training_and_data_take_for_granted_travels_with_every_row() -> None:
    made = plan(data={"partition": {"kind": "iid", "silos": 5}})
    for found in made.guarantees:
        assert ROWS_ALIKE in found.assumptions
        assert any("as dealt" in text for text in found.assumptions)
        assert any("record_capacity" in text for text in found.assumptions)
        assert len(set(found.assumptions)) == len(found.assumptions)


def test_a_silo_that_shows_its_message_has_its_own_noise_only() -> None:
    made = plan()
    own = row(made, WithoutSecureAggregation)
    assert own.epsilon == epsilon(made.event(1, 20), delta=1e-5).epsilon


@pytest.mark.parametrize(
    ("delta", "aggregation", "silos"),
    [(5e-324, {}, 5), (1e-300, {"protocol": "bell", "mode": "semi-honest"}, 60)],
)
def test_the_smallest_delta_of_all_gets_a_plan(delta: float, aggregation: dict[str, Any], silos: int) -> None:
    made = plan(silos=silos, delta=delta, aggregation=aggregation)
    assert 1.99 <= made.spent(20).epsilon <= 2.0


@pytest.mark.parametrize("local", [SINGLE, STABLE, TANGENT, SHARDED, CLIPPED, NOISY], ids=lambda a: a["kind"])
@pytest.mark.parametrize("mode", ["malicious", "semi-honest", "one-phase"])
def test_every_assumption_has_a_number_of_its_own(local: dict[str, Any], mode: str) -> None:
    unit: dict[str, Any] = {"unit": "client"} if local is CLIPPED else {}
    accepted: dict[str, Any] = {"accept_assumptions": ["independent-local-state"]} if local is NOISY else {}
    aggregation = {"mode": mode, "max_colluding": 1}
    numbers = numbered(plan(local, aggregation=aggregation, rounds=1, **unit, **accepted).guarantees)
    assert max(numbers.values()) <= 20, numbers


def test_a_large_sparse_graph_has_numbers_for_its_assumptions() -> None:
    numbers = numbered(plan(silos=60, aggregation={"protocol": "bell"}).guarantees)
    assert {8, 11, 14} <= set(numbers.values()), numbers
    assert max(numbers.values()) <= 20, numbers
