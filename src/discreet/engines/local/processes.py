"""Worker processes: started without waiting for torch, so that they import it while the engine does.

Nothing here imports the rest of the engine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.config.speed import SpeedConfig
from discreet.engines.local.failures import WorkerFailed, require_success
from discreet.engines.local.frames import Frame, read_frame, write_frame

# What is imported stays; looking for garbage in it would be a sixth of a worker's start.
_PROGRAM = "import gc; gc.disable(); from discreet.engines.local.worker import main; gc.enable(); main()"

# Every batch asks for the same few megabytes again. glibc would hand them back to the system in between, and
# take a page fault for each 4 kB of the next batch; other C libraries do not read these names.
_KEEP_FREED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 30),
}


@contextmanager
def early_processes(speed: SpeedConfig) -> Iterator[list[WorkerProcess]]:
    """Starts the workers that were asked for by number, none for "auto"; they end with the block."""
    asked = 1 if speed.workers == "auto" else min(speed.workers, processors())
    started = [WorkerProcess() for _ in range(asked)] if asked > 1 else []
    try:
        yield started
    finally:
        for worker in started:
            worker.end()


def processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerProcess:
    """One worker process, its silos and its pipes."""

    def __init__(self) -> None:
        self.silos: tuple[str, ...] = ()
        self._ended = False
        # the engine's own import path, so that a user's model factory is found
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self.process = subprocess.Popen(  # noqa: S603 - this interpreter on our own program
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_KEEP_FREED_MEMORY, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the engine, which then closes the pipes
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
        """Kills the process and closes its pipes, unless that was done before."""
        if not self._ended:
            self._ended = True
            self.process.kill()
            self.process.communicate()

    def _gone(self) -> WorkerFailed:
        status = self.process.wait()
        return WorkerFailed(
            f"A worker process must live as long as the training; it ended with status {status}, perhaps for "
            "want of memory. Lower speed.workers, or set it to 1 to train in one process."
        )
