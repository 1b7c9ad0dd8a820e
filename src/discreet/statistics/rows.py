"""Answers as plain rows, for files and screens."""

from __future__ import annotations

import math
from typing import NamedTuple

from discreet.quality.intervals import Interval

CANNOT_BE_TOLD = "cannot be told at this noise"
NO_LOW = "no lower end can be told"
NO_HIGH = "no upper end can be told"


class Row(NamedTuple):
    """One number of an answer; None where there is none, and then ``remark`` says why if it was expected."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    remark: str = ""


def interval_row(name: str, found: Interval | None, remark: str = "") -> Row:
    """Returns the row of an interval; ends that are infinite, and a value that is missing, become None.

    Example:
        >>> interval_row("mean", None)
        Row(name='mean', value=None, low=None, high=None, remark='cannot be told at this noise')
    """
    if found is None:
        return Row(name, None, remark=_joined(CANNOT_BE_TOLD, remark))
    low, high = (end if math.isfinite(end) else None for end in (found.low, found.high))
    if low is None and high is None:
        missing = CANNOT_BE_TOLD
    else:
        missing = NO_LOW if low is None else NO_HIGH if high is None else ""
    value = found.value if math.isfinite(found.value) else None
    return Row(name, value, low, high, _joined(missing, remark))


def number_row(name: str, value: float | None, remark: str = "") -> Row:
    """Returns the row of a number without an interval."""
    return Row(name, value, remark=remark if value is not None else _joined(CANNOT_BE_TOLD, remark))


def _joined(*remarks: str) -> str:
    return "; ".join(remark for remark in remarks if remark)
