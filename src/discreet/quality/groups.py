"""Groups of measured records: by a text of each, or by where a number lies."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from discreet.arrays import Booleans, Floats
from discreet.errors import DataError

BLANK = "blank"
"""The group of records whose cell is empty."""

_PART = re.compile(r"(below )?(\S+)(?: to \S+| or more)?")


def members(groups: Mapping[str, Sequence[str]], count: int) -> Iterator[tuple[str, str, Booleans]]:
    """Yields every group: its title, its name, and which of ``count`` records are in it, shape ``(count,)``.

    Names are in order, and those of `between` in the order of numbers. An empty name is `BLANK`.

    Raises:
        DataError: if there is not one name for each record.
    """
    for title, texts in groups.items():
        if len(texts) != count:
            raise DataError(f"there must be one {title!r} for each of {count} records; got {len(texts)}.")
        named = [text or BLANK for text in texts]
        of_record = np.array(named, dtype=np.str_)
        for name in sorted(set(named), key=_in_order):
            yield title, name, of_record == name


def between(numbers: Floats, edges: Sequence[float]) -> list[str]:
    """Returns the name of the part that each number lies in; "no number" for one that is none.

    Example:
        >>> between(np.array([39.0, 40.0, 75.5, np.nan]), (40, 60))
        ['below 40', '40 to 60', '60 or more', 'no number']
    """
    ends = [f"{edge:g}" for edge in edges]
    inner = (f"{low} to {high}" for low, high in pairwise(ends))
    names = [f"below {ends[0]}", *inner, f"{ends[-1]} or more"]
    places = np.searchsorted(np.array(edges), numbers, side="right").tolist()
    return [
        "no number" if math.isnan(number) else names[place]
        for number, place in zip(numbers.tolist(), places, strict=True)
    ]


def _in_order(name: str) -> tuple[float, bool, str]:
    part = _PART.fullmatch(name)
    if part is None or part[0] == part[2]:
        return -math.inf, True, name
    try:
        return float(part[2]), not part[1], name
    except ValueError:
        return -math.inf, True, name
