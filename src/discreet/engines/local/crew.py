"""Worker processes that train silos at the same time, and when it pays to start them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from discreet.config.speed import SpeedConfig
from discreet.data import Federation
from discreet.engines.local.frames import Frame, read_frame, write_frame
from discreet.engines.local.work import (
    Assignment,
    WorkerFailed,
    order_frame,
    read_contributions,
    require_success,
)
from discreet.plan import Plan
from discreet.rounds import Contribution, RoundOrder

# Starting a worker costs two to three seconds of a processor, most of it importing torch (docs/adr/0025).
_SAVING_WORTH_A_START_SECONDS = 8.0

# Every batch asks for the same few megabytes again. glibc would hand them back to the system in between, and
# take a page fault for each 4 kB of the next batch; other C libraries do not read these names.
_KEEP_FREED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}


class Crew:
    """Workers that each keep some of the silos for a whole training; a context manager.

    The contributions are those that the engine would compute itself, to the bit if the run is seeded: a
    silo's randomness is derived from its name, and both sides train on one thread.

    Processes start as soon as the crew is entered if a number of them was asked for, so that they import
    while the engine still reads and plans.

    Args:
        seed: `RunConfig.seed`.
        speed: how many workers, and the device of their models.
    """

    def __init__(self, seed: int | None, speed: SpeedConfig) -> None:
        self._seed = seed
        self._speed = speed
        self._job: _Job | None = None
        self._waits = speed.workers == "auto"
        self._idle: list[WorkerProcess] = []
        self._workers: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        early = 1 if self._speed.workers == "auto" else min(self._speed.workers, _processors())
        if early > 1:
            self._idle = [WorkerProcess() for _ in range(early)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """The processes that are running."""
        return tuple(self._workers)

    def assign(self, plan: Plan, federation: Federation) -> None:
        """Says what to train: every silo and its records; each worker gets a copy of its own silos'."""
        self._job = _Job(plan, federation, crew_size(self._speed, len(federation.silos)))

    @property
    def wanted(self) -> bool:
        """Whether the next round is the crew's."""
        return self._job is not None and self._job.size > 1 and not self._waits

    def consider(self, round_seconds: float, rounds_left: int) -> None:
        """Takes over from the next round on if that saves more than it costs.

        Args:
            round_seconds: what training all silos took in the engine's own process.
            rounds_left: rounds to come.
        """
        saved = rounds_left * round_seconds * (1.0 - 1.0 / self._assigned().size)
        if saved > _SAVING_WORTH_A_START_SECONDS:
            self._waits = False

    def contributions(self, order: RoundOrder) -> dict[str, Contribution]:
        """Returns the contribution of every silo to one round, in the federation's order.

        Raises:
            DiscreetError: what a worker raised; the crew is then closed.
        """
        try:
            if not self._workers:
                self._start()
            for worker in self._workers:
                worker.send(order_frame(order))
            found: dict[str, Contribution] = {}
            for worker in self._workers:
                found |= zip(worker.silos, read_contributions(worker.receive()), strict=True)
        except BaseException:
            self.close()
            raise
        return {name: found[name] for name in self._assigned().federation.silo_names}

    def close(self) -> None:
        """Ends the processes at once; they hold nothing that outlives a round."""
        for worker in (*self._workers, *self._idle):
            worker.end()
        self._workers, self._idle = [], []

    def _start(self) -> None:
        """Gives every worker its silos, then waits for all of them."""
        job = self._assigned()
        records = {silo.name: silo.train for silo in job.federation.silos}
        shares = even_shares({name: len(own) for name, own in records.items()}, job.size)
        self._idle += [WorkerProcess() for _ in range(len(self._idle), job.size)]
        self._workers, surplus = self._idle[: job.size], self._idle[job.size :]
        self._idle = []
        for worker in surplus:
            worker.end()
        for worker, share in zip(self._workers, shares, strict=True):
            worker.silos = share
            own = {name: records[name] for name in share}
            worker.send(Assignment(job.plan, own, self._seed, self._speed.device).to_frame())
        for worker in self._workers:
            worker.receive()

    def _assigned(self) -> _Job:
        if self._job is None:
            raise RuntimeError("Crew.assign must be called before a crew trains.")
        return self._job


@dataclass(frozen=True, slots=True)
class _Job:
    """What a crew was assigned, and how many workers can use it; one means none."""

    plan: Plan
    federation: Federation
    size: int


def crew_size(speed: SpeedConfig, silos: int) -> int:
    """Returns how many workers ``silos`` silos can use under these settings; one means none.

    Example:
        >>> crew_size(SpeedConfig(workers=4), silos=3)
        3
    """
    asked: int | Literal["auto"] = speed.workers
    if asked == "auto":
        asked = 1 if speed.device == "cuda" else _processors()
    return min(asked, silos)


def even_shares(sizes: Mapping[str, int], count: int) -> list[tuple[str, ...]]:
    """Deals silos to ``count`` workers, the largest first, each to the worker that has least.

    Graham (1969): no share is longer than 4/3 of the best possible.

    Example:
        >>> even_shares({"a": 5, "b": 1, "c": 4}, 2)
        [('a',), ('c', 'b')]
    """
    shares: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        least = loads.index(min(loads))
        shares[least].append(name)
        loads[least] += sizes[name]
    return [tuple(share) for share in shares]


def _processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcess:
    """One worker process, its silos and its pipes."""

    def __init__(self) -> None:
        self.silos: tuple[str, ...] = ()
        # the engine's own import path, so that a user's model factory is found
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "discreet.engines.local.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_KEEP_FREED_MEMORY, "PYTHONPATH": path},
        )

    def send(self, frame: Frame) -> None:
        """Sends one request."""
        try:
            write_frame(self.process.stdin, frame)  # type: ignore[arg-type]  # a pipe, as asked for
        except BrokenPipeError:
            raise self._gone() from None

    def receive(self) -> Frame:
        """Waits for the answer to a request."""
        answer = read_frame(self.process.stdout)  # type: ignore[arg-type]  # a pipe, as asked for
        if answer is None:
            raise self._gone()
        return require_success(answer)

    def end(self) -> None:
        """Kills the process and closes its pipes."""
        self.process.kill()
        self.process.communicate()

    def _gone(self) -> WorkerFailed:
        status = self.process.wait()
        return WorkerFailed(
            f"A worker process must live as long as the training; it ended with status {status}, perhaps for "
            "want of memory. Lower speed.workers, or set it to 1 to train in one process."
        )
