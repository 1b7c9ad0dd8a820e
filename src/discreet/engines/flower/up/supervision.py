"""Starting again what died: SuperLink, SuperNodes and silos, after a pause that grows with every death."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from discreet.engines.flower.up.processes import Child, Children
from discreet.errors import ConfigurationError

_SHORTEST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
# A program that ran this long came up; its next death is the first of a new series.
_SETTLED_SECONDS: Final = 60.0
# A SuperNode that was killed is refused for up to a minute: Flower takes it for connected until then.
_MOST_DEATHS_IN_A_ROW: Final = 10


def pause_seconds(deaths: int) -> float:
    """Returns how long to wait after the last of so many deaths in a row.

    Example:
        >>> [pause_seconds(deaths) for deaths in (1, 2, 3, 99)]
        [0.5, 1.0, 2.0, 30.0]
    """
    return float(min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2.0 ** min(deaths - 1, 16)))


@dataclass(slots=True)
class _Record:
    """The state of one program: since when it runs, how often it died in a row, when it is due."""

    since: float
    deaths: int = 0
    due: float | None = None


@dataclass(slots=True)
class Supervision:
    """Watches programs, and starts those again that end.

    Attributes:
        children: all programs of the deployment.
        announce: is told in one line of every death and every new start.
        deaths: how many there were so far.
    """

    children: Children
    announce: Callable[[str], None]
    deaths: int = 0
    _records: dict[str, _Record] = field(default_factory=dict)

    def watch(self, name: str) -> None:
        """Begins to watch a program that was started."""
        self._records[name] = _Record(time.monotonic())

    def drop(self, name: str) -> None:
        """Ends a program for good."""
        self._records.pop(name)
        self.children.started[name].cut()

    def look(self) -> None:
        """Notices deaths, and starts what is due; never waits.

        Raises:
            ConfigurationError: if a program dies again and again; quotes the end of its log.
        """
        now = time.monotonic()
        for name, record in self._records.items():
            child = self.children.started[name]
            if record.due is not None and now >= record.due:
                self.children.start_again(name)
                self.announce(f"{name}: started again")
                record.since, record.due = now, None
            elif record.due is None and not child.alive:
                self._mourn(child, record, now)

    def _mourn(self, child: Child, record: _Record, now: float) -> None:
        self.deaths += 1
        record.deaths = 1 if now - record.since > _SETTLED_SECONDS else record.deaths + 1
        if record.deaths >= _MOST_DEATHS_IN_A_ROW:
            raise ConfigurationError(
                f"{child.name} must keep running; it ended {record.deaths} times in a row. Its log ends:\n"
                f"{child.last_lines(12)}"
            )
        pause = pause_seconds(record.deaths)
        record.due = now + pause
        self.announce(f"{child.name}: ended ({_how(child.process.returncode)}); again in {pause:g} s")


def _how(code: int) -> str:
    return f"signal {code - 128}" if code > 128 else f"exit code {code}"
