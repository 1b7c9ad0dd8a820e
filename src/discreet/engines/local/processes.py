"""Worker processes: started without waiting for torch, so that they import it while the engine does.

Nothing here imports the rest of the engine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from discreet.config.speed import SpeedConfig
from discreet.engines.local.frames import Frame, WorkerFailed, read_frame, require_success, write_frame

# What is imported stays; looking for garbage in it would be a sixth of a worker's start.
_PROGRAM = """
import gc
gc.disable()
from discreet.engines.local.worker import main
gc.freeze()
gc.enable()
main()
"""

_PATIENCE_SECONDS = 3.0

# Pages of 2 MB, since what a batch allocates fills several. And every batch asks for the same few megabytes
# again: glibc would hand them back to the system in between, and take a page fault for each 4 kB of the next
# batch. What an older glibc does not know it passes over; other C libraries do not read the variable.
_SETTINGS_OF_GLIBC = (
    "glibc.malloc.hugetlb=1",
    f"glibc.malloc.mmap_threshold={1 << 25}",
    f"glibc.malloc.trim_threshold={1 << 30}",
)


@contextmanager
def early_processes(speed: SpeedConfig) -> Iterator[list[WorkerProcess]]:
    """Starts the workers that were asked for by number, none for "auto"; they end with the block."""
    asked = 1 if speed.workers == "auto" else min(speed.workers, processors())
    started = start_workers(asked) if asked > 1 else []
    try:
        yield started
    finally:
        for worker in started:
            worker.end()


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start_workers(count: int) -> list[WorkerProcess]:
    """Starts ``count`` workers, none if that is not positive, and waits for none of them.

    On Linux one process imports torch and is then forked for each of them: that takes the time and the memory
    of one import. Elsewhere every worker imports it, since macOS's own libraries do not survive a fork.
    """
    families = [count] if sys.platform == "linux" else [1] * count
    return [worker for size in families if size > 0 for worker in _start_family(size)]


def _start_family(size: int) -> list[WorkerProcess]:
    """Starts ``size`` workers from one process."""
    requests, answers = [os.pipe() for _ in range(size)], [os.pipe() for _ in range(size)]
    inherited = [
        end for (read, _), (_, written) in zip(requests, answers, strict=True) for end in (read, written)
    ]
    # the engine's own import path, so that a user's model factory is found
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    asked_by_user = filter(None, [os.environ.get("GLIBC_TUNABLES")])
    tunables = ":".join([*asked_by_user, *_SETTINGS_OF_GLIBC])
    process = subprocess.Popen(  # noqa: S603 - this interpreter on our own program
        [sys.executable, "-c", _PROGRAM, *map(str, inherited)],
        stdin=subprocess.DEVNULL,
        pass_fds=inherited,
        env={**os.environ, "GLIBC_TUNABLES": tunables, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the engine, which then ends them all
    )
    for end in inherited:
        os.close(end)
    return [
        WorkerProcess(process, os.fdopen(written, "wb"), os.fdopen(read, "rb"))
        for (_, written), (read, _) in zip(requests, answers, strict=True)
    ]


class WorkerProcess:
    """One worker, its silos and its pipes.

    Args:
        family: the process that leads its session: itself, or the one that it and others are forked from.
        requests: where it reads from.
        answers: where it writes to.
    """

    def __init__(self, family: subprocess.Popen[bytes], requests: BinaryIO, answers: BinaryIO) -> None:
        self.silos: tuple[str, ...] = ()
        self.family = family
        self.requests = requests
        self.answers = answers

    def send(self, frame: Frame) -> None:
        """Sends one request."""
        try:
            write_frame(self.requests, frame)
        except BrokenPipeError:
            raise self._gone() from None

    def receive(self) -> Frame:
        """Waits for the answer to a request."""
        answer = read_frame(self.answers)
        if answer is None:
            raise self._gone()
        return require_success(answer)

    def end(self) -> None:
        """Kills the process with its family and closes its pipes, unless that was done before."""
        if self.family.poll() is None:  # so no other process can have this number
            os.killpg(self.family.pid, signal.SIGTERM)
            try:
                self.family.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:  # a user's model may ignore the signal
                os.killpg(self.family.pid, signal.SIGKILL)
                self.family.wait()
        self.answers.close()
        with suppress(BrokenPipeError):  # what was not written yet
            self.requests.close()

    def _gone(self) -> WorkerFailed:
        status = self.family.wait()
        return WorkerFailed(
            f"A worker process must live as long as the training; it ended with status {status}, perhaps for "
            "want of memory. Lower speed.workers, or set it to 1 to train in one process."
        )
