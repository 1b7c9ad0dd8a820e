"""Worker processes: started without waiting for torch, so that they import it while the engine does.

Nothing here imports the rest of the engine.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from discreet.config.speed import SpeedConfig
from discreet.errors import DiscreetError

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


class WorkerFailed(DiscreetError):
    """A worker process ended, or met an error that is none of ours."""


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
    pairs = [Pipe() for _ in range(size)]
    inherited = [end.fileno() for _, end in pairs]
    # the engine's own import path, so that a user's model factory is found
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    asked_by_user = filter(None, [os.environ.get("GLIBC_TUNABLES")])
    tunables = ":".join([*asked_by_user, *_SETTINGS_OF_GLIBC])
    process = subprocess.Popen(  # noqa: S603 - this interpreter on our own program
        # -P: the folder that somebody stands in is no place to import from; the engine's own path is.
        [sys.executable, "-P", "-c", _PROGRAM, *map(str, inherited)],
        stdin=subprocess.DEVNULL,
        pass_fds=inherited,
        env={**os.environ, "GLIBC_TUNABLES": tunables, "PYTHONPATH": path},
        start_new_session=True,  # Ctrl-C is for the engine, which then ends them all
    )
    for _, end in pairs:
        end.close()
    return [WorkerProcess(process, own) for own, _ in pairs]


class WorkerProcess:
    """One worker and its socket.

    Args:
        family: the process that leads its session: itself, or the one that it and others are forked from.
        connection: where it reads and writes.
    """

    def __init__(self, family: subprocess.Popen[bytes], connection: Connection) -> None:
        self.family = family
        self.connection = connection

    def send(self, message: object) -> None:
        """Sends one request."""
        try:
            send(self.connection, message)
        except ConnectionError:
            raise self._gone() from None

    def receive(self) -> Any:
        """Waits for the answer to a request, and raises it if it is an error."""
        try:
            answer = self.connection.recv()
        except (EOFError, ConnectionError):
            raise self._gone() from None
        if isinstance(answer, DiscreetError):
            raise answer
        return answer

    def end(self) -> None:
        """Kills the process with its family and closes its socket, unless that was done before."""
        if self.family.poll() is None:  # so no other process can have this number
            os.killpg(self.family.pid, signal.SIGTERM)
            try:
                self.family.wait(_PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:  # a user's model may ignore the signal
                os.killpg(self.family.pid, signal.SIGKILL)
                self.family.wait()
        self.connection.close()

    def _gone(self) -> WorkerFailed:
        status = self.family.wait()
        return WorkerFailed(
            f"A worker process must live as long as the training; it ended with status {status}, perhaps for "
            "want of memory. Lower speed.workers, or set it to 1 to train in one process."
        )


def send(connection: Connection, message: object) -> None:
    """Sends what `Connection.recv` returns, in half the time of `Connection.send`, which copies arrays twice.

    A pickle is safe here: each side runs the other's program already.
    """
    connection.send_bytes(pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))
