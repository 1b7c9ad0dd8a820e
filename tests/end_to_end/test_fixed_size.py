"""Fixed-size sampling through the whole walk on bundled data."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from discreet.config import Config, parse_config
from discreet.engines.local import prepare, run
from discreet.learning.single_step import single_step_update
from discreet.privacy.units import NeighboringRelation
from discreet.report import collect
from discreet.session.finish import finish
from discreet.verify import verify

# The training records of the bundled federation under the default split.
EXACT = {"cleveland": 224, "hungary": 190, "long_beach_va": 103, "switzerland": 40}


def configured(capacities: dict[str, int] = EXACT, **tables: Any) -> Config:
    return parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": capacities},
            "training": {
                "rounds": 6,
                "local": {"kind": "single-step"},
                "sampling": {"kind": "fixed-size", "fraction": 0.25},
                "server": {"kind": "averaging", "learning_rate": 4.0},
            },
            "privacy": {"epsilon": 8.0, "delta": 1e-5, "clip_norm": 1.0},
            "aggregation": {"protocol": "ideal", "min_survivors": 3},
            "run": {"seed": 5},
            **tables,
        }
    )


def test_every_round_takes_exactly_the_planned_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: Counter[int] = Counter()

    def watched(*arguments: Any) -> Any:
        counted = single_step_update(*arguments)
        batches[counted.update.batch] += 1
        return counted

    monkeypatch.setattr("discreet.learning.arithmetic.single_step_update", watched)
    result = run(configured(), tmp_path / "run")
    assert batches == {56: 6, 47: 6, 25: 6, 10: 6}
    assert result.metrics["auc"] > 0.7


def test_the_run_verifies_and_says_what_is_public(tmp_path: Path) -> None:
    result = run(configured(), tmp_path / "run")
    assert result.plan.spent(6).neighboring is NeighboringRelation.REPLACE_ONE
    finish(result, None)
    assert "report.html, report.json" in [finding.subject for finding in verify(tmp_path / "run")]
    shown = collect(tmp_path / "run")
    assert any("exactly 0.25 of each silo's places" in fact.value for fact in shown.facts)
    assert any("takes the place of another, twice as far" in fact.meaning for fact in shown.facts)
    assert not any("how many records a silo holds" in refusal.what for refusal in shown.refusals)


@pytest.mark.parametrize(("places", "surplus"), [(223, True), (224, False), (300, False)])
def test_the_number_of_places_need_not_be_the_number_of_records(
    places: int, surplus: bool, tmp_path: Path
) -> None:
    """Empty places contribute nothing and surplus records are left out; neither shows."""
    config = configured({**EXACT, "cleveland": places})
    assert bool(prepare(config).federation.warnings) == surplus
    result = run(config, tmp_path / "run")
    assert len(result.spending.completed) == 6
