"""A plan's file says what the plan costs, for others to add up; whoever reads it works that out again."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting.composable import ORDERS
from discreet.errors import ConfigurationError
from discreet.plan import Plan, load_plan, parse_plan
from discreet.privacy.wire import Json
from tests.unit.plan.test_plan import plan

SAMPLED = {"training__sampling": {"kind": "poisson", "probability": 0.1}}


def stated(made: Plan) -> dict[str, Any]:
    """What is added up, as another program reads it."""
    found: dict[str, Any] = json.loads(made.file())["composable"]
    return found


def altered(made: Plan, folder: Path, key: str, value: Json) -> Path:
    """The plan's file with one value of its cost exchanged."""
    document = json.loads(made.file())
    document["composable"][key] = value
    path = folder / "plan.json"
    path.write_text(json.dumps(document, indent=1))
    return path


def test_it_is_the_cost_of_all_rounds_against_the_strongest_adversary() -> None:
    made = plan()
    found = stated(made)
    assert found["mu"] == pytest.approx(math.sqrt(made.rounds) / made.noise_multiplier, rel=1e-6)
    for order, value in zip(found["orders"], found["renyi"], strict=True):
        assert value == pytest.approx(order * found["mu"] ** 2 / 2.0, rel=1e-4)
    assert found["failure"] == made.rounds * made.release.guard_failure_prob > 0.0
    assert found["adversary"] == made.budget_adversary()[0].describe()


def test_with_sampling_it_bounds_what_the_plan_promises() -> None:
    made = plan(**SAMPLED)
    found, delta = stated(made), made.privacy.delta
    assert found["mu"] is None
    # Canonne, Kamath, Steinke (2020), Proposition 12, written out again.
    by_hand = min(
        value + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        for order, value in zip(ORDERS, found["renyi"], strict=True)
    )
    assert made.spent(made.rounds).epsilon < by_hand < 1.5 * made.spent(made.rounds).epsilon


@pytest.mark.parametrize("changes", [{}, SAMPLED, {"privacy__mechanism": "skellam"}])
def test_unit_and_relation_are_those_of_the_guarantee(changes: dict[str, Any]) -> None:
    made = plan(**changes)
    promised = made.spent(made.rounds)
    assert stated(made)["unit"] == promised.unit.value
    assert stated(made)["neighboring"] == promised.neighboring.value


def test_the_digest_and_what_travels_say_nothing_of_it(tmp_path: Path) -> None:
    made = plan()
    document = json.loads(made.file())
    assert document.pop("composable")
    assert (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode() == made.document()
    assert document["digest"] == made.digest()
    made.save(tmp_path / "plan.json")
    assert load_plan(tmp_path / "plan.json") == made == parse_plan(made.file())


def test_a_file_from_before_is_read(tmp_path: Path) -> None:
    made = plan()
    (tmp_path / "plan.json").write_bytes(made.document())
    assert load_plan(tmp_path / "plan.json") == made


@pytest.mark.parametrize("key", ["orders", "renyi", "mu", "log_ratio", "failure", "distance", "unit"])
@pytest.mark.parametrize("changes", [{}, SAMPLED])
def test_every_value_that_is_altered_is_told_in_one_line(
    changes: dict[str, Any], key: str, tmp_path: Path
) -> None:
    made = plan(**changes)
    before = stated(made)[key]
    match before:
        case list():
            value: Json = [*before[:-1], before[-1] / 2]
        case float():
            value = before / 2.0 if before else 1e-6
        case _:
            value = 0.5
    with pytest.raises(ConfigurationError, match=rf"'composable\.{key}[.\d]*' is .* here") as refused:
        load_plan(altered(made, tmp_path, key, value))
    assert "\n" not in str(refused.value)
    assert "plan again" in str(refused.value)


@pytest.mark.parametrize("value", [None, 1, [], {}, "none"])
def test_something_else_in_its_place_is_refused(value: Json, tmp_path: Path) -> None:
    document = {**json.loads(plan().file()), "composable": value}
    (tmp_path / "plan.json").write_text(json.dumps(document))
    with pytest.raises(ConfigurationError, match="'composable"):
        load_plan(tmp_path / "plan.json")
