"""One line of a log: time, level, event and a few fields; as JSON for machines or as text for people.

The words of a peer may be in a line. Nothing that they hold ends the line, and in JSON nothing looks like
another field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeGuard

from discreet.documents import read_json, shown

Value = str | int | float

_LONGEST = 2000
_OWN_NAMES = ("time", "level", "event")


class Level(StrEnum):
    """How much a line asks of who reads it."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """How lines are written; ``AUTO`` means text on a terminal and JSON elsewhere."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"

    def write(self, line: LogLine, *, terminal: bool) -> str:
        """Returns ``line`` as it is written to a terminal or elsewhere."""
        as_text = self is LogFormat.TEXT or (self is LogFormat.AUTO and terminal)
        return line.as_text() if as_text else line.as_json()


@dataclass(frozen=True, slots=True)
class LogLine:
    """What happened, and when.

    Attributes:
        time: with its zone.
        event: words for people; what is not printable is shown as ``?``, and 2,000 characters are the most.
        level: how much it matters.
        fields: numbers and short texts by name, for machines; cleaned in the same way.

    Example:
        >>> from datetime import UTC, datetime
        >>> moment = datetime(2026, 11, 22, 18, 43, 35, 123000, UTC)
        >>> line = LogLine(moment, "round answered", fields={"round": 3})
        >>> print(line.as_json())
        {"time":"2026-11-22T18:43:35.123Z","level":"info","event":"round answered","round":3}
        >>> print(line.as_text())
        2026-11-22T18:43:35.123Z info round answered round=3
    """

    time: datetime
    event: str
    level: Level = Level.INFO
    fields: Mapping[str, Value] = field(default_factory=dict)

    def as_json(self) -> str:
        """Returns one JSON object without a line end."""
        clean = {name: _clean(value) for name, value in self.fields.items() if name not in _OWN_NAMES}
        own = dict(
            zip(_OWN_NAMES, (iso_time(self.time), str(self.level), shown(self.event, _LONGEST)), strict=True)
        )
        return json.dumps({**own, **clean}, ensure_ascii=False, separators=(",", ":"))

    def as_text(self) -> str:
        """Returns time, level, event, and ``key=value`` for each field; values with spaces are quoted."""
        words = [iso_time(self.time), str(self.level), shown(self.event, _LONGEST)]
        return " ".join([*words, *(f"{name}={_plain(value)}" for name, value in self.fields.items())])


def log_now(event: str, level: Level = Level.INFO, **fields: Value) -> LogLine:
    """Returns a line about this moment."""
    return LogLine(datetime.now(UTC), event, level, fields)


def iso_time(moment: datetime) -> str:
    """Returns a time as in ISO 8601, in UTC, to the millisecond.

    Example:
        >>> from datetime import UTC, datetime
        >>> iso_time(datetime(2026, 11, 22, 18, 43, 35, 123456, UTC))
        '2026-11-22T18:43:35.123Z'
    """
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_lines(data: bytes) -> list[dict[str, Value]]:
    """Returns the fields of the JSON lines in ``data``, time, level and event among them.

    A log is for people: a torn last line and whatever is no flat JSON object are left out, and texts are
    cleaned.
    """
    found = []
    for text in data[: data.rfind(b"\n") + 1].split(b"\n"):
        try:
            read = read_json(text)
        except ValueError:
            continue
        if isinstance(read, dict):
            found.append({shown(name): _clean(value) for name, value in read.items() if _is_value(value)})
    return found


def _is_value(value: object) -> TypeGuard[Value]:
    return isinstance(value, str | int | float)


def _clean(value: Value) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no word for it
    return shown(value, _LONGEST) if isinstance(value, str) else value


def _plain(value: Value) -> str:
    text = str(_clean(value))
    return json.dumps(text, ensure_ascii=False) if not text or set(' ="') & set(text) else text
