"""Work on several threads, the calling one among them."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

_PART_BYTES = 1 << 20


def side_by_side(work: Callable[[int], None], threads: int) -> None:
    """Calls ``work`` with 0 to ``threads - 1``, each on its own thread, and returns when all have ended.

    Raises:
        BaseException: what one of them raised, that of the calling thread first.

    Example:
        >>> done = []
        >>> side_by_side(done.append, threads=3)
        >>> sorted(done)
        [0, 1, 2]
    """
    errors: list[BaseException] = []
    running = [allocate_lock() for _ in range(1, threads)]

    def run(number: int) -> None:
        try:
            work(number)
        # Also what ends a program: it has to reach the thread that waits for this one.
        except BaseException as error:
            errors.append(error)
        finally:
            running[number - 1].release()

    for number, lock in enumerate(running, 1):
        lock.acquire()
        # `threading.Thread` waits until the new thread runs, which takes half as long as adding an input.
        start_new_thread(run, (number,))
    try:
        work(0)
    finally:
        for lock in running:
            lock.acquire()
    if errors:
        raise errors[0]


def in_parts(work: Callable[[slice], None], vector: npt.NDArray[Any], threads: int) -> None:
    """Calls ``work`` for parts of a vector that make up all of it, each on its own thread; raises likewise.

    Example:
        >>> parts = []
        >>> in_parts(parts.append, np.zeros(1 << 20), threads=2)
        >>> sorted(parts, key=lambda part: part.start)
        [slice(0, 524288, None), slice(524288, 1048576, None)]
    """
    # On less, a thread takes longer to start than to work.
    threads = max(1, min(threads, vector.nbytes // _PART_BYTES))
    length = -(-len(vector) // threads)
    side_by_side(lambda number: work(slice(number * length, (number + 1) * length)), threads)
