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
    """What came of a cell.

    ``WITHIN`` and ``OUTSIDE`` say that the paper's method was held to a number that the paper prints;
    ``UNCHANGED`` and ``CHANGED`` that a number was held to one of our own: an earlier run, another
    evaluation, a bound. ``NOT_REPRODUCED``: the paper's method ran, but with other data, model or
    settings, or in settings that were chosen on its number, or the number is one that a single run cannot be
    held to. ``SHOWN`` has nothing to be compared with.
    """

    WITHIN = "within"
    OUTSIDE = "OUTSIDE"
    UNCHANGED = "unchanged"
    CHANGED = "CHANGED"
    NOT_REPRODUCED = "not reproduced"
    SHOWN = "shown"
    SKIPPED = "skipped"

    @property
    def failed(self) -> bool:
        """Says whether something that was expected did not come out."""
        return self in {Verdict.OUTSIDE, Verdict.CHANGED}

    @property
    def against_paper(self) -> bool:
        """Says whether a number was held to one that the paper prints."""
        return self in {Verdict.WITHIN, Verdict.OUTSIDE}


@dataclass(frozen=True, slots=True)
class Row:
    """A cell beside what was expected of it."""

    cell: Cell
    expected: Expected

    @property
    def verdict(self) -> Verdict:
        """Says what came of the cell; a miss of the paper's number weighs most, then one of our own."""
        match self.cell:
            case Skipped():
                return Verdict.SKIPPED
            case Computed() as cell:
                return _judged(cell, self.expected)


def _judged(cell: Computed, expected: Expected) -> Verdict:
    if expected.compared and not _near(cell.reproduced, expected.published, expected.tolerance):
        return Verdict.OUTSIDE
    if not _keeps(cell, expected):
        return Verdict.CHANGED
    if expected.compared:
        return Verdict.WITHIN
    if expected.guarded:
        return Verdict.UNCHANGED
    if expected.not_compared and cell.reproduced is not None:
        return Verdict.NOT_REPRODUCED
    return Verdict.SHOWN


def _keeps(cell: Computed, expected: Expected) -> bool:
    """Says whether the numbers of our own came out that are expected."""
    return (
        _near(cell.reproduced, expected.reproduced, expected.tolerance)
        and _near(cell.ours, expected.ours, expected.ours_tolerance)
        and (expected.ours_at_least is None or _number(cell.ours) >= expected.ours_at_least)
        and (expected.ours_at_most is None or _number(cell.ours) <= expected.ours_at_most)
    )


def _near(value: float | None, target: float | None, tolerance: float) -> bool:
    """Says whether a value meets its target; without a target everything does."""
    return target is None or abs(_number(value) - target) <= tolerance


def _number(value: float | None) -> float:
    """Returns the value; a missing one compares false with everything."""
    return math.nan if value is None else value
