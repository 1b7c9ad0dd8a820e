"""Sums that do not wait for a slow silo: the synchronous bits where nobody is slow, and nothing uncharged."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from discreet.config import Config, load_config, parse_config
from discreet.config.run import Dropout
from discreet.config.speed import SpeedConfig
from discreet.engines.local import LocalEngine, Opening, RunResult, run
from discreet.errors import ConfigurationError, NotEnoughSurvivors
from discreet.kinds import BufferedConfig
from discreet.plan.counted import contributions
from discreet.privacy.ledger import Completed, LedgerWriter, read_ledger
from discreet.randomness import Label, SeededRandom
from discreet.rounds import Contribution, RoundOrder
from discreet.session.finish import finish
from discreet.verify import VerificationFailure, verify
from tests.end_to_end.test_interruption import (
    Kill,
    Killed,
    killed_after_the_state,
    killed_after_the_sum,
    killed_before_the_metrics,
    killed_before_the_sum,
)

EXAMPLE = Path(__file__).parents[2] / "examples" / "paces.toml"
SLOW: dict[str, Any] = {"buffer": 3, "pace": {"switzerland": 3}}


def scheduled(config: Config, **stated: Any) -> Config:
    """Returns a config with a schedule in place of ordinary rounds."""
    schedule = BufferedConfig.model_validate({"kind": "buffered", **stated})
    return config.model_copy(
        update={
            "training": config.training.model_copy(update={"schedule": schedule}),
            "run": config.run.model_copy(update={"dropouts": ()}),
        }
    )


def weights(result: RunResult) -> str:
    tensors = load_file(result.directory.model)
    return hashlib.sha256(b"".join(tensors[name].tobytes() for name in sorted(tensors))).hexdigest()


def test_a_buffer_of_everybody_at_one_pace_gives_the_synchronous_bits(heart: Config, tmp_path: Path) -> None:
    plain = heart.model_copy(update={"run": heart.run.model_copy(update={"dropouts": ()})})
    together = run(plain, tmp_path / "together")
    buffered = run(scheduled(heart, buffer=4), tmp_path / "buffered")
    assert weights(buffered) == weights(together)
    assert [(one.epsilon, one.delta) for one in buffered.guarantees] == [
        (one.epsilon, one.delta) for one in together.guarantees
    ]


def test_workers_change_no_bit(heart: Config, tmp_path: Path) -> None:
    one, two = (
        scheduled(heart, **SLOW).model_copy(update={"speed": SpeedConfig(workers=workers)})
        for workers in (1, 2)
    )
    assert weights(run(one, tmp_path / "one")) == weights(run(two, tmp_path / "two"))


def test_a_finished_run_says_who_was_asked_and_verifies(heart: Config, tmp_path: Path) -> None:
    result = run(scheduled(heart, **SLOW), tmp_path / "run")
    made = result.plan.timetable
    assert made is not None
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [(line["tick"], tuple(line["survivors"])) for line in lines] == [
        (one.tick, one.silos) for one in made.sums
    ]
    assert contributions(result.plan, result.plan.rounds) == result.plan.training.planned_rounds
    assert lines[-1]["epsilon_spent"] == pytest.approx(result.plan.spent(result.plan.rounds).epsilon)
    page = finish(result, None).read_text(encoding="utf-8")
    assert "3 of 3 asked" in page
    assert "completed, tick 3" in page
    assert "cleveland, hungary, long_beach_va in 8; switzerland in 2" in page
    assert [found.subject for found in verify(tmp_path / "run")]


def test_a_survivor_that_was_not_asked_does_not_verify(heart: Config, tmp_path: Path) -> None:
    """The whole chain is written anew, as by somebody who holds the folder."""
    result = run(scheduled(heart, **SLOW), tmp_path / "run")
    path = tmp_path / "run" / "ledger.jsonl"
    entries = [line.entry for line in read_ledger(path)]
    path.unlink()
    with LedgerWriter.open(path) as ledger:
        for entry in entries:
            if isinstance(entry, Completed) and entry.release == 1:
                ledger.append(replace(entry, survivors=result.plan.facts.silos))
            else:
                ledger.append(entry)
    finish(result, None)
    with pytest.raises(VerificationFailure, match=r"release 1 .* silos that the plan asks"):
        list(verify(tmp_path / "run"))


@pytest.mark.parametrize(
    ("kill", "lost"),
    [
        (killed_before_the_sum, 1),
        (killed_after_the_sum, 1),
        (killed_after_the_state, 0),
        (killed_before_the_metrics, 0),
    ],
)
def test_killed_anywhere_it_goes_on_and_charges_everything(
    heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill: Kill, lost: int
) -> None:
    config = scheduled(heart, **SLOW)
    labels: list[tuple[Label, ...]] = []
    orders: list[RoundOrder] = []
    real, real_contributions = SeededRandom.derive, LocalEngine._contributions

    def derive(self: SeededRandom, *names: Label) -> SeededRandom:
        if names[0] in ("release", "session"):
            labels.append(names)
        return real(self, *names)

    def contributions(self: LocalEngine, order: RoundOrder) -> dict[str, Contribution]:
        orders.append(order)
        return real_contributions(self, order)

    monkeypatch.setattr(SeededRandom, "derive", derive)
    monkeypatch.setattr(LocalEngine, "_contributions", contributions)
    with monkeypatch.context() as patch:
        kill(patch, 4)
        with pytest.raises(Killed):
            run(config, tmp_path / "run")
    resumed = run(config, tmp_path / "run", opening=Opening.RESUME)
    made = resumed.plan.timetable
    assert made is not None
    assert len(resumed.spending.lost) == lost
    assert resumed.spending.charged == len(made.sums)
    assert len(labels) == len(set(labels)), "a source of randomness was derived twice"
    # Who trained on an old model gets that model after a resume too, or the one before where it was lost.
    newest = {order.release: order.parameters for order in orders}
    for order in orders:
        assert order.starts is not None
        turns = made.sums[order.release - 1].turns
        assert tuple(order.starts) == tuple(turn.silo for turn in turns)
        for turn in turns:
            if turn.base + 1 in newest:
                assert np.array_equal(order.starts[turn.silo].parameters, newest[turn.base + 1])


def test_dropouts_and_lost_sums_never_charge_a_silo_beyond_its_contributions(
    heart: Config, tmp_path: Path
) -> None:
    gone = (
        Dropout(silo="hungary", round=2, stage="mask"),
        Dropout(silo="switzerland", round=3, stage="unmask"),
        Dropout(silo="switzerland", round=2, stage="mask"),  # which is not asked then
    )
    config = scheduled(heart, **SLOW)
    aggregation = config.aggregation.model_copy(
        update={"min_survivors": 2, "max_colluding": 0, "mode": "semi-honest"}
    )
    config = config.model_copy(
        update={"aggregation": aggregation, "run": config.run.model_copy(update={"dropouts": gone})}
    )
    result = run(config, tmp_path / "run")
    made = result.plan.timetable
    assert made is not None
    asked = Counter(silo for one in made.sums[: result.spending.charged] for silo in one.silos)
    assert max(asked.values()) == contributions(result.plan, result.spending.charged)
    assert max(asked.values()) <= config.training.planned_rounds
    assert "hungary" not in result.spending.completed[1].survivors
    assert all(len(one.survivors) >= 2 for one in result.spending.completed)


def with_dropouts(config: Config, *gone: tuple[str, int]) -> Config:
    """Returns a config in which each of these silos is missing from the sum of that number."""
    missing = tuple(Dropout(silo=silo, round=number, stage="mask") for silo, number in gone)
    return config.model_copy(update={"run": config.run.model_copy(update={"dropouts": missing})})


def test_a_sum_without_room_that_loses_a_silo_is_left_out_as_it_was_planned(tmp_path: Path) -> None:
    """The shipped example: three silos are asked and three must survive, while the fourth still trains."""
    config = load_config(EXAMPLE)
    whole = run(config, tmp_path / "whole")
    result = run(with_dropouts(config, ("hungary", 3)), tmp_path / "run")
    made = result.plan.timetable
    assert made is not None
    assert len(made.sums[2].silos) == result.plan.thresholds.min_survivors
    assert (result.spending.lost, result.spending.aborted) == ((3,), 0)
    assert result.spending.charged == len(made.sums) == result.plan.rounds
    assert result.guarantees == whole.guarantees, "nothing that was not planned"
    assert [one.survivors for one in result.spending.completed] == [
        one.silos for number, one in enumerate(made.sums, 1) if number != 3
    ]
    page = finish(result, None).read_text(encoding="utf-8")
    assert "too few silos were left for this sum" in page
    assert "sums ask only the 3 silos that must survive" in page
    assert [found.subject for found in verify(tmp_path / "run")]


def test_three_sums_in_a_row_without_enough_silos_stop_a_training_that_can_go_on(tmp_path: Path) -> None:
    config = load_config(EXAMPLE)
    gone = tuple(("hungary", number) for number in (2, 4, 5, 6))
    with pytest.raises(NotEnoughSurvivors, match=r"third sum in a row; resume the training"):
        run(with_dropouts(config, *gone), tmp_path / "run")
    resumed = run(config, tmp_path / "run", opening=Opening.RESUME)
    assert (resumed.spending.lost, resumed.spending.charged) == ((2, 4, 5, 6), resumed.plan.rounds)
    assert resumed.spending.aborted == 0


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"local": {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 1}}, "left out for noisy-steps"),
        ({"clip_norm": {"quantile": 0.5, "initial": 1.0}}, "clip_norm' must be a number with"),
        ({"protocol": "bell"}, "must be bonawitz in mode malicious or semi-honest .* got bell"),
        ({"mode": "one-phase"}, "got bonawitz in mode one-phase"),
        ({"evaluate": {"every": 2, "epsilon": 0.5}}, "'evaluate' must be left out with 'training.schedule'"),
        ({"pace": {"zurich": 2}}, "must name silos of the plan, cleveland, .*; got 'zurich'"),
        ({"buffer": 2}, "buffer' must be from 'aggregation.min_survivors', 3"),
    ],
)
def test_what_is_not_proven_or_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, tables: dict[str, Any], message: str
) -> None:
    local = tables.get("local", {"kind": "single-step"})
    own: dict[str, Any] = {key: tables[key] for key in ("pace", "buffer") if key in tables}
    summed: dict[str, Any] = {key: tables[key] for key in ("protocol", "mode") if key in tables}
    schedule = {"kind": "buffered", "buffer": 3, **own}
    stated: dict[str, Any] = {
        "data": {"source": "heart-disease", "record_capacity": 300},
        "training": {"rounds": 4, "local": local, "schedule": schedule},
        "privacy": {"epsilon": 4.0, "delta": 1e-5, "clip_norm": tables.get("clip_norm", 1.0)},
        "aggregation": {"min_survivors": 3, **summed},
        **({"evaluate": tables["evaluate"]} if "evaluate" in tables else {}),
    }
    with pytest.raises(ConfigurationError, match=message):
        run(parse_config(stated, source="test"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
