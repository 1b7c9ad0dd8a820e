"""Killed at any point, resumed: the same final guarantee, and no randomness used twice."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.config import Config
from discreet.config.run import Dropout
from discreet.engines.local import LocalEngine, Opening, run
from discreet.errors import LedgerError, NotEnoughSurvivors
from discreet.privacy.ledger import Completed, Intent, LedgerWriter, Lost, Resumed, read_ledger, spending
from discreet.randomness import Label, SeededRandom
from discreet.rounds import RoundOrder, RoundSum, RunDirectory

HEART = Path(__file__).parents[1] / "support" / "tuned_heart.toml"


Kill = Callable[[pytest.MonkeyPatch, int], None]


class Killed(BaseException):
    """Stands for SIGKILL inside one process: nothing may catch it."""


def killed_before_the_sum(monkeypatch: pytest.MonkeyPatch, release: int) -> None:
    real = LocalEngine.sum_round

    def sum_round(self: LocalEngine, order: RoundOrder) -> RoundSum:
        if order.release == release:
            raise Killed
        return real(self, order)

    monkeypatch.setattr(LocalEngine, "sum_round", sum_round)


def killed_after_the_sum(monkeypatch: pytest.MonkeyPatch, release: int) -> None:
    real = LocalEngine.sum_round

    def sum_round(self: LocalEngine, order: RoundOrder) -> RoundSum:
        outcome = real(self, order)
        if order.release == release:
            raise Killed
        return outcome

    monkeypatch.setattr(LocalEngine, "sum_round", sum_round)


def killed_after_the_state(monkeypatch: pytest.MonkeyPatch, release: int) -> None:
    real = LedgerWriter.append

    def append(self: LedgerWriter, entry: object) -> object:
        if isinstance(entry, Completed) and entry.release == release:
            raise Killed
        return real(self, entry)  # type: ignore[arg-type]

    monkeypatch.setattr(LedgerWriter, "append", append)


def killed_before_the_metrics(monkeypatch: pytest.MonkeyPatch, release: int) -> None:
    real = RunDirectory.append_metrics

    def append_metrics(self: RunDirectory, line: dict[str, object]) -> None:
        if line["release"] == release:
            raise Killed
        real(self, line)

    monkeypatch.setattr(RunDirectory, "append_metrics", append_metrics)


@pytest.mark.parametrize(
    ("kill", "lost"),
    [
        (killed_before_the_sum, 1),
        (killed_after_the_sum, 1),
        (killed_after_the_state, 0),
        (killed_before_the_metrics, 0),
    ],
)
def test_resuming_keeps_the_guarantee_and_never_reuses_randomness(
    heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill: Kill, lost: int
) -> None:
    labels: list[tuple[Label, ...]] = []
    real = SeededRandom.derive

    def derive(self: SeededRandom, *names: Label) -> SeededRandom:
        if names[0] in ("release", "session"):
            labels.append(names)
        return real(self, *names)

    monkeypatch.setattr(SeededRandom, "derive", derive)
    undisturbed = run(heart, tmp_path / "undisturbed")
    labels.clear()
    with monkeypatch.context() as patch:
        kill(patch, 3)
        with pytest.raises(Killed):
            run(heart, tmp_path / "run")
    resumed = run(heart, tmp_path / "run", opening=Opening.RESUME)
    assert resumed.plan.guarantees == undisturbed.plan.guarantees
    assert resumed.spending.charged == resumed.plan.rounds
    assert len(resumed.spending.lost) == lost
    assert len(labels) == len(set(labels)), "a source of randomness was derived twice"
    sequences = {label[1] for label in labels if label[0] == "release"}
    intents = {
        line.sequence
        for line in read_ledger(tmp_path / "run" / "ledger.jsonl")
        if isinstance(line.entry, Intent)
    }
    assert sequences <= intents


def test_a_real_kill_9_and_resume_on_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "discreet", "run", str(HEART), "--out", str(out), "--quiet"]
    process = subprocess.Popen(command)
    ledger = out / "ledger.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if ledger.exists() and ledger.read_bytes().count(b'"Completed"') >= 2:
            break
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = [line.entry for line in read_ledger(ledger)]
    assert spending(before).charged >= 2
    left = out / "state.safetensors.0123456789abcdef.tmp"
    left.write_bytes(b"as a kill within a write leaves it")
    done = subprocess.run([*command, "--resume"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not left.exists()
    entries = [line.entry for line in read_ledger(ledger)]
    assert entries[: len(before)] == before
    assert any(isinstance(entry, Resumed) for entry in entries)
    spent = spending(entries)
    assert spent.pending is None
    assert len(spent.completed) + len(spent.lost) == spent.charged == 8
    assert all(isinstance(entry, Intent | Completed | Lost | Resumed) for entry in entries[1:])


def test_another_config_cannot_resume(heart: Config, tmp_path: Path) -> None:
    run(heart, tmp_path / "run")
    other = heart.model_copy(update={"privacy": heart.privacy.model_copy(update={"epsilon": 2.0})})
    with pytest.raises(ValueError, match="must hold the plan that goes on"):
        run(other, tmp_path / "run", opening=Opening.RESUME)


def test_a_state_that_the_ledger_does_not_name_is_refused_before_a_line_is_written(
    heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        killed_after_the_sum(patch, 3)
        with pytest.raises(Killed):
            run(heart, tmp_path / "run")
    directory = RunDirectory(tmp_path / "run")
    before, saved = directory.ledger.read_bytes(), directory.load_state()
    directory.save_state(saved.arrays | {"parameters": saved.arrays["parameters"] + 1.0}, saved.made)
    with pytest.raises(LedgerError, match=r"must be the state that the ledger names"):
        run(heart, tmp_path / "run", opening=Opening.RESUME)
    assert directory.ledger.read_bytes() == before


def rehearsed(heart: Config, *dropouts: Dropout) -> Config:
    return heart.model_copy(update={"run": heart.run.model_copy(update={"dropouts": dropouts})})


def test_a_round_that_dies_while_unmasking_stays_charged_and_training_goes_on(
    heart: Config, tmp_path: Path
) -> None:
    gone = [Dropout(silo=silo, round=2, stage="unmask") for silo in ("cleveland", "hungary")]
    result = run(rehearsed(heart, *gone), tmp_path / "run")
    assert result.spending.lost == (2,)
    assert result.spending.charged == result.plan.rounds
    assert len(result.spending.completed) == result.plan.rounds - 1


def test_too_few_survivors_before_unmasking_are_not_charged_and_end_the_training(
    heart: Config, tmp_path: Path
) -> None:
    gone = [Dropout(silo=silo, round=2, stage="mask") for silo in ("cleveland", "hungary")]
    with pytest.raises(NotEnoughSurvivors):
        run(rehearsed(heart, *gone), tmp_path / "run")
    spent = spending(line.entry for line in read_ledger(tmp_path / "run" / "ledger.jsonl"))
    assert (len(spent.completed), spent.lost, spent.pending) == (1, (), None)
    assert spent.aborted == 3
