"""The report of a short run and the explorer around the example, and a browser to open them in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config
from discreet.engines.local import prepare, run
from discreet.report import write_report
from discreet.report.exploration import explore
from discreet.report.explorer import render
from tests.browser.chrome import EXECUTABLE, Browser, Page

ROOT = Path(__file__).parents[2]
ARTEFACTS = ROOT / "build" / "browser"
PAGES = ("report", "explorer")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The two pages by name."""
    folder = tmp_path_factory.mktemp("pages")
    prepared = prepare(load_config(ROOT / "examples" / "heart.toml"))
    explorer = folder / "explorer.html"
    explorer.write_text(render(explore(prepared.config, prepared.plan)), encoding="utf-8")
    short = prepared.config.training.model_copy(update={"rounds": 4})
    result = run(prepared.config.model_copy(update={"training": short}), folder / "run")
    return {"report": write_report(result.directory.path), "explorer": explorer}


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests; skips where there is none."""
    if EXECUTABLE is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, files: dict[str, Path]) -> Iterator[Callable[..., Page]]:
    """Opens a page by name in a new tab, which is closed after the test."""
    opened: list[Page] = []

    def go(name: str, **settings: Any) -> Page:
        opened.append(Page(browser, files[name], **settings))
        return opened[-1]

    yield go
    for page in opened:
        page.close()
