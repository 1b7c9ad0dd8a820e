"""Ratios on the page: from records to the answer, and the forest plot."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from discreet import Frames, Target, plan_questions
from discreet.config.federation import federation_of
from discreet.kinds import Asked
from discreet.quality.intervals import Interval
from discreet.report.answered import Answer, answers
from discreet.report.forest import Forest, draw_forest
from discreet.statistics import Covariate, hazards
from discreet.statistics.contribution import asked_vector

EDGES = (0.0, 250.0, 500.0, 750.0, 1000.0, math.inf)


def records(n: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    sex, stage = rng.integers(0, 2, n), rng.integers(0, 3, n)
    event = rng.exponential(900.0 * np.exp(-0.7 * (sex == 1) - 0.5 * (stage == 2)))
    left = np.minimum(rng.exponential(2000.0, n), 1000.0)
    return {
        "sex": [("f", "m", None)[0 if one == 0 else 1] for one in sex],
        "stage": [("I", "II", "III")[one] for one in stage],
        "days": np.ceil(np.minimum(event, left)).tolist(),
        "died": [("yes", "no")[int(one)] for one in event > left],
    }


def answered(*questions: dict[str, Any]) -> tuple[Answer, ...]:
    """The answers without noise."""
    whole = records(3_000)
    whole["sex"][:200] = [None] * 200
    tables: dict[str, Any] = {
        name: whole if name == "one" else {key: [] for key in whole} for name in ("one", "two", "three")
    }
    rules: dict[str, Any] = {
        "ranges": {"days": (0, 1000)},
        "categories": {"sex": ["f", "m"], "stage": ["I", "II", "III"], "died": ["yes", "no"]},
    }
    data = Frames(tables, **rules).public(capacity=3_000)
    plan = plan_questions(data, list(questions), target=Target(1.0))
    asked = plan.silo_training("one")
    assert isinstance(asked, Asked)
    held = federation_of(plan.data, by_silo=tables).silo("one").train
    return answers(plan, asked.blocks, asked_vector(asked, held.features, held.labels), 0.0)


def by_hand() -> dict[str, float]:
    """Ratios from counts that are made without any of the program's own cells."""
    whole, counts = records(3_000), np.zeros((2, 3, 5, 2))
    rows = list(zip(whole["sex"], whole["stage"], whole["days"], whole["died"], strict=True))[200:]
    for sex, stage, days, died in rows:
        place = min(max(math.ceil(days / 250) - 1, 0), 3) if days < 1000 or died == "yes" else 4
        counts["fm".index(sex), len(stage) - 1, place, 0 if died == "yes" else 1] += 1
    covariates = (Covariate("sex", ("f", "m")), Covariate("stage", ("I", "II", "III"), 1))
    found = hazards(counts.ravel(), 0.0, EDGES, covariates)
    return {one.name: one.ratio.value for one in found.effects if one.ratio}


def test_hazard_ratios_of_records_are_those_of_counts_by_hand() -> None:
    (found,) = answered(
        {
            "kind": "hazards", "time": "days", "event": "died", "happened": "yes", "on": ["sex", "stage"],
            "bins": {"days": 4}, "reference": {"stage": "II"},
        }
    )  # fmt: skip
    assert found.forest is not None
    assert "A ratio compares with sex = f, stage = II, the other columns held fixed" in found.about
    drawn = {name: ratio.value for name, ratio in found.forest.rows if ratio}
    assert drawn == pytest.approx(by_hand(), rel=1e-3)
    assert 1.7 < drawn["sex = m"] < 2.4
    assert [row.name for row in found.main][:2] == ["p-value of no effect at all", "sex = m: hazard ratio"]
    assert found.main[1].remark == "against f; p < 0.001"
    assert [row.remark[:10] for row in found.main if "stage" in row.name] == ["against II"] * 2
    assert found.main[0].remark == ""


def test_odds_ratios_of_records_are_those_of_four_cells() -> None:
    (found,) = answered({"kind": "logistic-regression", "outcome": "died", "happened": "yes", "on": ["sex"]})
    whole = records(3_000)
    pairs = list(zip(whole["sex"], whole["died"], strict=True))[200:]
    cells = {(sex, died): pairs.count((sex, died)) for sex in "fm" for died in ("yes", "no")}
    odds = cells["m", "yes"] * cells["f", "no"] / (cells["m", "no"] * cells["f", "yes"])
    assert found.forest is not None
    ((_, ratio),) = found.forest.rows
    assert ratio is not None
    assert ratio.value == pytest.approx(odds)


def test_a_forest_has_a_row_for_each_level_and_a_line_of_no_effect() -> None:
    rows = (
        ("stage = II", Interval(2.0, 1.5, 3.0)),
        ("stage = III", None),
        ("<b>", Interval(0.5, 0.001, 9.0)),
    )
    drawn = str(draw_forest("Does it help?", Forest("hazard ratio", rows)))
    assert "stage = II: 2 (1.5 to 3)" in drawn
    assert "stage = III: cannot be told at this noise" in drawn
    assert "<b>" not in drawn
    assert drawn.count("<circle") == 2
    ends = [float(x) for x in re.findall(r'x[12]="([\d.]+)"', drawn)]
    assert min(ends) >= 130.0
    assert max(ends) <= 326.0


def test_equal_steps_of_a_ratio_are_equally_wide() -> None:
    rows = tuple((f"{at}", Interval(at, at, at)) for at in (0.5, 1.0, 2.0))
    drawn = str(draw_forest("", Forest("odds ratio", rows)))
    low, middle, high = (float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn))
    assert middle - low == pytest.approx(high - middle, abs=0.11)
