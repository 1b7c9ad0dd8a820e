"""Work on several threads, the calling one among them."""

from __future__ import annotations

from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

_PART_BYTES = 1 << 20


def side_by_side(work: Callable[[int], None], threads: int) -> None:
    """Calls ``work`` with 0 to ``threads - 1``, each on its own thread, and returns when all have ended.

    What the system has no thread for is done on the calling one. A signal that raises, as Ctrl-C does, leaves
    no thread behind that still works: what it raised comes out when all have ended.

    Raises:
        BaseException: what one of them raised, that of the calling thread first.

    Example:
        >>> done = []
        >>> side_by_side(done.append, threads=3)
        >>> sorted(done)
        [0, 1, 2]
    """
    errors: list[BaseException] = []
    running: list[tuple[int, LockType]] = []
    ended: set[int] = set()
    interruption: BaseException | None = None

    def run(number: int, lock: LockType) -> None:
        try:
            work(number)
        # Also what ends a program: it has to reach the thread that waits for this one.
        except BaseException as error:
            errors.append(error)
        finally:
            ended.add(number)
            lock.release()

    try:
        while len(running) < threads - 1:
            lock = allocate_lock()
            lock.acquire()
            # Before the thread starts, since a signal may come as soon as it has; and no call, after which
            # one may come as well.
            running += [(number := len(running) + 1, lock)]
            try:
                # `threading.Thread` waits until the new thread runs: half as long as adding an input takes.
                start_new_thread(run, (number, lock))
            # The system has no thread left. Half of an input in a sum would be worse than a slow one.
            except (RuntimeError, MemoryError):
                running.pop()
                break
        for number in (0, *range(len(running) + 1, threads)):
            work(number)
    finally:
        while running:
            try:
                while running:
                    number, lock = running[-1]
                    # A signal may come when the lock was acquired already, which is released only once.
                    while number not in ended:
                        lock.acquire()
                    running.pop()
            except BaseException as error:
                interruption = error
        if interruption is not None:
            raise interruption
    if errors:
        raise errors[0]


def in_parts(work: Callable[[slice], None], vector: npt.NDArray[Any], threads: int) -> None:
    """Calls ``work`` for parts of a vector that make up all of it, each on its own thread; raises likewise.

    Example:
        >>> import numpy as np
        >>> parts = []
        >>> in_parts(parts.append, np.zeros(1 << 20), threads=2)
        >>> sorted(parts, key=lambda part: part.start)
        [slice(0, 524288, None), slice(524288, 1048576, None)]
    """
    # On less, a thread takes longer to start than to work.
    threads = max(1, min(threads, vector.nbytes // _PART_BYTES))
    length = -(-len(vector) // threads)
    side_by_side(lambda number: work(slice(number * length, (number + 1) * length)), threads)
