"""What a report says of who takes part, where silos, segments and schedules differ, is true of each."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.plan import Plan
from discreet.report.refusals import refusals
from discreet.report.sampling import sampling_text
from tests.unit.plan.planned import plan
from tests.unit.plan.test_segments import plan as in_segments

POISSON = {"kind": "poisson", "probability": 0.5}
STEPS: dict[str, Any] = {"kind": "stable-steps", "learning_rate": 0.01, "steps": 20}
SLOW: dict[str, Any] = {"kind": "buffered", "buffer": 3, "pace": {"silo-4": 2}}


def no_sampling(made: Plan) -> str | None:
    """Why the report says that sampling makes no ε smaller; None where it does not say so."""
    found = [one.why for one in refusals(made, ()) if one.what == "a smaller ε through sampling"]
    return found[0] if found else None


def test_a_silo_that_samples_is_named() -> None:
    made = plan(STEPS, rounds=2, own={"silo-3": {"sampling": POISSON}})
    others = "silo-0, silo-1, silo-2, silo-4: none: everyone takes part in every round"
    assert sampling_text(made) == f"{others}; silo-3: Poisson: one record enters a round with probability 0.5"
    assert no_sampling(made) is None


def test_a_segment_that_samples_is_named() -> None:
    made = in_segments([{"rounds": 2}, {"rounds": 3, "sampling": POISSON}])
    assert sampling_text(made) == (
        "rounds 1 to 2: none: everyone takes part in every round; "
        "rounds 3 to 5: Poisson: one record enters a round with probability 0.5"
    )
    assert no_sampling(made) is None


@pytest.mark.parametrize("schedule", [SLOW, {"kind": "local", "pace": {"silo-4": 4}}])
def test_with_a_schedule_nobody_is_said_to_be_in_every_round(schedule: dict[str, Any]) -> None:
    summed = {"min_survivors": 3} if schedule is SLOW else {"protocol": "none"}
    made = plan(STEPS, rounds=8, schedule=schedule, aggregation=summed)
    assert sampling_text(made) == "none: everyone takes part in every sum that its silo is in"
    assert no_sampling(made) == "every unit takes part in every sum that its silo is in, so none is due"


def test_where_all_are_alike_it_is_said_as_before() -> None:
    made = plan(STEPS, rounds=2)
    assert sampling_text(made) == "none: everyone takes part in every round"
    assert no_sampling(made) == "every unit takes part in every round, so none is due"
