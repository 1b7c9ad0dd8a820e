"""Plans for persons: the noise of one record's, rows for persons at several silos, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.gdp import gaussian_epsilon
from discreet.config import load_config, parse_config
from discreet.errors import ConfigurationError, DataError, UnsupportedAnalysisError
from discreet.kinds import QuantileClipped, StableSteps
from discreet.kinds.persons import MOST_AT_ONCE, PersonWeights, require_computable
from discreet.plan import Plan
from discreet.plan.capacity import beyond_capacity
from discreet.plan.judged import judged, public_units
from discreet.plan.over_records import plan_over_records
from discreet.plan.persons import for_persons
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.notation import epsilon_text
from discreet.privacy.units import Unit
from discreet.silo.records import _federation, nothing
from tests.unit.plan.planned import plan
from tests.unit.plan.test_persons import mixture_delta, mu

DELTA = 1e-5
STABLE = {"kind": "stable-steps", "learning_rate": 0.01, "steps": 4}
SHARDED = {"kind": "sharded", "groups": 4, "learning_rate": 0.1}
TANGENT = {"kind": "tangent-steps", "learning_rate": 0.01, "steps": 4}
QUANTILE: dict[str, Any] = {"clip_norm": {"quantile": 0.5, "initial": 1.0}}
FIXED = {"silos": 2, "sampling": {"kind": "fixed-size", "fraction": 0.5}}
CLIENT = {"kind": "clipped-update", "learning_rate": 0.1}
NOISY = {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 3}


def of_persons(local: dict[str, Any] | None = None, *, silos: int = 1, **settings: Any) -> Plan:
    person = {"column": "who", "capacity": 400, "most_records": 10, "most_silos": silos}
    data = {"person": person, "record_capacity": None}
    return plan(local, data=data, **{"unit": "person", **settings})


@pytest.mark.parametrize(
    "local", [None, STABLE, SHARDED, {"kind": "tangent-steps", **STABLE, **{"kind": "tangent-steps"}}]
)
def test_a_person_costs_the_noise_of_one_record(local: dict[str, Any] | None) -> None:
    persons, records = of_persons(local), plan(local)
    assert persons.unit is Unit.PERSON
    assert persons.noise_multiplier == pytest.approx(records.noise_multiplier, rel=1e-9)
    assert [row.epsilon for row in persons.guarantees] == pytest.approx(
        [row.epsilon for row in records.guarantees], rel=1e-6
    )
    assert {row.unit for row in persons.guarantees} == {Unit.PERSON}
    assert public_units(persons) == 5 * 400
    assert for_persons(persons) == ()


@pytest.mark.parametrize("silos", [1, 2, 4])
@pytest.mark.parametrize("local", [None, SHARDED])
def test_at_several_silos_noise_grows_with_their_number(local: dict[str, Any] | None, silos: int) -> None:
    planned = of_persons(local, silos=silos)
    moved = silos * (2.0 if local else 1.0)
    exact = gaussian_epsilon(moved * mu(planned) * math.sqrt(planned.rounds), DELTA)
    spent = planned.spent(planned.rounds)
    assert exact <= spent.epsilon <= 2.0
    assert spent.epsilon <= 1.003 * exact


def test_a_network_never_has_to_hold_a_crowd_of_records_of_one_person() -> None:
    """The widest shape is computed when a silo starts, whatever its records are."""
    weights = PersonWeights(MOST_AT_ONCE + 1)
    require_computable(None, written_out=False)
    require_computable(PersonWeights(MOST_AT_ONCE), written_out=False)
    require_computable(weights, written_out=True)
    with pytest.raises(ConfigurationError, match="most_records' must be at most 1024 where a network"):
        require_computable(weights, written_out=False)
    person = {"column": "who", "capacity": 2, "most_records": 2000}
    for local in (
        {"kind": "single-step", "style": {"kind": "automatic"}},
        {**NOISY, "style": {"kind": "automatic"}},
    ):
        with pytest.raises(ConfigurationError, match="at most 1024"):
            plan(local, data={"person": person, "record_capacity": None}, unit="person", epsilon=20.0)


def test_a_norm_that_follows_a_quantile_counts_persons() -> None:
    """Sensitivity and noise are those of records, and s times as large for persons at s silos."""
    one, two, records = of_persons(**QUANTILE), of_persons(silos=2, **QUANTILE), plan(**QUANTILE)
    assert one.noise_multiplier == pytest.approx(records.noise_multiplier, rel=1e-9)
    assert two.noise_multiplier == pytest.approx(2.0 * one.noise_multiplier, rel=1e-3)
    training = one.silo_training("silo-0")
    assert isinstance(training, QuantileClipped)
    assert training.l2_sensitivity() >= math.sqrt(1.0 + training.rule.weight**2 / 4.0)
    assert training.kind.unit is Unit.PERSON


def test_with_sampling_each_silo_tosses_its_own_coin() -> None:
    planned = of_persons(silos=3, rounds=1, sampling={"kind": "poisson", "probability": 0.2})
    spent = planned.spent(1)
    assert spent.epsilon <= 2.0
    assert mixture_delta(mu(planned), 0.2, 3, spent.epsilon) <= DELTA
    assert mixture_delta(mu(planned), 0.2, 3, 0.99 * spent.epsilon) > DELTA


@pytest.mark.parametrize("silos", [1, 3])
def test_without_aggregation_each_of_a_persons_silos_shows_a_contribution(silos: int) -> None:
    planned = of_persons(silos=silos)
    row = next(one for one in planned.guarantees if isinstance(one.adversary, WithoutSecureAggregation))
    alone = 1.0 / (planned.noise_multiplier / math.sqrt(4))  # four of five shares are sure
    exact = gaussian_epsilon(alone * math.sqrt(planned.rounds * silos), DELTA)
    assert exact <= row.epsilon <= 1.003 * exact


def test_the_guarantee_says_what_a_silo_cannot_check() -> None:
    said = of_persons(silos=2).guarantees[0].assumptions
    assert "no person has records at more than 2 silos, which no silo can see for itself" in said
    assert "no silo holds more training persons than its person.capacity" in said


def test_too_many_persons_weaken_it_and_the_report_says_so() -> None:
    planned = of_persons()
    found = beyond_capacity(planned, planned.guarantees, {"silo-0": 2})
    assert "silo-0 held 2 more" in found
    assert "one person more or less" in found


def test_a_silo_without_records_has_no_persons_and_takes_part() -> None:
    empty = nothing(of_persons(STABLE))
    assert empty.persons is not None
    assert len(empty.persons) == len(empty) == 0
    assert nothing(plan(STABLE)).persons is None


def test_records_of_a_function_say_nobodys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hospital_of_functions.py").write_text("def silos(): raise AssertionError('called')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(DataError, match="persons must be named by a column"):
        _federation(
            "hospital_of_functions:silos",
            of_persons(STABLE),
            "silo-0",
            written={},
            cache=None,
            require_answers=lambda _: None,
        )


def test_the_value_that_runs_knows_of_persons() -> None:
    training = of_persons(STABLE).silo_training("silo-0")
    assert isinstance(training, StableSteps)
    assert training.persons is not None
    assert training.persons.most_records == 10


@pytest.mark.parametrize(
    ("local", "settings", "error", "message"),
    [
        (CLIENT, {}, ConfigurationError, "'privacy.unit' must be client"),
        (NOISY, {"silos": 2, "epsilon": 20.0}, ConfigurationError, "most_silos' must be 1 for noisy-steps"),
        (None, FIXED, UnsupportedAnalysisError, "independent coins"),
        (None, {"silos": 6}, ConfigurationError, "at most the number of silos; got 6 of 5"),
    ],
)
def test_what_is_not_proven_is_refused(
    local: dict[str, Any] | None, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        of_persons(local, **settings)


@pytest.mark.parametrize(
    ("unit", "person", "says"),
    [
        ("person", False, r"'data\.person' must be given"),
        ("record", True, r"'privacy\.unit' must be person where 'data\.person' is given; got record"),
        ("client", True, "got client"),
    ],
)
def test_the_unit_person_and_the_persons_belong_together(unit: str, person: bool, says: str) -> None:
    data: dict[str, Any] = {"source": "digits"}
    data |= (
        {"person": {"column": "who", "capacity": 9, "most_records": 3}} if person else {"record_capacity": 9}
    )
    with pytest.raises(ConfigurationError, match=says):
        parse_config(
            {
                "data": data,
                "training": {"rounds": 2, "local": {"kind": "single-step"}},
                "privacy": {"epsilon": 1.0, "delta": DELTA, "unit": unit, "clip_norm": 1.0},
            }
        )


def test_the_page_on_epsilon_says_what_several_records_cost() -> None:
    """docs/how-to/choose-epsilon.md has these numbers of examples/heart.toml."""
    root = Path(__file__).parents[3]
    planned = plan_over_records(load_config(root / "examples" / "heart.toml")).plan
    page = (root / "docs" / "how-to" / "choose-epsilon.md").read_text(encoding="utf-8")
    for count, row in for_persons(planned):
        assert f"| {count} | {epsilon_text(row.epsilon)} | {judged(planned, row).level.value} |" in page
        assert row.epsilon > count * planned.spent(planned.rounds).epsilon
    worse = 1e-5 * (math.exp(10.0) - 1.0) / (math.e - 1.0)
    assert f"ε = 10 at δ = {worse:.2f}" in page
