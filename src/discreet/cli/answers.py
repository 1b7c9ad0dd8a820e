"""Answers on a screen, and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from discreet.cli.listing import Listing
from discreet.engines.local import RunResult
from discreet.report.answered import Answer, answers_of, number_text, whole
from discreet.rounds import read_record
from discreet.statistics.rows import Row

_HEADER = ("what", "value", "95 % interval", "remark")
# Longer answers are on the page and in the file.
_MOST_ROWS = 24
_PLACE = re.compile(r"[-\d.,e+]+$")


def answer_listings(result: RunResult) -> list[Listing]:
    """Returns tables of every answer; of a long one some numbers of each curve."""
    return [listing for answer in _answers(result) for listing in _listings(answer)]


def answers_json(result: RunResult) -> list[dict[str, Any]]:
    """Returns all answers as plain JSON."""
    return [
        {
            "title": answer.title,
            "question": answer.question,
            "about": answer.about,
            "numbers": [row._asdict() for row in answer.rows],
        }
        for answer in _answers(result)
    ]


def _answers(result: RunResult) -> tuple[Answer, ...]:
    return answers_of(read_record(result.directory.path))


def _listings(answer: Answer) -> list[Listing]:
    if answer.grid is None:
        return [_numbers(answer.title, answer.rows)]
    grid = answer.grid
    cells = tuple((text, *map(whole, counts)) for text, counts in grid.rows)
    shown = [Listing(answer.title, (grid.corner, *grid.header), cells, frozenset(grid.header))]
    if answer.plots:
        return [_numbers(answer.title, answer.rows), *shown]
    return [*shown, *([_numbers(f"test: {answer.title}", answer.main)] if answer.main else [])]


def _numbers(title: str, rows: Sequence[Row]) -> Listing:
    chosen = _chosen(rows)
    left_out = len(rows) - len(chosen)
    more = ((f"{left_out} more numbers are in report.html and answers.csv",),) if left_out else ()
    shown = (*map(_cells, chosen), *more)
    return Listing(title, _HEADER, shown, frozenset({"value", "95 % interval"}), wraps=3)


def _chosen(rows: Sequence[Row]) -> Sequence[Row]:
    """Returns rows enough for a screen: of each curve its ends and places between, so that none is lost."""
    if len(rows) <= _MOST_ROWS:
        return rows
    curves: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        curves.setdefault(_PLACE.sub("", row.name), []).append(place)
    lengths = [len(places) for places in curves.values()]
    wide = (most for most in range(_MOST_ROWS, 2, -1) if sum(min(most, n) for n in lengths) <= _MOST_ROWS)
    most = next(wide, 2)
    kept = {
        places[round(step * (len(places) - 1) / max(1, min(most, len(places)) - 1))]
        for places in curves.values()
        for step in range(min(most, len(places)))
    }
    return [rows[place] for place in sorted(kept)][: 2 * _MOST_ROWS]


def _cells(row: Row) -> tuple[str, str, str, str]:
    interval = (
        "" if row.low is None and row.high is None else f"{number_text(row.low)} to {number_text(row.high)}"
    )
    return (row.name, number_text(row.value), interval, row.remark)
