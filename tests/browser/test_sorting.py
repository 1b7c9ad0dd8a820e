"""Tables sort by mouse and by keyboard, and say so to those who listen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.chrome import Page

Visit = Callable[..., Page]


def button(table: str, title: str) -> str:
    """The JavaScript expression of a title's button in the table of that name."""
    return (
        f"[...document.querySelectorAll({json.dumps(f'table[aria-label={json.dumps(table)}] th button')})]"
        f".find((button) => button.textContent === {json.dumps(title)})"
    )


def column(page: Page, table: str, title: str) -> list[str]:
    """The texts of a column, from top to bottom."""
    found: list[str] = page.evaluate(
        f"(() => {{ const header = {button(table, title)}.parentNode;"
        " return [...header.closest('table').tBodies[0].rows]"
        ".map((row) => row.cells[header.cellIndex]?.textContent ?? ''); })()"
    )
    return found


def sorted_by(page: Page, table: str, title: str) -> str:
    """What a title says of its order."""
    return str(page.evaluate(f"{button(table, title)}.parentNode.getAttribute('aria-sort')"))


def test_a_click_sorts_numbers_up_then_down(visit: Visit) -> None:
    page = visit("report")
    written = column(page, "Rounds", "Loss")
    assert sorted_by(page, "Rounds", "Loss") == "none"
    page.click(button("Rounds", "Loss"))
    assert sorted_by(page, "Rounds", "Loss") == "ascending"
    assert column(page, "Rounds", "Loss") == sorted(written, key=float)
    page.click(button("Rounds", "Loss"))
    assert sorted_by(page, "Rounds", "Loss") == "descending"
    assert column(page, "Rounds", "Loss") == sorted(written, key=float, reverse=True)
    page.click(button("Rounds", "Round"))
    assert sorted_by(page, "Rounds", "Loss") == "none"
    assert column(page, "Rounds", "Loss") == written


def test_a_delta_below_what_a_float_holds_sorts_as_a_small_number(visit: Visit) -> None:
    page = visit("report")
    place = f"{button('Rounds', 'Loss')}.parentNode.cellIndex"
    cell = f"document.querySelector('table[aria-label=Rounds]').tBodies[0].rows[2].cells[{place}]"
    page.evaluate(f"{cell}.textContent = '< 1e-300'")
    page.click(button("Rounds", "Loss"))
    assert column(page, "Rounds", "Loss")[0] == "< 1e-300"


@pytest.mark.parametrize("key", ["Enter", " "])
def test_keys_sort_and_leave_the_focus_where_it_is(visit: Visit, key: str) -> None:
    page = visit("report")
    page.evaluate(f"{button('Rounds', 'Outcome')}.focus()")
    page.press("Tab")
    title = page.evaluate("document.activeElement.textContent")
    assert title == "Silos in the sum"
    page.press(key)
    assert sorted_by(page, "Rounds", title) == "ascending"
    assert column(page, "Rounds", title)[0].startswith("3 of 4; without")
    assert page.evaluate("document.activeElement.textContent") == title


def test_words_sort_as_words_and_the_focus_can_be_seen(visit: Visit) -> None:
    page = visit("report")
    written = column(page, "Plan", "What")
    page.click(button("Plan", "What"))
    assert column(page, "Plan", "What") == sorted(written, key=str.lower) != written
    page.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_table_of_one_row_has_nothing_to_sort(visit: Visit) -> None:
    counts: list[Any] = visit("report").evaluate(
        "[...document.querySelectorAll('table')].map((table) => "
        "[table.tBodies[0].rows.length, table.querySelectorAll('th button').length])"
    )
    assert all((buttons > 0) == (rows > 1) for rows, buttons in counts)
    assert len(counts) >= 8


def test_refused_combinations_of_the_explorer_stay_last(visit: Visit) -> None:
    page, title = visit("explorer"), "noise multiplier"
    for _ in range(2):
        page.click(button("All combinations", title))
        cells = column(page, "All combinations", title)
        numbers = [float(cell) for cell in cells if cell]
        assert numbers == sorted(numbers, reverse=sorted_by(page, "All combinations", title) == "descending")
        assert 0 < len(numbers) < len(cells)
        assert cells[len(numbers) :] == [""] * (len(cells) - len(numbers))
