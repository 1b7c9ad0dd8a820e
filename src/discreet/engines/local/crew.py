"""Worker processes that train silos at the same time, and when it pays to start them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from discreet.config.speed import SpeedConfig
from discreet.data import Federation
from discreet.engines.local.processes import WorkerProcess, processors, start_workers
from discreet.engines.local.work import Assignment
from discreet.plan import Plan
from discreet.rounds import Contribution, RoundOrder

# Starting workers costs two to three seconds, most of it importing torch (docs/adr/0025).
_SAVING_WORTH_A_START_SECONDS = 8.0


class Crew:
    """Workers that each keep some of the silos for a whole training; a context manager.

    The contributions are those that the engine would compute itself, to the bit if the run is seeded: a
    silo's randomness is derived from its name, and both sides train on one thread.

    Args:
        seed: `RunConfig.seed`.
        speed: how many workers, and the device of their models.
        early: processes that were started before, by `early_processes`; the crew ends them.
    """

    def __init__(self, seed: int | None, speed: SpeedConfig, early: Sequence[WorkerProcess] = ()) -> None:
        self._seed = seed
        self._speed = speed
        self._job: _Job | None = None
        self._waits = speed.workers == "auto"
        self._idle = list(early)
        self._workers: list[WorkerProcess] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
                worker.send(order)
            found: dict[str, Contribution] = {}
            for worker in self._workers:
                found |= worker.receive()
        except BaseException:
            self.close()
            raise
        return {name: found[name] for name in order.asked(self._assigned().federation.silo_names)}

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
        self._idle += start_workers(job.size - len(self._idle))
        self._workers, self._idle = self._idle[: job.size], self._idle[job.size :]
        for worker, share in zip(self._workers, shares, strict=True):
            own = {name: records[name] for name in share}
            worker.send(Assignment(job.plan, own, self._seed, self._speed.device))
        for worker in self._workers:
            worker.receive()

    def _assigned(self) -> _Job:
        if self._job is None:
            raise RuntimeError("Crew.assign must be called before a crew trains.")
        return self._job


@dataclass(frozen=True, slots=True)
class _Job:
    """A crew's assignment, and how many workers can use it; one means none."""

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
        asked = 1 if speed.device == "cuda" else processors()
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
