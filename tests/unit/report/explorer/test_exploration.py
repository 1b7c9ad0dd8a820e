"""The explorer's numbers are those of plans."""

from __future__ import annotations

import itertools

import pytest

from discreet.engines.local import Prepared
from discreet.plan import make_plan
from discreet.plan.sweep import Costs, parse_axis, sweep
from discreet.plan.sweep import costs as costs_of
from discreet.report.exploration import Exploration, from_sweep


def test_every_combination_is_there_once(exploration: Exploration) -> None:
    expected = set(itertools.product(*(dimension.values for dimension in exploration.dimensions)))
    found = [tuple(value for _, value in row.settings) for row in exploration.rows]
    assert len(found) == len(set(found)) == len(expected)
    assert set(found) == expected
    assert [dimension.name for dimension in exploration.dimensions][:2] == ["rounds", "epsilon"]
    assert [dimension.name for dimension in exploration.dimensions][-2:] == ["silos", "dropouts"]


def test_the_config_itself_is_among_them(exploration: Exploration, prepared: Prepared) -> None:
    asked = dict(exploration.asked)
    assert set(asked) == {dimension.name for dimension in exploration.dimensions}
    own = next(row for row in exploration.rows if dict(row.settings) == asked)
    assert own.outcome == costs_of(prepared.plan)


def test_more_silos_need_less_noise_each_and_dropouts_cost_noise(exploration: Exploration) -> None:
    def outcome(**changes: int) -> Costs:
        wanted = {**dict(exploration.asked), **changes}
        row = next(row for row in exploration.rows if dict(row.settings) == wanted)
        assert isinstance(row.outcome, Costs)
        return row.outcome

    assert outcome(silos=16, dropouts=0).signal_to_noise > 2 * outcome(silos=4, dropouts=0).signal_to_noise
    # One of four may drop out: three honest shares must suffice less one colluder, so noise grows by √(3/2).
    grown = outcome(dropouts=1).noise_norm / outcome(dropouts=0).noise_norm
    assert grown == pytest.approx((3 / 2) ** 0.5, rel=0.02)
    assert outcome(dropouts=1).epsilon <= 1.0


def test_a_refused_combination_keeps_its_reason(exploration: Exploration) -> None:
    refused = [row for row in exploration.rows if isinstance(row.outcome, str)]
    assert refused
    assert all(dict(row.settings)["dropouts"] == 2 and dict(row.settings)["silos"] == 4 for row in refused)
    assert all("min_survivors" in str(row.outcome) for row in refused)


def test_a_sweep_of_chosen_axes_is_shown_as_it_is(prepared: Prepared) -> None:
    axes = [parse_axis("rounds=3,8", prepared.config), parse_axis("mechanism=skellam", prepared.config)]
    rows = sweep(prepared.config, prepared.plan.facts, axes)
    shown = from_sweep(prepared.plan, axes, rows)
    assert shown.rows == rows
    assert [dimension.values for dimension in shown.dimensions] == [(3, 8), ("skellam",)]
    assert dict(shown.asked) == {"rounds": prepared.plan.rounds}


def test_what_ifs_keep_the_own_silos_first(prepared: Prepared) -> None:
    from discreet.report.exploration import _with_silos

    facts, config = _with_silos(prepared.config, prepared.plan, 6)
    assert facts.silos[:4] == prepared.plan.facts.silos
    assert len(set(facts.silos)) == 6
    aggregation = config.aggregation.model_copy(update={"min_survivors": 5})
    plan = make_plan(config.model_copy(update={"aggregation": aggregation}), facts)
    assert plan.capacities == (max(prepared.plan.capacities),) * 6
