"""One rehearsal from start to finish: bring everything up, follow the log, take everything down."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from discreet.config import Config
from discreet.documents import read_json, shown
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.project import write_app
from discreet.engines.flower.up.deployment import Deployment, Settings, environment, require_flower, start
from discreet.engines.flower.up.processes import Children
from discreet.engines.flower.up.submissions import Submissions
from discreet.errors import ConfigurationError, DiscreetError
from discreet.plan import Plan

_POLL_SECONDS = 0.2
_KILLING = re.compile(r"(?P<silo>.+)@round-(?P<round>[1-9][0-9]*)")
_COMPLETED = re.compile(r"round (?P<round>[0-9]+)/")


@dataclass(frozen=True, slots=True)
class Killing:
    """A rehearsed power cut: ``silo`` and its SuperNode die when ``round`` begins."""

    silo: str
    round: int

    @classmethod
    def parse(cls, text: str, plan: Plan) -> Self:
        """Reads ``NAME@round-N``; ``silo-2`` also means the second silo of the plan.

        Raises:
            ConfigurationError: if it names no silo or no round of the plan.
        """
        found = _KILLING.fullmatch(text)
        if found is None:
            raise ConfigurationError(f"--kill must look like 'silo-2@round-3'; got {text!r}.")
        silos = plan.facts.silos
        numbered = {f"silo-{number}": name for number, name in enumerate(silos, start=1)}
        name = found["silo"] if found["silo"] in silos else numbered.get(found["silo"])
        if name is None:
            raise ConfigurationError(f"--kill must name one of {', '.join(silos)}; got {found['silo']!r}.")
        if int(found["round"]) > plan.rounds:
            raise ConfigurationError(
                f"--kill must name a round up to {plan.rounds}, as planned; got {found['round']}."
            )
        return cls(name, int(found["round"]))


@dataclass(frozen=True, slots=True)
class Finished:
    """The results of a completed rehearsal.

    Attributes:
        folder: everything, the logs included.
        plan: what was carried out.
        outcome: the server's ``outcome.json``.
        seconds: wall time from the first process to the outcome.
    """

    folder: ConsortiumFolder
    plan: Plan
    outcome: dict[str, Any]
    seconds: float


def bring_up(
    config: Config,
    path: Path,
    *,
    silos: int | None,
    kill: str | None,
    port: int | None,
    patience_seconds: float,
    announce: Callable[[str], None],
) -> Finished:
    """Rehearses ``config`` over real Flower processes in ``path`` and leaves nothing running.

    Raises:
        ConfigurationError: if something cannot be started.
        DiscreetError: with the server's own reason, if the training was stopped.
    """
    require_flower()
    path = path.resolve()
    plan = rehearse(config, path)
    if silos is not None and silos != len(plan.facts.silos):
        raise ConfigurationError(
            f"--silos must be the number of silos of the config, {len(plan.facts.silos)}; got {silos}."
        )
    killing = None if kill is None else Killing.parse(kill, plan)
    folder = ConsortiumFolder(path)
    began = time.monotonic()
    with (
        TemporaryDirectory(prefix="discreet-") as sockets,
        Children(path / "logs", environment(path / "flower-home")) as children,
    ):
        deployment = start(folder, plan, children, Settings(Path(sockets), port), announce)
        write_app(path / "app")
        run_config = f'folder="{folder.server.path}" patience={patience_seconds}'
        submissions = Submissions(deployment, folder.server, path / "app", run_config, announce=announce)
        outcome = _Follower(folder, deployment, submissions, announce).outcome(killing)
    if outcome["status"] != "completed":
        stopped = DiscreetError(str(outcome["error"]))
        stopped.exit_code = outcome["exit_code"]  # type: ignore[misc] # the server's own exit code
        raise stopped
    return Finished(folder, plan, outcome, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class _Follower:
    """Passes on the server's log until there is an outcome, starts again what dies, and cuts the power."""

    folder: ConsortiumFolder
    deployment: Deployment
    submissions: Submissions
    announce: Callable[[str], None]

    def outcome(self, killing: Killing | None) -> dict[str, Any]:
        """Returns the server's ``outcome.json`` once it is there and nothing can be done about it."""
        lines = _tail(self.folder.server.log)
        completed, joined = 0, False
        while True:
            finished = self.submissions.look(completed)
            for line in takewhile(lambda line: line is not None, lines):
                self.announce(str(line))
                joined = joined or str(line).endswith(" joined")
                found = _COMPLETED.match(str(line))
                completed = int(found["round"]) if found else completed
            if finished is not None:
                return finished
            if killing and joined and completed == killing.round - 1:
                self.deployment.kill(killing.silo)
                self.announce(f"{killing.silo}: killed, silo and SuperNode")
                killing = None
            self.deployment.supervision.look()
            time.sleep(_POLL_SECONDS)


def _tail(path: Path) -> Iterator[str | None]:
    """Yields the lines of a growing log; None whenever there is no whole line yet."""
    position = 0
    while True:
        data = path.read_bytes()[position:] if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        position += len(whole)
        for line in whole.splitlines():
            yield _said(line)
        yield None


def _said(line: bytes) -> str:
    try:
        read = read_json(line)
    except ValueError:
        read = None
    if not isinstance(read, dict) or not isinstance(read.get("event"), str):
        raise ConfigurationError(f"server.log must hold what the server writes; got {shown(repr(line), 80)}.")
    return str(read["event"])
