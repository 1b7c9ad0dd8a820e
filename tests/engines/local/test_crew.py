"""Silos in worker processes: the same bits as in one process, and one clear error when a worker fails."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from discreet.config.speed import SpeedConfig
from discreet.engines.local import LocalEngine, Prepared
from discreet.engines.local.crew import Crew, crew_size, even_shares
from discreet.engines.local.processes import WorkerFailed, WorkerProcess, early_processes, start_workers
from discreet.engines.local.work import Assignment, source_for
from discreet.errors import ConfigurationError
from discreet.rounds import RoundOrder
from tests.engines.local.small_digits import KINDS, announced, prepared

FACTORY = """
from torch import nn

def network(shape, classes):
    print("what a factory prints must not reach the engine's pipe")
    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0], 12), nn.Tanh(), nn.Linear(12, classes))
"""


def sums(made: Prepared, crew: Crew | None, rounds: int = 2) -> list[bytes]:
    """The sums of some rounds, each from another model."""
    engine = LocalEngine(made.plan, made.federation, made.model, source_for(5), session_label=0, crew=crew)
    orders = [RoundOrder(number, number, announced(made, 0.1 * number)) for number in range(1, rounds + 1)]
    return [engine.sum_round(order).total.tobytes() for order in orders]


@contextmanager
def crew_of(made: Prepared, workers: int | Literal["auto"]) -> Iterator[Crew]:
    with Crew(seed=5, speed=SpeedConfig(workers=workers)) as crew:
        assert not crew.wanted
        crew.assign(made.plan, made.federation)
        yield crew


def processes_of(worker: WorkerProcess) -> list[int]:
    """Whom a family's first process was forked into, or itself."""
    first = worker.family.pid
    forked = Path(f"/proc/{first}/task/{first}/children")
    return [int(number) for number in forked.read_text().split()] if forked.exists() else [first]


def ended(worker: WorkerProcess) -> bool:
    """Whether nobody of a worker's family is left."""
    with suppress(ProcessLookupError):
        os.killpg(worker.family.pid, 0)
        return False
    return worker.family.returncode is not None


def test_two_workers_give_the_bits_of_one_process_until_one_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a user's own network, which the workers import from the engine's path."""
    (tmp_path / "own_network.py").write_text(FACTORY)
    monkeypatch.syspath_prepend(tmp_path)
    made = prepared("clipped", model={"name": "own_network:network"})
    with crew_of(made, 2) as crew:
        assert crew.wanted
        assert sums(made, crew) == sums(made, None)
        workers = crew.workers
        assert len(workers) == 2
        os.kill(processes_of(workers[1])[-1], signal.SIGKILL)
        with pytest.raises(WorkerFailed, match=r"status -9.*Lower speed\.workers"):
            sums(made, crew)
        assert crew.workers == ()
        assert all(ended(worker) for worker in workers)


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_workers_are_forked_from_one_process_that_has_imported_for_all() -> None:
    made = prepared("linear")
    with crew_of(made, 3) as crew:
        sums(made, crew, rounds=1)
        assert len({worker.family for worker in crew.workers}) == 1
        assert len(processes_of(crew.workers[0])) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="other C libraries have no such settings")
def test_what_a_worker_asks_of_its_c_library_comes_after_what_the_user_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.arena_max=3")
    with early_processes(SpeedConfig(workers=2)) as workers:
        environment, where = b"", Path(f"/proc/{workers[0].family.pid}/environ")
        # Empty for the moment in which a process is replaced by the program that it runs.
        while not environment:
            environment = where.read_bytes()
    # glibc ends what it has read with a zero byte, here too
    assert environment.replace(b"\0", b":").count(b"glibc.malloc.arena_max=3:glibc.malloc.hugetlb=1:") == 1


def test_workers_of_an_unseeded_run_share_no_stream_of_noise() -> None:
    """Though they come from one process: silos with the same records draw different integers."""
    made = prepared("linear")
    first = made.federation.silos[0].train
    alike = replace(
        made.federation, silos=tuple(replace(silo, train=first) for silo in made.federation.silos)
    )
    with Crew(seed=None, speed=SpeedConfig(workers=3)) as crew:
        crew.assign(made.plan, alike)
        found = crew.contributions(RoundOrder(1, 1, announced(made)))
    assert len({contribution.values.tobytes() for contribution in found.values()}) == 3


def test_processes_that_were_started_early_end_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if what should be trained turns out to be impossible, and whether a crew has ended them or not."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    started: list[WorkerProcess] = []
    with suppress(ConfigurationError), early_processes(SpeedConfig(workers=64)) as early:
        started.extend(early)
        with Crew(5, SpeedConfig(workers=64), early[:1]):
            raise ConfigurationError("no such data")
    assert len(started) == 2
    assert all(ended(worker) for worker in started)


def test_a_terminals_interrupt_reaches_the_engine_only() -> None:
    """Ctrl-C goes to every process of the terminal's session: workers that import would print tracebacks."""
    with early_processes(SpeedConfig(workers=2)) as workers:
        sessions = {os.getsid(worker.family.pid) for worker in workers}
    assert os.getsid(0) not in sessions


