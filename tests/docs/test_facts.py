"""What pages state as a fact, in a table or a sentence, is what the program does."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from scipy.optimize import brentq

from discreet.config import load_config
from discreet.config.run import Dropout
from discreet.engines.local import prepare, run
from discreet.plan.sweep import Costs, parse_axis, sweep
from discreet.privacy.judgement import Level, judge_numbers
from discreet.privacy.notation import percent_at_most
from discreet.privacy.tradeoff import GaussianTradeoff
from discreet.privacy.units import NeighboringRelation, Unit

ROOT = Path(__file__).parents[2]


def table(page: str, header: str) -> list[list[str]]:
    """Returns the rows of the table of a page whose header begins with ``header``."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    rows = text.partition(f"| {header}")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_the_rules_of_thumb_for_epsilon() -> None:
    rows = table("how-to/choose-epsilon.md", "ε of one training")
    assert len(rows) == 4
    for epsilon, found, _ in rows:
        mu = brentq(lambda mu, target=float(epsilon): GaussianTradeoff(mu).delta(target) - 1e-5, 1e-3, 20.0)
        rate = 100 * GaussianTradeoff(mu).max_true_positive_rate(0.01)
        assert float(found.removesuffix(" %")) == pytest.approx(rate, abs=0.5 if rate > 10 else 0.1)


def test_what_becomes_of_an_update_when_a_silo_disappears(tmp_path: Path) -> None:
    rows = table("how-to/survive-dropouts.md", "stage")
    assert [row[0] for row in rows] == ["`advertise`", "`share`", "`mask`", "`confirm`", "`unmask`"]
    config = load_config(ROOT / "examples" / "heart.toml")
    one_round = config.training.model_copy(update={"rounds": 1})
    for stage, _, told in rows:
        drop = Dropout.model_validate({"silo": "hungary", "round": 1, "stage": stage.strip("`")})
        local = config.run.model_copy(update={"compare": False, "dropouts": (drop,)})
        result = run(
            config.model_copy(update={"training": one_round, "run": local}), tmp_path / stage.strip("`")
        )
        is_in = "hungary" in result.spending.completed[0].survivors
        assert is_in == ("is in the sum" in told)
        assert is_in != told.startswith("left out")


def test_what_makes_the_ring_smaller() -> None:
    config = load_config(ROOT / "examples" / "digits.toml")
    prepared = prepare(config)

    def bits(*axes: str) -> list[int]:
        parsed = [parse_axis(text, config) for text in axes]
        found = [row.outcome for row in sweep(config, prepared.plan.facts, parsed)]
        assert all(isinstance(costs, Costs) for costs in found)
        return [costs.bits for costs in found if isinstance(costs, Costs)]

    assert len(set(bits("clip_norm=0.1,1,10"))) == 1
    few, twice, four_times = bits("record_capacity=400,800,1600")
    assert few < twice < four_times <= few + 3
    assert max(bits("epsilon=0.5,8")) - min(bits("epsilon=0.5,8")) <= 1


def test_stable_steps_need_no_more_noise_for_more_steps() -> None:
    config = load_config(ROOT / "tests" / "support" / "tuned_heart.toml")
    prepared = prepare(config)
    rows = sweep(config, prepared.plan.facts, [parse_axis("local.steps=4,16,64", config)])
    multipliers = [row.outcome.noise_multiplier for row in rows if isinstance(row.outcome, Costs)]
    assert len(multipliers) == 3
    assert max(multipliers) == pytest.approx(min(multipliers), rel=1e-6)


def test_the_numbers_of_the_counterexample_are_those_of_the_claims() -> None:
    page = (ROOT / "docs" / "concepts" / "local-steps.md").read_text(encoding="utf-8")
    claims = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    claimed, measured = re.search(r"claims ε = ([\d.]+) for two steps.*?ε ≥ ([\d.]+)", page, re.S).groups()
    assert measured in claims
    assert claimed in claims


def test_the_judgements_of_the_pages() -> None:
    for epsilon, right, level in table("how-to/choose-epsilon.md", "ε, with δ"):
        found = judge_numbers(float(epsilon), 1e-5, Unit.RECORD, NeighboringRelation.ADD_REMOVE, units=1_000)
        assert (percent_at_most(found.best_guess), found.level.value) == (right, level)
    rows = table("concepts/guarantee.md", "judgement")
    assert [row[0].partition(":")[0] for row in rows] == [level.value for level in Level]
    for before, after in pairwise(rows):
        edge = float(re.findall(r"[\d.]+", after[2])[0])
        assert edge == float(re.findall(r"[\d.]+", before[2])[-1])
        for row, beside in ((before, edge - 0.1), (after, edge + 0.1)):
            found = judge_numbers(beside, 1e-9, Unit.RECORD, NeighboringRelation.ADD_REMOVE, units=100)
            assert row[0].startswith(found.level.value)
