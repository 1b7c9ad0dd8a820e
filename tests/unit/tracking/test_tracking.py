"""Trackers get what may leave, and a missing package is one clear line."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST, ConfigurationError
from discreet.privacy.adversary import ServerWithColluders
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.rounds import RoundReport, RoundSum
from discreet.session.progress import describe
from discreet.tracking import MLflow, TensorBoard, public_values

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
SPENT = Guarantee(
    epsilon=0.5,
    delta=1e-5,
    unit=Unit.RECORD,
    neighboring=NeighboringRelation.ADD_REMOVE,
    adversary=ServerWithColluders(1),
    status=Status.PROVEN,
)
REPORT = RoundReport(
    release=2,
    planned=4,
    spent=SPENT,
    sum=RoundSum(np.zeros(3, np.uint64), ("a", "b"), b"", bytes_per_silo=77, training_loss=0.123),
    metrics={"accuracy": 0.75, "loss": 0.6, "accuracy/a": 0.5},
    seconds=0.25,
)


def test_no_silo_and_no_training_loss_is_told_and_epsilon_names_its_adversary() -> None:
    assert public_values(REPORT, per_silo=False) == {
        "not private/held-out accuracy": 0.75,
        "not private/held-out loss": 0.6,
        "epsilon if no result ends it/against the server and 1 colluding silo per record delta 1e-5": 0.5,
        "round/survivors": 2.0,
        "round/bytes per silo": 77.0,
        "round/seconds": 0.25,
    }


def test_a_clipping_norm_that_moves_is_told_because_it_is_released() -> None:
    moving = dataclasses.replace(REPORT, clip_norm=0.25)
    told = public_values(moving, per_silo=False)
    assert told == public_values(REPORT, per_silo=False) | {"round/clipping norm": 0.25}
    assert "clip norm 0.25" in describe(moving)
    assert "clip norm" not in describe(REPORT)


def test_a_tiny_delta_in_a_name_stays_an_inequality() -> None:
    tiny = dataclasses.replace(REPORT, spent=dataclasses.replace(SPENT, delta=0.0))
    assert [name for name in public_values(tiny, per_silo=False) if name.endswith(" delta below 1e-300")]


def test_the_line_of_a_round_says_what_is_not_private_and_no_epsilon_of_some_rounds() -> None:
    shown = describe(REPORT)
    before, _, after = shown.partition("not private: ")
    assert before == "2 silos  "
    assert after == "accuracy 0.750, training loss 0.123"


def test_a_silo_is_told_where_that_is_allowed() -> None:
    allowed = public_values(REPORT, per_silo=True)
    assert {
        name: value for name, value in allowed.items() if name not in public_values(REPORT, per_silo=False)
    } == {"not private/held-out accuracy/a": 0.5}


class FakeWriter:
    """Stands for torch's writer."""

    made: list[FakeWriter] = []  # noqa: RUF012 (one test at a time reads it)

    def __init__(self, log_dir: str) -> None:
        self.log_dir, self.closed = log_dir, False
        self.scalars: list[tuple[str, float, int]] = []
        FakeWriter.made.append(self)

    def add_scalar(self, name: str, value: float, global_step: int) -> None:
        self.scalars.append((name, value, global_step))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[FakeWriter]:
    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = FakeWriter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr(FakeWriter, "made", [])
    return FakeWriter.made


def test_tensorboard_gets_a_scalar_a_value(writers: list[FakeWriter], tmp_path: Path) -> None:
    with TensorBoard(tmp_path) as tracker:
        tracker.record(2, {"held-out/loss": 0.6, "round/bytes per silo": 77.0})
    (writer,) = writers
    assert writer.log_dir == str(tmp_path)
    assert writer.scalars == [("held-out/loss", 0.6, 2), ("round/bytes_per_silo", 77.0, 2)]
    assert writer.closed


class FakeMLflow(ModuleType):
    """Stands for the package; refuses experiments called ``unreachable``."""

    def __init__(self) -> None:
        super().__init__("mlflow")
        self.calls: list[tuple[Any, ...]] = []
        self.exceptions = ModuleType("mlflow.exceptions")
        self.exceptions.MlflowException = OSError  # type: ignore[attr-defined]

    def set_experiment(self, name: str) -> None:
        if name == "unreachable":
            raise OSError("no route\nand much more")
        self.calls.append(("experiment", name))

    def start_run(self, run_name: str) -> None:
        self.calls.append(("run", run_name))

    def log_metrics(self, values: Mapping[str, float], step: int) -> None:
        self.calls.append(("metrics", values, step))

    def end_run(self, status: str) -> None:
        self.calls.append(("end", status))


@pytest.fixture
def fake_mlflow(monkeypatch: pytest.MonkeyPatch) -> FakeMLflow:
    fake = FakeMLflow()
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    return fake


def test_mlflow_gets_one_run(fake_mlflow: FakeMLflow) -> None:
    with MLflow("hospitals", "heart") as tracker:
        tracker.record(1, {"held-out/loss": 0.6})
    assert fake_mlflow.calls == [
        ("experiment", "hospitals"), ("run", "heart"), ("metrics", {"held-out/loss": 0.6}, 1),
        ("end", "FINISHED"),
    ]  # fmt: skip


def test_mlflow_is_told_of_a_run_that_failed(fake_mlflow: FakeMLflow) -> None:
    with pytest.raises(KeyError), MLflow("hospitals", "heart"):
        raise KeyError
    assert fake_mlflow.calls[-1] == ("end", "FAILED")


def test_a_server_that_cannot_be_reached_is_one_line(fake_mlflow: FakeMLflow) -> None:
    with pytest.raises(ConfigurationError, match="MLflow says: no route Set MLFLOW_TRACKING_URI"):
        MLflow("unreachable", "heart")


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["discreet", "run", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("extra", ["tensorboard", "mlflow"])
def test_a_missing_package_is_one_line_before_anything_is_written(
    extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("torch.utils.tensorboard", "mlflow"):
        monkeypatch.setitem(sys.modules, module, None)
    option, out = f"--{extra}", tmp_path / "run"
    assert (
        command(monkeypatch, str(HEART), "--out", str(out), option, str(tmp_path / "x")) == EXIT_BAD_REQUEST
    )
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"pip install 'discreet[{extra}]'" in told
    assert not out.exists()


def test_a_training_tells_its_tracker_every_round(
    writers: list[FakeWriter], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "heart.toml"
    config.write_text(HEART.read_text().replace("rounds = 8", "rounds = 4"))
    options = ("--out", str(tmp_path / "run"), "-q", "--tensorboard", str(tmp_path / "board"))
    assert command(monkeypatch, str(config), *options) == 0
    (writer,) = writers
    named = {name for name, _, _ in writer.scalars}
    assert {f"not_private/held-out_{name}" for name in ("accuracy", "auc", "loss")} <= named
    assert not [name for name in named if "cleveland" in name]
    survivors = [(value, step) for name, value, step in writer.scalars if name == "round/survivors"]
    assert survivors == [(4.0, 1), (4.0, 2), (4.0, 3), (3.0, 4)]
    assert writer.closed
