"""A process between a deployment and one of its programs, which sees to it that nothing outlives either.

Flower's executors start processes in sessions of their own, which wait for a dead SuperLink for ever. The
keeper adopts whatever they leave (``PR_SET_CHILD_SUBREAPER``, see prctl(2)), so that descent tells all of it.
It is run by path and imports nothing of this package: it starts at once and takes little memory.

Its standard input is a pipe that its parent holds open; the end of that pipe is the parent's death, however
it died. SIGTERM, or that end, ends everything with a moment to clean up; SIGQUIT ends everything at once, as
a power cut would. Elsewhere than on Linux it ends the program's process group only.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

GRACE_SECONDS = 5.0
_POLL_SECONDS = 0.1
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PROC = Path("/proc")
# Fields of /proc/PID/stat behind the command's name, see proc(5): state, parent, start time in clock ticks.
_STATE, _PARENT, _STARTED = 0, 1, 19
_ZOMBIE = "Z"
_SIGNALLED = 128


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

    def send(self, number: signal.Signals) -> None:
        """Signals it, if it is still the same process."""
        if self.alive:
            with suppress(ProcessLookupError):
                os.kill(self.number, number)


def descendants(root: int) -> frozenset[Process]:
    """Returns every living process that descends from ``root``, itself left out; Linux only."""
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


def keep(command: list[str]) -> int:
    """Runs ``command`` until it ends or is to end, ends all that it started, and returns its exit code."""
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(number, lambda number, _: asked.append(number))
    # Not SIG_IGN, which the program would inherit: Flower ends its own parts by SIGINT.
    signal.signal(signal.SIGINT, lambda *_: None)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    program = subprocess.Popen(  # noqa: S603 (the deployment's own command)
        command,
        stdin=subprocess.DEVNULL,
        process_group=0,
        # A keeper has one thread.
        preexec_fn=lambda: _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),  # noqa: PLW1509
    )
    while program.poll() is None and not asked and not _parent_gone():
        _reap(program)
    if signal.SIGQUIT not in asked and program.poll() is None:
        _signal_all(program, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while _left(program) and signal.SIGQUIT not in asked and time.monotonic() < deadline:
            _reap(program)
            time.sleep(_POLL_SECONDS)
    while True:
        _signal_all(program, signal.SIGKILL)
        _reap(program)
        if not _left(program):
            break
        time.sleep(_POLL_SECONDS)
    return program.returncode if program.returncode >= 0 else _SIGNALLED - program.returncode


def _left(program: subprocess.Popen[bytes]) -> bool:
    return program.poll() is None or bool(descendants(os.getpid()))


def _signal_all(program: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, number)
    for process in descendants(os.getpid()):
        process.send(number)


def _reap(program: subprocess.Popen[bytes]) -> None:
    """Buries what was adopted; the program itself is left to `Popen`, which keeps its exit code."""
    if sys.platform != "linux":
        return  # nothing is adopted there
    # The kernel knows in one call. Each keeper looking through /proc ten times a second slows the rest.
    with suppress(ChildProcessError):
        while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if ended.si_pid == program.pid:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


def _parent_gone() -> bool:
    """Waits a moment for the end of standard input."""
    with suppress(InterruptedError):
        return bool(select.select([sys.stdin], [], [], _POLL_SECONDS)[0])
    return False


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


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


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
