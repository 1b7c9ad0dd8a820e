"""A worker process of the local engine: keeps some silos and trains them, round after round.

Started by `start_workers`; it ends when nobody can send it requests any more.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO, NoReturn

import torch

from discreet.engines.local.device import torch_device
from discreet.engines.local.frames import Frame, failure_frame, read_frame, write_frame
from discreet.engines.local.work import Assignment, contributions_frame, read_order, source_for
from discreet.plan.public_model import public_model
from discreet.rounds import RoundOrder, contributions


class Worker:
    """Trains the silos of one assignment, one after the other, with one model.

    Raises:
        ConfigurationError: if the model cannot be built as planned.
    """

    def __init__(self, assignment: Assignment) -> None:
        self._assignment = assignment
        self._randomness = source_for(assignment.seed)
        self._model = public_model(assignment.plan).to(torch_device(assignment.device))

    def train(self, order: RoundOrder) -> Frame:
        """Returns the contributions of all silos to one round."""
        found = contributions(
            self._assignment.plan,
            self._assignment.records,
            order,
            model=self._model,
            randomness=self._randomness,
        )
        return contributions_frame(list(found.values()))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until there are no more; an error is an answer too."""
    worker: Worker | None = None
    while (frame := read_frame(requests)) is not None:
        try:
            if worker is None:
                worker, answer = Worker(Assignment.from_frame(frame)), Frame()
            else:
                answer = worker.train(read_order(frame))
        except Exception as error:  # whatever it is, the engine must hear of it
            answer = failure_frame(error)
        write_frame(answers, answer)


def main() -> None:
    """Serves over pipes, two for each worker, whose numbers are the arguments; several workers are forked.

    What a user's model prints goes to standard error.
    """
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    numbers = [int(number) for number in sys.argv[1:]]
    pipes = list(zip(numbers[::2], numbers[1::2], strict=True))
    if len(pipes) == 1:
        _serve(pipes[0])
    else:
        _fork_for_each(pipes)


def _fork_for_each(pipes: list[tuple[int, int]]) -> None:
    """Serves over every pair of pipes from a process of its own, and ends with them."""
    children = []
    for own in pipes:
        child = os.fork()
        if child == 0:
            _close(other for other in pipes if other is not own)
            _serve(own)
            return
        children.append(child)
    _close(pipes)
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


def _serve(pipes: tuple[int, int]) -> None:
    torch.set_num_threads(1)  # after the fork: it may start threads, which no fork copies
    requests, answers = pipes
    with (
        suppress(BrokenPipeError),  # nobody is left to tell
        os.fdopen(requests, "rb") as reading,
        os.fdopen(answers, "wb") as writing,
    ):
        serve(reading, writing)


def _close(pipes: Iterable[tuple[int, int]]) -> None:
    for pair in pipes:
        for end in pair:
            os.close(end)
