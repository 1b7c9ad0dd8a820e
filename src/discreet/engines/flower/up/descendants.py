"""Whom a process started, directly or not, wherever they went since: read from ``/proc`` (Linux)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
# Fields of /proc/PID/stat behind the command's name, see proc(5): state, parent, start time in clock ticks.
_STATE, _PARENT, _STARTED = 0, 1, 19
_ZOMBIE = "Z"


@dataclass(frozen=True, slots=True)
class Process:
    """One process, told from a later one of the same number by when it was started."""

    number: int
    started: int

    @property
    def alive(self) -> bool:
        """Says whether it still runs; one that only waits to be reaped does not."""
        found = _fields(self.number)
        return found is not None and int(found[_STARTED]) == self.started and found[_STATE] != _ZOMBIE

    def kill(self) -> None:
        """Ends it at once, if it is still the same process."""
        if self.alive:
            os.kill(self.number, signal.SIGKILL)


def descendants(root: int) -> frozenset[Process]:
    """Returns every living process that descends from ``root``, itself left out."""
    children: dict[int, list[Process]] = {}
    for number in _numbers():
        found = _fields(number)
        if found is not None:
            process = Process(number, int(found[_STARTED]))
            children.setdefault(int(found[_PARENT]), []).append(process)
    family: list[Process] = []
    pending = [root]
    while pending:
        own = children.get(pending.pop(), [])
        family.extend(own)
        pending.extend(process.number for process in own)
    return frozenset(process for process in family if process.alive)


def _numbers() -> Iterator[int]:
    if _PROC.is_dir():
        yield from (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _fields(number: int) -> list[str] | None:
    try:
        return (
            (_PROC / str(number) / "stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()
        )
    except OSError:
        return None
