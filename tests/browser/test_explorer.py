"""The explorer's controls change its figures and its chart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.chrome import Page

Visit = Callable[..., Page]


def turn(page: Page, control: str, value: int) -> None:
    """Chooses an option as a reader does."""
    page.evaluate(
        f"(() => {{ const c = document.getElementById('{control}'); c.value = '{value}';"
        " c.dispatchEvent(new Event('change')); })()"
    )


def text(page: Page, element: str) -> str:
    """The text of an element by its id."""
    return str(page.evaluate(f"document.getElementById('{element}').textContent"))


def test_the_config_itself_is_shown_first(visit: Visit) -> None:
    page = visit("explorer")
    assert text(page, "figure-epsilon") == "1.000"
    assert text(page, "figure-delta") == "1e-5"
    assert text(page, "judgement").startswith("moderate: a 50 % guess whether one record was used")
    assert page.evaluate("document.querySelectorAll('#chart circle').length") == 5


def test_an_axis_is_labelled_exactly(visit: Visit) -> None:
    page = visit("explorer")
    turn(page, "measure", 0)
    ticks = page.evaluate(
        "[...document.querySelectorAll('#chart text')].slice(0, 6).map((t) => t.textContent)"
    )
    assert ticks == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_noise_grows_with_the_square_root_of_the_rounds(visit: Visit) -> None:
    page = visit("explorer")
    turn(page, "set-0", 0)
    few = float(text(page, "figure-noise_multiplier"))
    turn(page, "set-0", 4)
    many = float(text(page, "figure-noise_multiplier"))
    assert many / few == pytest.approx(4.0, rel=0.05), "sixteen times the rounds"


def test_a_refused_combination_says_why(visit: Visit) -> None:
    page = visit("explorer")
    turn(page, "set-4", 2)
    assert text(page, "refused").startswith("Refused: 'aggregation.min_survivors'")
    assert not page.evaluate("document.getElementById('refused').hidden")
    turn(page, "set-4", 0)
    assert page.evaluate("document.getElementById('refused').hidden")


def test_the_chart_shows_what_is_chosen_and_says_it(visit: Visit) -> None:
    page = visit("explorer")
    turn(page, "along", 3)
    turn(page, "measure", 6)
    assert text(page, "chart-title") == "bytes a silo and round, along silos"
    assert "16: " in page.evaluate("document.getElementById('chart').getAttribute('aria-label')")
