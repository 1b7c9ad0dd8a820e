"""Structured logging: silent unless asked for, one line of ``key=value`` pairs for each step."""

from __future__ import annotations

import json
import logging
from typing import Any

LOGGER = logging.getLogger("discreet")
LOGGER.addHandler(logging.NullHandler())


class KeyValueFormatter(logging.Formatter):
    """Writes time, level, event and fields; texts with spaces are quoted as in JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Returns one line."""
        fields: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        return " ".join(f"{name}={_value(value)}" for name, value in fields.items())


def log_to_stderr() -> None:
    """Turns the log on for this process."""
    if not any(isinstance(handler.formatter, KeyValueFormatter) for handler in LOGGER.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(KeyValueFormatter())
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


def _value(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or set(' ="') & set(text) else text
