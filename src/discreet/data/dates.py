"""Dates as days by public arithmetic: a cell is read by itself, by an order that is stated."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from enum import Enum

_TIME = r"(?:[ T][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?)?"
_YEAR, _MONTH, _DAY = "(?P<y>[0-9]{4})", "(?P<m>[0-9]{1,2})", "(?P<d>[0-9]{1,2})"
_BETWEEN = "[-/.]"


class DateOrder(Enum):
    """Which of year, month and day comes first in a cell."""

    YMD = "ymd"
    DMY = "dmy"
    MDY = "mdy"


def _pattern(*parts: str) -> re.Pattern[str]:
    return re.compile(_BETWEEN.join(parts) + _TIME)


_PATTERNS: Mapping[DateOrder, re.Pattern[str]] = {
    DateOrder.YMD: _pattern(_YEAR, _MONTH, _DAY),
    DateOrder.DMY: _pattern(_DAY, _MONTH, _YEAR),
    DateOrder.MDY: _pattern(_MONTH, _DAY, _YEAR),
}


def day_number(cell: str, order: DateOrder = DateOrder.YMD) -> float:
    """Returns the number of a cell's day, one more for each day; NaN if it holds no date of that order.

    A time of day and its zone are left out.

    Example:
        >>> day_number("2020-03-01") - day_number("2020-02-28 14:00")
        2.0
        >>> day_number("1.3.2020", DateOrder.DMY) - day_number("2020-02-28")
        2.0
    """
    found = _PATTERNS[order].fullmatch(cell)
    if found is None:
        return math.nan
    try:
        return float(date(int(found["y"]), int(found["m"]), int(found["d"])).toordinal())
    except ValueError:
        return math.nan
