"""Programs that never outlive their parent, however it ends: each with a keeper, in a session, with a log."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from discreet.engines.flower.up import keeper

_KEEPER: Final = (sys.executable, "-I", "-S", keeper.__file__)
# A keeper that is asked to end gives its programs this long, and then kills them.
_END_SECONDS: Final = keeper.GRACE_SECONDS + 10.0
_ASK_AGAIN_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Child:
    """One program and whatever it starts.

    Attributes:
        name: that of its log.
        command: what is run, by whom it can be started again.
        folder: where it runs; None for the current one.
        process: its keeper, which ends when the program has, and returns the program's exit code.
        log: all that it said.
    """

    name: str
    command: tuple[str, ...]
    folder: Path | None
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def alive(self) -> bool:
        """Says whether the program still runs, or something that it started has yet to be ended."""
        return self.process.poll() is None

    def last_lines(self, count: int) -> str:
        """Returns the end of its log."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.rstrip().splitlines()[-count:])

    def cut(self) -> None:
        """Ends the program and all that it started at once, as a power cut would."""
        while True:
            self.ask(signal.SIGQUIT)
            # A keeper that has only begun may not hear what its parent ignores, as jobs of a shell do.
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_ASK_AGAIN_SECONDS)
                return

    def ask(self, number: signal.Signals) -> None:
        """Tells the keeper to end everything, also one that somebody has stopped."""
        self.process.send_signal(number)
        self.process.send_signal(signal.SIGCONT)


@dataclass(slots=True)
class Children:
    """All programs of a deployment. Leaving the block ends them; so does this process's death, however."""

    logs: Path
    environment: Mapping[str, str]
    started: dict[str, Child] = field(default_factory=dict)

    def start(self, name: str, command: Sequence[str | Path], folder: Path | None = None) -> Child:
        """Starts ``command`` with its output in ``logs/NAME.log``; an earlier one of that name has ended."""
        self.logs.mkdir(parents=True, exist_ok=True)
        path = self.logs / f"{name}.log"
        parts = tuple(str(part) for part in command)
        with path.open("ab") as file:
            process = subprocess.Popen(  # noqa: S603 (only ever called with commands of this package)
                [*_KEEPER, *parts],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=dict(self.environment),
                start_new_session=True,
            )
        child = Child(name, parts, folder, process, path)
        self.started[name] = child
        return child

    def start_again(self, name: str) -> Child:
        """Ends what is left of a program, and starts it anew as it was started before."""
        child = self.started[name]
        child.cut()
        _close(child)
        return self.start(name, child.command, child.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in reversed(self.started.values()):
            child.ask(signal.SIGTERM)
        for child in self.started.values():
            try:
                child.process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                child.cut()
            _close(child)


def _close(child: Child) -> None:
    if child.process.stdin is not None:
        child.process.stdin.close()
