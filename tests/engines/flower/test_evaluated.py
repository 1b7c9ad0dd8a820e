"""Evaluations over a wire: the local bits, one shape for all sums, charges by side, lies, kills, dropouts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import Config
from discreet.engines.flower.service import serve_training
from discreet.errors import NotEnoughSurvivors
from discreet.plan import filled, part_of_sum, sum_terms, wire_terms
from discreet.plan.counted import contributions_of
from discreet.plan.guaranteed import against
from discreet.plan.order import EVALUATION
from discreet.plan.start import LARGEST_WEIGHT
from discreet.rounds import RoundOrder
from discreet.rounds.judging import noise_variance
from discreet.secagg import Stage
from discreet.silo.check import dry_run
from discreet.silo.policy import Charge, load_policy
from discreet.silo.requests import Refused
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.flower.one_process import (
    asked_again_and_again,
    both,
    charged,
    engine_of,
    restarting,
    seal_and_verify,
    with_dropout,
)
from tests.engines.flower.test_equivalence import PATIENCE, dropping

DIMENSION = 16
EVALUATE = {"every": 2, "epsilon": 1.5, "bins": 8, "keep": "best"}


@pytest.fixture
def evaluated(small_config: Callable[..., Config]) -> Config:
    """Three rounds; held-out records are asked after the second and the last."""
    return small_config(evaluate=EVALUATE)


@pytest.mark.parametrize(("release", "stage"), [(None, Stage.MASK), (3, Stage.MASK), (3, Stage.UNMASK)])
def test_rounds_and_evaluations_are_those_of_one_process(
    make_consortium: Callable[..., SmallConsortium],
    evaluated: Config,
    tmp_path: Path,
    release: int | None,
    stage: Stage,
) -> None:
    """With a dropout in an evaluation, the third release; or without, sealed and verified."""
    config = evaluated if release is None else with_dropout(evaluated, release, stage)
    consortium = make_consortium(config)
    wire = DirectWire(consortium.silos)
    if release is not None:
        wire.tamper = dropping(consortium, "hungary", release, stage)
    both(consortium, config, tmp_path / "local", wire)
    assert charged(consortium, "cleveland") == {None: 3, EVALUATION: 2}
    log = consortium.folder.server.log.read_text()
    assert "held out, after round 2/3: " in log
    assert "silos, accuracy " in log
    if release is None:
        seal_and_verify(consortium)
    assert "round 3/3: " in log


def test_all_sums_have_one_shape_and_each_part_its_own_ring(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    plan = make_consortium(evaluated).plan
    asked = plan.evaluation
    assert asked is not None
    whole, alone = wire_terms(plan, bytes(32)), sum_terms(asked, bytes(32))
    assert (whole.length, whole.bits) == (
        max(plan.grid.dimension, asked.grid.dimension),
        max(plan.grid.bits, asked.grid.bits),
    )
    assert whole.context == sum_terms(plan, bytes(32)).context
    assert wire_terms(asked, bytes(32)) == alone
    for part in (plan, asked):
        values = np.arange(part.grid.dimension, dtype=np.int64) - 3
        total = (filled(values, whole.length) % (1 << whole.bits)).astype(np.uint64)
        assert len(total) == whole.length
        assert part_of_sum(part, total).tolist() == (values % (1 << part.grid.bits)).tolist()


def test_a_forged_model_makes_a_histogram_as_any_other(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    """Whatever weights a server announces, a unit is in one cell; a round's sum is no evaluation's."""
    consortium = make_consortium(evaluated)
    engine, plan = engine_of(consortium), consortium.plan
    asked, dimension = plan.evaluation, plan.facts.dimension
    assert asked is not None
    forged = np.where(np.arange(dimension) % 2, 1.0, -1.0) * LARGEST_WEIGHT
    outcome = engine.sum_round(RoundOrder(3, 1, forged))
    assert outcome.total.shape == (asked.grid.dimension,)
    everybody = sum(
        len(silo._training._records[EVALUATION].under(None)[silo.name])
        for silo in consortium.silos.values()
        if silo._training
    )
    assert everybody > 100
    spread = float(noise_variance(asked, len(outcome.survivors)) * len(outcome.total)) ** 0.5
    assert abs(float(asked.decoded(outcome.total, 1).sum()) - everybody) < 6.0 * spread
    assert charged(consortium, "cleveland") == {EVALUATION: 1}


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        (np.full(DIMENSION, np.nan), "must be finite"),
        (np.full(DIMENSION, 2.0 * LARGEST_WEIGHT), "must be finite and at most"),
        (np.zeros(DIMENSION + 1), f"must have {8 * DIMENSION} bytes, as planned"),
    ],
    ids=["nan", "huge", "long"],
)
def test_a_model_that_is_none_is_asked_about_in_vain(
    make_consortium: Callable[..., SmallConsortium],
    evaluated: Config,
    odd: np.ndarray[Any, np.dtype[np.float64]],
    told: str,
) -> None:
    consortium = make_consortium(evaluated)
    engine = engine_of(consortium)
    with pytest.raises(NotEnoughSurvivors):
        engine.sum_round(RoundOrder(3, 1, odd))
    replies = engine._wire.answered  # type: ignore[attr-defined]  # a `DirectWire`
    reasons = {reply.reason for reply in replies if isinstance(reply, Refused)}
    assert len(reasons) == 1
    assert told in reasons.pop()
    assert not charged(consortium, "cleveland")


def test_evaluations_asked_for_again_and_again_are_charged_each_time(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    """Side by side: what the other side was asked is not added."""
    consortium = make_consortium(evaluated)
    asked_again_and_again(consortium, 3, consortium.plan.evaluation, EVALUATION)


def test_an_owner_who_permits_no_evaluation_is_asked_none(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    consortium = make_consortium(evaluated)
    asked = consortium.plan.evaluation
    assert asked is not None
    named = f', "answers@sha256:{asked.facts.model_digest}"'
    consortium.edit_policy("cleveland", named, "")
    wire = DirectWire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    (refusal,) = {reply for reply in wire.answered if isinstance(reply, Refused)}
    assert "model of its evaluation must be one of logistic@sha256:" in refusal.reason
    assert not (consortium.folder.silo("cleveland") / "state" / "ledger.jsonl").read_text()


def test_a_silo_that_died_between_rounds_and_evaluation_comes_back(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    consortium = make_consortium(evaluated)
    wire = DirectWire(consortium.silos, restarting(consortium, model=3))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    counts = charged(consortium, "hungary")
    assert counts[None] + counts[EVALUATION] < 5
    assert charged(consortium, "cleveland") == {None: 3, EVALUATION: 2}


def test_an_owner_is_told_beforehand_that_held_out_records_are_asked(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    consortium = make_consortium(evaluated)
    told = dry_run(load_policy(consortium.folder.policy("cleveland")), consortium.plan)
    terms = wire_terms(consortium.plan, bytes(32))
    assert "those are asked how good the model is, after every 2 rounds, and after the last" in told.held_out
    (sum_,) = [line for line in told.released if "masked" in line]
    assert f"3 rounds and 2 evaluations of held-out records one vector of {terms.length} integers" in sum_
    assert told.cost.epsilon == pytest.approx(1.5, abs=0.01)


def test_contributions_are_charged_by_the_side_that_they_are_of(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    consortium = make_consortium(evaluated)
    plan, policy = consortium.plan, load_policy(consortium.folder.policy("cleveland"))
    assert contributions_of(plan, "cleveland") == plan.releases == 5
    assert plan.order.covering({None: 3, EVALUATION: 2}) == 5
    assert plan.order.covering({None: 2}) == 2
    # Two evaluations and no round: as much as all evaluations, and more than as many rounds.
    assert plan.order.covering({EVALUATION: 2}) == 5
    # A third one, beyond the plan, costs more than was planned.
    assert plan.order.covering({None: 3, EVALUATION: 3}) > 5
    charge = Charge.under(plan, policy)
    planned = charge.cost(contributions_of(plan, "cleveland"))
    asked = plan.evaluation
    assert asked is not None
    evaluated_only = against(asked, charge.adversary, charge.honest_silos, rounds=2)
    assert charge.cost(plan.order.covering({EVALUATION: 2})).epsilon >= evaluated_only.epsilon
    assert planned.epsilon == max(
        evaluated_only.epsilon,
        against(
            dataclasses.replace(plan, evaluation=None), charge.adversary, charge.honest_silos, rounds=3
        ).epsilon,
    )


def test_a_budget_that_the_evaluations_exceed_is_refused_before_a_round(
    make_consortium: Callable[..., SmallConsortium], evaluated: Config
) -> None:
    """The training costs 1 and its evaluations 1.5 of the records that they ask."""
    consortium = make_consortium(evaluated)
    text = consortium.folder.policy("cleveland").read_text()
    (line,) = [one for one in text.splitlines() if one.startswith("max_epsilon_per_training")]
    consortium.edit_policy("cleveland", line, "max_epsilon_per_training = 1.2")
    wire = DirectWire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    (refusal,) = {reply for reply in wire.answered if isinstance(reply, Refused)}
    assert "5 releases must stay within this silo's 'budget.max_epsilon_per_training' = 1.2" in refusal.reason
