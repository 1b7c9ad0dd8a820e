"""The pages in a real browser: silent, from one file, on a phone, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.chrome import Page

ARTEFACTS = Path(__file__).parents[2] / "build" / "browser"
PHONE, DESK = 360, 1000
# What is left of A4 between the margins of the style sheet, at 96 CSS pixels an inch.
PAPER = int((210 - 2 * 16) / 25.4 * 96)
MOST_BYTES = {
    "report": 400_000,
    "explorer": 500_000,
    "owner": 60_000,
    "additive": 400_000,
    "answers": 200_000,
    "watched": 400_000,
}

Visit = Callable[..., Page]

SHAPES = (
    "[...[...document.querySelectorAll('section')]"
    ".find((part) => part.textContent.startsWith('What the model says')).querySelectorAll('svg')]"
)
# Words and marks that leave their drawing, and words that cover another.
UNCLEAR = """(svg) => {
  const box = svg.getBoundingClientRect();
  const found = (names) => [...svg.querySelectorAll(names)].map((one) => [one, one.getBoundingClientRect()]);
  const words = found('text');
  const outside = [...words, ...found('rect, line, circle, polyline')].filter(([, at]) =>
    at.left < box.left - 1 || at.right > box.right + 1 || at.top < box.top - 1 || at.bottom > box.bottom + 1);
  const covers = (a, b) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
  const covered = words.filter(([, a], place) => words.slice(place + 1).some(([, b]) => covers(a, b)));
  return [...outside, ...covered].map(([one]) => one.outerHTML);
}"""


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["report", "explorer", "owner", "additive", "answers", "watched"])
def test_a_page_is_silent_self_contained_and_as_wide_as_its_window(
    visit: Visit, name: str, width: int, dark: bool
) -> None:
    page = visit(name, width=width, dark=dark)
    assert page.told() == []
    assert page.requests() == [page.address]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (not dark)
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(ARTEFACTS / f"{name}-{width}-{'dark' if dark else 'light'}.png")


@pytest.mark.parametrize("name", ["report", "explorer", "owner", "additive", "answers", "watched"])
def test_a_page_is_small(files: dict[str, Path], name: str) -> None:
    assert files[name].stat().st_size < MOST_BYTES[name]


@pytest.mark.parametrize("name", ["report", "owner", "answers", "watched"])
def test_a_page_fits_on_paper(visit: Visit, name: str) -> None:
    page = visit(name, width=PAPER, media="print", dark=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    widths = page.evaluate("[...document.querySelectorAll('table')].map((table) => table.scrollWidth)")
    assert max(widths) <= page.evaluate("document.body.clientWidth")
    # A reader who prefers the dark does not print it.
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.pdf(ARTEFACTS / f"{name}.pdf")
    assert (ARTEFACTS / f"{name}.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.slow
def test_the_explorer_prints(visit: Visit) -> None:
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    visit("explorer").pdf(ARTEFACTS / "explorer.pdf")
    assert (ARTEFACTS / "explorer.pdf").read_bytes().startswith(b"%PDF")


def test_the_report_refuses_foreign_scripts(visit: Visit) -> None:
    page = visit("report")
    page.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.ran = true';"
        " document.body.append(s); })()"
    )
    assert page.evaluate("window.ran === undefined")
    assert "Content Security Policy" in " ".join(page.told())


@pytest.mark.parametrize("width", [PHONE, 400, 1280])
@pytest.mark.parametrize("name", ["report", "owner", "answers", "watched"])
def test_no_table_is_cut(visit: Visit, name: str, width: int) -> None:
    page = visit(name, width=width)
    page.evaluate("document.querySelectorAll('details').forEach((part) => part.open = true)")
    cut = page.evaluate(
        "[...document.querySelectorAll('.scroll')].flatMap((region) => {"
        " const edge = region.getBoundingClientRect().right + 0.5;"
        " return [...region.querySelectorAll('th, td')].filter((cell) => {"
        "   const range = document.createRange(); range.selectNodeContents(cell);"
        "   return range.getBoundingClientRect().right > edge || cell.scrollWidth > cell.clientWidth + 1; })"
        "  .map((cell) => `${region.getAttribute('aria-label')}: ${cell.textContent}`); })"
    )
    assert cut == []
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(ARTEFACTS / f"{name}-{width}.png")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", ["report", "additive"])
def test_what_the_model_says_is_drawn_inside_its_charts(visit: Visit, name: str, width: int) -> None:
    page = visit(name, width=width)
    assert page.evaluate(f"{SHAPES}.length") == 10
    assert page.evaluate(f"{SHAPES}.flatMap({UNCLEAR})") == []
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(ARTEFACTS / f"{name}-shapes-{width}.png")


@pytest.mark.parametrize("width", [PHONE, 400])
def test_a_phone_shows_each_number_of_a_guarantee_beside_its_title(visit: Visit, width: int) -> None:
    page = visit("report", width=width)
    shown = page.evaluate(
        "[...document.querySelectorAll('[aria-label=\"With secure aggregation\"] td')]"
        ".filter((cell) => cell.getClientRects().length && getComputedStyle(cell).display === 'block')"
        ".map((cell) => getComputedStyle(cell, '::before').content)"
    )
    rows = page.evaluate(
        "document.querySelectorAll('[aria-label=\"With secure aggregation\"] tbody tr').length"
    )
    wanted = ("ε", "δ", "Status", "Judgement")
    # A region and its table have the same name: every cell is found once all the same.
    assert {title: sum(title in text for text in shown) for title in wanted} == dict.fromkeys(wanted, rows)
