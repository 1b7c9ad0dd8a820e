"""What a benchmark measured, kept for the table that `bench/speed_table.py` makes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

KEPT_IN = "DISCREET_BENCH_ROWS"  # names the file, one JSON object a line; nothing is kept without it


@dataclass(frozen=True, slots=True)
class Row:
    """One number. ``goal`` is the most that it should be or, where ``more_is_better``, the least."""

    what: str
    value: float
    unit: str
    goal: float | None = None
    more_is_better: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal


def keep(row: Row) -> None:
    """Appends the row to the file that the table reads, if there is one."""
    if path := os.environ.get(KEPT_IN):
        with Path(path).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")


def kept(path: Path) -> list[Row]:
    """Reads them back; none if no benchmark kept any."""
    if not path.exists():
        return []
    return [Row(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
