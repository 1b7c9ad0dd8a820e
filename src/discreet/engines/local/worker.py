"""A worker process of the local engine: keeps some silos and trains them, round after round.

Started by `start_workers`; it ends when nobody can send it requests any more.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import NoReturn

import torch

from discreet.engines.local.processes import WorkerFailed, send
from discreet.engines.local.work import Worker
from discreet.errors import DiscreetError, ProtocolAbort
from discreet.own_code import place_in_own_code


def serve(engine: Connection) -> None:
    """Answers an assignment with None, then every order with its contributions; an error is an answer too."""
    worker: Worker | None = None
    with suppress(EOFError, ConnectionError):  # nobody is left to tell
        while True:
            message = engine.recv()
            answer: object = None
            try:
                if worker is None:
                    worker = Worker(message)
                else:
                    answer = worker.train(message)
            except (Exception, SystemExit) as error:  # whatever it is, the engine must hear of it
                answer = told(error)
            send(engine, answer)


def told(error: Exception | SystemExit) -> DiscreetError:
    """Returns what the engine raises: an error of ours as it is, any other with the user's line of code.

    A user's own class may exist in this process alone, and one that ends secure aggregation is no worker's.
    """
    if isinstance(error, DiscreetError) and not isinstance(error, ProtocolAbort):
        return error
    place = place_in_own_code(error)
    where = "" if place is None else f", raised in {place}"
    return WorkerFailed(
        f"Training must not fail in a worker process; got {type(error).__name__}: {error}{where}. "
        "Set speed.workers = 1 to see what led there."
    )


def main() -> None:
    """Serves over sockets, one for each worker, whose numbers are the arguments; several workers are forked.

    What a user's model prints goes to standard error.
    """
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sockets = [int(number) for number in sys.argv[1:]]
    if len(sockets) == 1:
        _serve(sockets[0])
    else:
        _fork_for_each(sockets)


def _fork_for_each(sockets: list[int]) -> None:
    """Serves over every socket from a process of its own, and ends with them."""
    children = []
    for own in sockets:
        child = os.fork()
        if child == 0:
            _close(other for other in sockets if other != own)
            _serve(own)
            return
        children.append(child)
    _close(sockets)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends them; this process then reaps them
    _end_with_the_first(children)


def _end_with_the_first(children: list[int]) -> NoReturn:
    """Waits until one has ended, kills the others, and ends as it did: its status or its signal.

    One that ends can only mean that the engine is gone, or must hear that a worker is.
    """
    ended, status = os.wait()
    for child in children:
        if child != ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError):  # SIGKILL has no other action to be put back
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    sys.exit(os.waitstatus_to_exitcode(status))


def _serve(socket: int) -> None:
    torch.set_num_threads(1)  # after the fork: it may start threads, which no fork copies
    with Connection(socket) as engine:
        serve(engine)


def _close(sockets: Iterable[int]) -> None:
    for own in sockets:
        os.close(own)
