"""What is started again, what is submitted again, and when it is given up; no Flower needed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from discreet.engines.flower.occupancy import occupied, occupy
from discreet.engines.flower.outcome import read_outcome
from discreet.engines.flower.service import ServerFolder, serve_training
from discreet.engines.flower.up import submissions, supervision
from discreet.engines.flower.up.deployment import Deployment
from discreet.engines.flower.up.follow import _tail
from discreet.engines.flower.up.keeper import descendants
from discreet.engines.flower.up.processes import Children
from discreet.engines.flower.up.submissions import Submissions
from discreet.engines.flower.up.supervision import Supervision, pause_seconds
from discreet.errors import ConfigurationError
from tests.engines.conftest import DirectWire, SmallConsortium

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (supervision, submissions):
        monkeypatch.setattr(module, "pause_seconds", lambda _: 0.0)


def test_pauses_grow_and_have_an_end() -> None:
    pauses = [pause_seconds(deaths) for deaths in range(1, 2000)]
    assert pauses[:3] == [0.5, 1.0, 2.0]
    assert pauses == sorted(pauses)
    assert pauses[-1] == 30.0


def look_until(watched: Supervision, condition: Callable[..., Any]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition() and time.monotonic() < deadline:
        watched.look()
        time.sleep(0.02)
    assert condition()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is adopted")
def test_what_a_program_leaves_and_ends_is_buried_while_the_program_runs(tmp_path: Path) -> None:
    """Flower starts its parts in sessions of their own, a process for each message."""
    ended = tmp_path / "ended"
    orphans = f"for each in 1 2 3; do (setsid sh -c 'echo $$ >> {ended}' &); done; exec sleep 600"
    with Children(tmp_path, dict(os.environ)) as children:
        keeper = children.start("silo-a", ["/bin/sh", "-c", orphans])
        deadline = time.monotonic() + 60.0
        while len(numbers := ended.read_text().split() if ended.exists() else []) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        while any(Path("/proc", number).exists() for number in numbers) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not any(Path("/proc", number).exists() for number in numbers)
        assert keeper.process.poll() is None


def test_a_program_that_dies_is_started_again_with_a_line_for_each(tmp_path: Path) -> None:
    said: list[Any] = []
    with Children(tmp_path, dict(os.environ)) as children:
        first = children.start("silo-a", SLEEPER)
        watched = Supervision(children, said.append)
        watched.watch("silo-a")
        while not descendants(first.process.pid):
            time.sleep(0.02)
        first.cut()
        look_until(watched, lambda: children.started["silo-a"] is not first)
        assert children.started["silo-a"].alive
    assert said == ["silo-a: ended (signal 9); again in 0 s", "silo-a: started again"]
    assert watched.deaths == 1


def test_a_program_that_was_taken_out_is_not_started_again(tmp_path: Path) -> None:
    with Children(tmp_path, dict(os.environ)) as children:
        child = children.start("silo-a", SLEEPER)
        watched = Supervision(children, print)
        watched.watch("silo-a")
        watched.drop("silo-a")
        watched.look()
        assert (children.started["silo-a"] is child, child.alive, watched.deaths) == (True, False, 0)


def test_a_program_that_never_comes_up_is_given_up_with_its_last_words(tmp_path: Path) -> None:
    with Children(tmp_path, dict(os.environ)) as children:
        children.start("silo-a", [sys.executable, "-c", "raise SystemExit('no policy')"])
        watched = Supervision(children, print)
        watched.watch("silo-a")
        with pytest.raises(
            ConfigurationError, match=r"silo-a must keep running; it ended 10 times(.|\n)*no policy"
        ):
            look_until(watched, lambda: False)


@dataclass
class FakeProcess:
    returncode: int | None = None


@dataclass
class FakeChild:
    process: FakeProcess = field(default_factory=FakeProcess)

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def last_lines(self, count: int) -> str:
        return f"last {count} lines"


@dataclass
class FakeDeployment:
    """Counts submissions; ``supervision`` is itself, with its number of deaths."""

    submitted: list[FakeChild] = field(default_factory=list)
    reachable: bool = True
    deaths: int = 0

    @property
    def supervision(self) -> FakeDeployment:
        return self

    def submit(self, app: Path, run_config: str) -> FakeChild:
        del app, run_config
        self.submitted.append(FakeChild())
        return self.submitted[-1]


@pytest.fixture
def deployment() -> FakeDeployment:
    return FakeDeployment()


@pytest.fixture
def run(tmp_path: Path, deployment: FakeDeployment) -> Submissions:
    return Submissions(cast(Deployment, deployment), ServerFolder(tmp_path), tmp_path, "", announce=print)


def stopped(run: Submissions, exit_code: int = 1) -> None:
    run.server.outcome.write_text(
        json.dumps({"status": "stopped", "error": "too few", "exit_code": exit_code})
    )


def test_a_run_is_submitted_once_while_its_serverapp_works(
    run: Submissions, deployment: FakeDeployment
) -> None:
    run.look(0)
    with occupy(run.server.lock):
        assert [run.look(rounds) for rounds in (0, 1, 2)] == [None, None, None]
        deployment.submitted[0].process.returncode = 1  # the connection that followed the log is gone
        run.look(2)
    assert len(deployment.submitted) == 1


def test_a_run_whose_serverapp_died_is_submitted_again_when_the_superlink_is_back(
    run: Submissions, deployment: FakeDeployment
) -> None:
    run.look(0)
    with occupy(run.server.lock):
        run.look(0)
    deployment.reachable = False
    run.look(0)
    run.look(0)
    assert len(deployment.submitted) == 1
    deployment.reachable = True
    run.look(0)
    assert len(deployment.submitted) == 2


def test_an_outcome_stands_if_nothing_died_and_is_tried_again_otherwise(
    run: Submissions, deployment: FakeDeployment
) -> None:
    run.look(0)
    deployment.deaths = 1
    stopped(run)
    assert run.look(0) is None
    run.look(0)
    assert len(deployment.submitted) == 2
    assert not run.server.outcome.exists()
    run.look(1)
    stopped(run)
    assert (run.look(1) or {})["error"] == "too few"


def test_silos_that_are_not_back_when_a_killed_serverapp_is_do_not_end_the_training(
    run: Submissions, deployment: FakeDeployment
) -> None:
    run.look(0)
    with occupy(run.server.lock):
        run.look(1)
    run.look(1)
    run.look(1)
    stopped(run)
    assert run.look(1) is None
    run.look(1)
    assert len(deployment.submitted) == 3


@pytest.mark.parametrize("exit_code", [2, 3])
def test_a_refusal_stands_whatever_died(run: Submissions, deployment: FakeDeployment, exit_code: int) -> None:
    run.look(0)
    deployment.deaths = 1
    stopped(run, exit_code)
    assert (run.look(0) or {})["exit_code"] == exit_code


def test_a_completed_outcome_stands_whatever_died(run: Submissions, deployment: FakeDeployment) -> None:
    run.look(0)
    deployment.deaths = 3
    run.server.outcome.write_text('{"status": "completed", "exit_code": 0}')
    assert (run.look(2) or {})["status"] == "completed"


def test_submissions_in_vain_come_to_an_end_and_a_round_between_them_counts(
    run: Submissions, deployment: FakeDeployment
) -> None:
    def live_and_die(rounds: int) -> None:
        run.look(rounds)
        deployment.submitted[-1].process.returncode = 0
        run.look(rounds)

    for rounds in range(20):
        live_and_die(rounds)
    for _ in range(6):
        live_and_die(19)
    with pytest.raises(ConfigurationError, match="last 12 lines"):
        live_and_die(19)


def test_a_submission_that_flower_refuses_is_not_repeated(
    run: Submissions, deployment: FakeDeployment
) -> None:
    run.look(0)
    deployment.submitted[0].process.returncode = 2
    with pytest.raises(ConfigurationError, match="must keep running"):
        run.look(0)


def test_a_second_server_in_a_folder_gets_one_line_and_changes_nothing(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server, wire = consortium.folder.server, direct_wire(consortium.silos)
    server.outcome.write_text("{}")
    before = {path: path.read_bytes() for path in server.path.rglob("*") if path.is_file()}
    with occupy(server.lock):
        assert occupied(server.lock)
        with pytest.raises(ConfigurationError, match="only one server may work in a folder") as refused:
            serve_training(wire, server, patience_seconds=0.05)
    assert "\n" not in str(refused.value)
    assert wire.seen == []
    after = {path: path.read_bytes() for path in server.path.rglob("*") if path.is_file()}
    assert after == {**before, server.lock: b"", server.path / "server.working": b""}
    assert not occupied(server.lock)


@pytest.mark.parametrize("left", [["plan.json"], ["plan.json", "ledger.jsonl"]], ids=["plan", "ledger"])
def test_a_start_that_died_before_its_ledgers_first_line_is_begun_anew(
    consortium: SmallConsortium, direct_wire: type[DirectWire], left: list[str]
) -> None:
    server = consortium.folder.server
    server.run.path.mkdir()
    for name in left:
        (server.run.path / name).write_bytes(b'{"torn')
    serve_training(direct_wire(consortium.silos), server, patience_seconds=0.05)
    assert json.loads(server.outcome.read_bytes())["status"] == "completed"


def test_files_of_somebody_else_are_left_alone(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    server.run.path.mkdir()
    (server.run.path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="must be new or empty"):
        serve_training(direct_wire(consortium.silos), server, patience_seconds=0.05)
    assert (server.run.path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("text", ["", "[]", '{"status": "fine"}', "[" * 100_000], ids=len)
def test_an_outcome_that_is_none_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "outcome.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"outcome\.json must be what the server writes"):
        read_outcome(tmp_path / "outcome.json")


def test_the_servers_log_is_followed_by_whole_lines_and_another_file_is_one_line(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text('{"time": 1, "event": "a joined"}\n{"time": 2, "ev')
    lines = _tail(log)
    assert [next(lines), next(lines)] == ["a joined", None]
    with log.open("a") as file:
        file.write("\n")
    with pytest.raises(ConfigurationError, match=r"server\.log must hold what the server writes"):
        next(lines)