def test_a_worker_whose_engine_is_gone_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    made = prepared("linear")
    records = {silo.name: silo.train for silo in made.federation.silos}
    (worker,) = start_workers(1)
    worker.send(Assignment(made.plan, records, 5, "cpu"))
    worker.connection.close()
    assert worker.family.wait(60) == 0
    worker.end()
    assert capfd.readouterr().err == ""


def test_a_crew_trains_on_the_processes_that_were_started_early() -> None:
    made = prepared("linear")
    with early_processes(SpeedConfig(workers=2)) as early, Crew(5, SpeedConfig(workers=2), early) as crew:
        crew.assign(made.plan, made.federation)
        assert sums(made, crew, rounds=1) == sums(made, None, rounds=1)
        assert crew.workers[: len(early)] == tuple(early)


def test_no_processes_start_early_where_a_round_has_to_show_that_they_pay() -> None:
    with early_processes(SpeedConfig(workers="auto")) as early:
        assert early == []


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_workers_gives_the_bits_of_one_process(kind: str, workers: int) -> None:
    made = prepared(kind)
    with crew_of(made, workers) as crew:
        together = sums(made, crew)
    assert together == sums(made, None)


def test_a_crew_waits_until_it_pays() -> None:
    made = prepared("linear")
    with crew_of(made, "auto") as crew:
        crew.consider(round_seconds=0.01, rounds_left=100)
        assert not crew.wanted
        assert crew.workers == ()


def test_a_crew_takes_over_when_what_is_left_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    made = prepared("linear")
    with crew_of(made, "auto") as crew:
        assert not crew.wanted
        crew.consider(round_seconds=1.0, rounds_left=100)
        assert crew.wanted


@pytest.mark.parametrize(
    ("speed", "silos", "size"),
    [
        (SpeedConfig(workers=4), 10, 4),
        (SpeedConfig(workers=4), 3, 3),
        (SpeedConfig(workers=1), 3, 1),
        (SpeedConfig(), 50, 5),
        (SpeedConfig(device="cuda"), 50, 1),
        (SpeedConfig(device="cuda", workers=2), 50, 2),
    ],
    ids=str,
)
def test_how_many_workers_there_are(
    monkeypatch: pytest.MonkeyPatch, speed: SpeedConfig, silos: int, size: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(5)), raising=False)
    assert crew_size(speed, silos) == size


def test_shares_are_complete_and_even() -> None:
    rng = np.random.default_rng(0)
    sizes = {f"silo-{number}": int(size) for number, size in enumerate(rng.integers(1, 1000, 40))}
    shares = even_shares(sizes, 3)
    assert sorted(name for share in shares for name in share) == sorted(sizes)
    loads = [sum(sizes[name] for name in share) for share in shares]
    assert max(loads) - min(loads) <= max(sizes.values())
    assert max(loads) <= 4 / 3 * sum(sizes.values()) / 3


def test_a_worker_imports_nothing_from_the_folder_that_somebody_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "safetensors.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    made = prepared("linear")
    (worker,) = start_workers(1)
    try:
        silo = made.federation.silos[0]
        worker.send(Assignment(made.plan, {silo.name: silo.train}, 5, "cpu"))
        assert worker.receive() is None
    finally:
        worker.end()
