"""Structured logging: silent unless asked for, one line for each step."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

from discreet.log_line import Level, LogFormat, LogLine

LOGGER = logging.getLogger("discreet")
LOGGER.addHandler(logging.NullHandler())

_LEVELS = {logging.WARNING: Level.WARNING, logging.ERROR: Level.ERROR}


class LineFormatter(logging.Formatter):
    """Writes time, level, event and fields.

    Args:
        form: JSON or text.
        terminal: whether a person looks.
    """

    def __init__(self, form: LogFormat, *, terminal: bool) -> None:
        super().__init__()
        self._form = form
        self._terminal = terminal

    def format(self, record: logging.LogRecord) -> str:
        """Returns one line."""
        fields: dict[str, Any] = getattr(record, "fields", {})
        line = LogLine(
            datetime.fromtimestamp(record.created, UTC),
            record.getMessage(),
            _LEVELS.get(record.levelno, Level.INFO),
            {name: value if isinstance(value, int | float) else str(value) for name, value in fields.items()},
        )
        return self._form.write(line, terminal=self._terminal)


def log_to_stderr(form: LogFormat = LogFormat.AUTO) -> None:
    """Turns the log on for this process."""
    if not any(isinstance(handler.formatter, LineFormatter) for handler in LOGGER.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(LineFormatter(form, terminal=sys.stderr.isatty()))
        LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)


def log(event: str, **fields: object) -> None:
    """Logs one step.

    Args:
        event: its name.
        fields: public facts only: never a secret, a record's value, or a measurement of one silo. A budget
            is given as a whole `Guarantee`, which names its adversary.
    """
    LOGGER.info(event, extra={"fields": fields})
