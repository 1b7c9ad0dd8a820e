"""One piece of work on several threads, the calling one among them."""

from __future__ import annotations

from _thread import allocate_lock, start_new_thread
from collections.abc import Callable


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
