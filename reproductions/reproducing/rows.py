"""Rows: what was published, what its own method gives here, what our best proven method gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from reproducing.expected import Expected


@dataclass(frozen=True, slots=True)
class Computed:
    """One cell as a reproduction computed it.

    Attributes:
        name: the cell's name in expected.json.
        reproduced: by the paper's own method; None where only ours applies.
        ours: by our best proven method under the same conditions; None where there is nothing to compare.
        note: what a reader should know about this cell.
        curve: (round, value) in order, for a cell whose figure shows how it came about; its last value is the
            cell's own.
    """

    name: str
    reproduced: float | None = None
    ours: float | None = None
    note: str = ""
    curve: tuple[tuple[float, float], ...] = ()

    @classmethod
    def by(
        cls,
        name: str,
        value: float,
        *,
        papers: bool,
        note: str = "",
        curve: tuple[tuple[float, float], ...] = (),
    ) -> Computed:
        """Returns a cell that has one number: of the paper's own method, or else of ours."""
        return cls(name, value if papers else None, None if papers else value, note, curve)

    @property
    def value(self) -> float | None:
        """The cell's number: ours, or else what the paper's method gave."""
        return self.reproduced if self.ours is None else self.ours


@dataclass(frozen=True, slots=True)
class Skipped:
    """A cell that could not be computed here, and why."""

    name: str
    reason: str


Cell = Computed | Skipped


@dataclass(frozen=True, slots=True)
class Deferred:
    """A cell that takes minutes: computed only if it is wanted.

    Attributes:
        name: the cell's name in expected.json.
        compute: returns the cell, under the same name.
    """

    name: str
    compute: Callable[[], Cell]


class Verdict(Enum):
    """What came of a cell; ``SHOWN`` has nothing to be compared with."""

    WITHIN = "within"
    OUTSIDE = "OUTSIDE"
    SHOWN = "shown"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Row:
    """A cell beside what was expected of it."""

    cell: Cell
    expected: Expected

    @property
    def verdict(self) -> Verdict:
        """Says whether everything that was expected came out."""
        match self.cell:
            case Skipped():
                return Verdict.SKIPPED
            case Computed() if not self.expected.checked:
                return Verdict.SHOWN
            case Computed(reproduced=reproduced, ours=ours):
                return Verdict.WITHIN if self._agrees(reproduced, ours) else Verdict.OUTSIDE

    def _agrees(self, reproduced: float | None, ours: float | None) -> bool:
        return (
            _near(reproduced, self.expected.reproduced, self.expected.tolerance)
            and _near(ours, self.expected.ours, self.expected.ours_tolerance)
            and (self.expected.ours_at_least is None or _number(ours) >= self.expected.ours_at_least)
            and (self.expected.ours_at_most is None or _number(ours) <= self.expected.ours_at_most)
        )


def _near(value: float | None, target: float | None, tolerance: float) -> bool:
    """Says whether a value meets its target; without a target everything does."""
    return target is None or abs(_number(value) - target) <= tolerance


def _number(value: float | None) -> float:
    """Returns the value; a missing one compares false with everything."""
    return math.nan if value is None else value
