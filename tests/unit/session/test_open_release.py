"""The state of a release that the ledger has not completed: the process died, and somebody changed it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import train
from discreet.engines.local import Opening
from discreet.errors import LedgerError
from discreet.plan import Plan
from discreet.privacy.ledger import Completed, LedgerWriter
from discreet.rounds import RunDirectory, resume_ledger
from tests.unit.session.test_evaluated_training import Killed, planned
from tests.unit.session.test_evaluation import hospitals


def died_behind(
    release: int, out: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> tuple[Plan, RunDirectory]:
    """Trains until a release has its state, but no line in the ledger that says so."""
    evaluate = None if changes else {"every": 2, "epsilon": 8.0}
    plan, append = planned(evaluate, **changes), LedgerWriter.append

    def dies(self: LedgerWriter, entry: Any) -> Any:
        if isinstance(entry, Completed) and entry.release == release:
            raise Killed
        return append(self, entry)

    with monkeypatch.context() as patch:
        patch.setattr(LedgerWriter, "append", dies)
        with pytest.raises(Killed):
            train(plan, hospitals(), out=out, seed=1)
    return plan, RunDirectory(out)


def require_settled_alone(plan: Plan, directory: RunDirectory, forged: list[tuple[Any, Any]]) -> None:
    """The open release is settled by its own state, and by none that is forged: no line tells of these."""
    before, saved = directory.ledger.read_bytes(), directory.load_state()
    said = f"must be a state that release {saved.made.release} of the plan can lead to"
    for arrays, made in forged:
        directory.save_state(arrays, made)
        with pytest.raises(LedgerError, match=said):
            resume_ledger(directory, plan, seeded=True)
    assert directory.ledger.read_bytes() == before
    directory.save_state(saved.arrays, saved.made)
    with resume_ledger(directory, plan, seeded=True) as ledger:
        assert isinstance(ledger.entries[-2], Completed)


def test_a_model_is_not_exchanged_while_it_is_evaluated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies behind the state of the first evaluation, whose line the ledger lacks."""
    plan, directory = died_behind(3, tmp_path / "run", monkeypatch)
    before, saved = directory.ledger.read_bytes(), directory.load_state()
    directory.save_state(saved.arrays | {"parameters": saved.arrays["parameters"] + 7.0}, saved.made)
    with pytest.raises(LedgerError, match="must hold the model that the open release asks about"):
        train(plan, hospitals(), out=directory.path, seed=1, opening=Opening.RESUME)
    for name in saved.arrays:
        directory.save_state(saved.arrays | {name: np.array(1.0)}, saved.made)
        with pytest.raises(LedgerError, match="must hold the model that the open release asks about"):
            resume_ledger(directory, plan, seeded=True)
    no_names: Any = (5,)
    directory.save_state(saved.arrays, dataclasses.replace(saved.made, survivors=no_names))
    with pytest.raises(LedgerError, match=r"state\.safetensors must be readable"):
        resume_ledger(directory, plan, seeded=True)
    assert directory.ledger.read_bytes() == before
    directory.save_state(saved.arrays, saved.made)
    run = train(plan, hospitals(), out=directory.path, seed=1, opening=Opening.RESUME)
    assert run.record.spending.lost == ()
    assert run.verify()


def test_a_state_that_no_round_led_to_is_not_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, directory = died_behind(2, tmp_path / "run", monkeypatch)
    saved = directory.load_state()
    weights, names = saved.arrays["parameters"], saved.made.survivors
    forms = (np.array(1.0), np.zeros(7), weights.astype(np.float32), np.full(weights.shape, np.nan))
    forged = [(saved.arrays | {name: one}, saved.made) for name in saved.arrays for one in forms]
    forged += [
        (saved.arrays, dataclasses.replace(saved.made, survivors=one))
        for one in ((), names[:1], names * 2, names[::-1], (*names[1:], "nobody"))
    ]
    forged += [
        (saved.arrays, dataclasses.replace(saved.made, transcript=one)) for one in ("", "ab", "z" * 64)
    ]
    # By another number of rounds the server would step otherwise, or in none but errors.
    forged += [(saved.arrays | {"server.rounds": np.array([one])}, saved.made) for one in (0, 3, -(10**6))]
    require_settled_alone(plan, directory, forged)


def test_a_state_has_the_models_that_a_timetable_still_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    buffered = {"kind": "buffered", "buffer": 2, "pace": {"east": 3}}
    changes = {"schedule": buffered, "aggregation": {"min_survivors": 2}}
    plan, directory = died_behind(3, tmp_path / "run", monkeypatch, **changes)
    saved = directory.load_state()
    versions = saved.arrays["history.versions"]
    others = (versions[::-1].copy(), versions + 10**9, versions - 1)
    forged = [(saved.arrays | {"history.versions": one}, saved.made) for one in others]
    require_settled_alone(plan, directory, forged)


@pytest.mark.parametrize("norm", [0.0, -1.0, 2.0**-65, 2.0**65])
def test_a_norm_that_moved_is_one_at_which_silos_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, norm: float
) -> None:
    moving = {"clip_norm": {"initial": 1.0, "quantile": 0.5}}
    plan, directory = died_behind(1, tmp_path / "run", monkeypatch, privacy=moving)
    saved = directory.load_state()
    directory.save_state(saved.arrays | {"clip_norm": np.array([norm])}, saved.made)
    with pytest.raises(LedgerError, match="must be a state that release 1 of the plan can lead to"):
        resume_ledger(directory, plan, seeded=True)
