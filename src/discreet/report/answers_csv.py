"""``answers.csv``: every number of a run's answers, one a line, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from discreet.statistics import Row

# Answers are the same on machines whose last bits differ.
_DIGITS = 8
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def answers_csv(found: Iterable[tuple[str, Iterable[Row]]]) -> str:
    """Returns all numbers of all answers, by their titles, as CSV, one a line.

    Titles and names are a config's words: one that a spreadsheet would take for a formula gets a quotation
    mark before it, which spreadsheets show as text.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(("question", "what", "value", "low", "high", "remark"))
    for title, rows in found:
        writer.writerows((_word(title), *_written(row)) for row in rows)
    return text.getvalue()


def _written(row: Row) -> tuple[str, ...]:
    numbers = ("" if value is None else f"{value:.{_DIGITS}g}" for value in (row.value, row.low, row.high))
    return (_word(row.name), *numbers, row.remark)


def _word(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
