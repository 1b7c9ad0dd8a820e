"""Child processes that never outlive their parent's block: each in a process group of its own, with a log."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Self

from discreet.engines.flower.up.descendants import Process, descendants

_GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Child:
    """One process and its descendants."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def alive(self) -> bool:
        """Says whether the process itself still runs."""
        return self.process.poll() is None

    def last_lines(self, count: int) -> str:
        """Returns the end of its log."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.rstrip().splitlines()[-count:])

    def send(self, number: signal.Signals) -> None:
        """Signals the process and all its descendants that stayed in its group."""
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            return

    def group_alive(self) -> bool:
        """Says whether anything of its group is left."""
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True


@dataclass(slots=True)
class Children:
    """All processes of a deployment; leaving the block ends them, the last one started first."""

    logs: Path
    environment: Mapping[str, str]
    started: list[Child] = field(default_factory=list)
    _files: list[IO[bytes]] = field(default_factory=list)

    def start(self, name: str, command: Sequence[str | Path], folder: Path | None = None) -> Child:
        """Starts ``command`` with its output in ``logs/NAME.log``."""
        self.logs.mkdir(parents=True, exist_ok=True)
        path = self.logs / f"{name}.log"
        file = path.open("ab")
        self._files.append(file)
        process = subprocess.Popen(  # noqa: S603 (only ever called with commands of this package)
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=dict(self.environment),
            start_new_session=True,
        )
        child = Child(name, process, path)
        self.started.append(child)
        return child

    def child(self, name: str) -> Child:
        """Returns the process of that name."""
        return next(child for child in self.started if child.name == name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Flower's executors leave their parent's group, so the groups alone would miss what they started.
        strays = {process for child in self.started for process in descendants(child.process.pid)}
        for child in reversed(self.started):
            child.send(signal.SIGTERM)
        self._wait(strays, _GRACE_SECONDS)
        for child in self.started:
            child.send(signal.SIGKILL)
        for process in strays:
            process.kill()
        for child in self.started:
            child.process.wait()
        self._wait(strays, _GRACE_SECONDS)
        for file in self._files:
            file.close()

    def _wait(self, strays: set[Process], seconds: float) -> None:
        """Waits until everything has ended, or the time is up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and (
            any(child.group_alive() for child in self.started) or any(process.alive for process in strays)
        ):
            time.sleep(_POLL_SECONDS)
