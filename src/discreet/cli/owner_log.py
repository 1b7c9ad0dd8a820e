"""The log that a serving silo writes for its owner."""

from __future__ import annotations

import contextlib
import sys
import threading
from dataclasses import dataclass, field
from typing import TextIO

from discreet.log_line import Level, LogFormat, LogLine, log_now
from discreet.privacy.notation import pair_text
from discreet.silo.events import (
    RequestAnswered,
    RequestArrived,
    RoundAnswered,
    RoundUnmasked,
    SiloEvent,
    TrainingEnded,
    TrainingJoined,
)


@dataclass(frozen=True, slots=True)
class OwnerLog:
    """Writes lines to ``stream``; a reader that is gone never stops the silo.

    Attributes:
        format: JSON, text, or by what ``stream`` is.
        stream: standard error, or a file in tests.
    """

    format: LogFormat = LogFormat.AUTO
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, text: str) -> None:
        """Writes what is as it should be."""
        self._write(log_now(text))

    def warn(self, text: str) -> None:
        """Writes what the owner should look at."""
        self._write(log_now(text, Level.WARNING))

    def tell(self, event: SiloEvent) -> None:
        """Writes an event down, if it is worth a line."""
        line = event_line(event)
        if line is not None:
            self._write(line)

    def _write(self, line: LogLine) -> None:
        with self._lock, contextlib.suppress(OSError, ValueError):
            print(self.format.write(line, terminal=self.stream.isatty()), file=self.stream, flush=True)


def event_line(event: SiloEvent) -> LogLine | None:
    """Returns the line of an event; None for requests as such, which are counted and not told."""
    match event:
        case RequestArrived() | RequestAnswered():
            return None
        case TrainingJoined(plan=plan, cost=cost):
            return log_now(
                f"joined plan {plan[:16]}: {cost}", plan=plan, epsilon=cost.epsilon, delta=cost.delta
            )
        case RoundAnswered():
            return log_now(
                f"{event.text} answered, attempt {event.attempt}; "
                f"{pair_text(event.epsilon, event.delta)} charged so far in all trainings",
                round=event.round,
                planned=event.planned,
                attempt=event.attempt,
                epsilon=event.epsilon,
                delta=event.delta,
                plan=event.plan,
            )
        case RoundUnmasked():
            return log_now(
                f"{event.text} unmasked: {event.survivors} silos",
                round=event.round,
                survivors=event.survivors,
                plan=event.plan,
            )
        case TrainingEnded(plan=plan):
            return log_now(f"plan {plan[:16]} ended", plan=plan)
