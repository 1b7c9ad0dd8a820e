"""axe-core finds nothing wrong with any page, narrow or wide, light or dark.

axe-core (MPL-2.0) is not part of this repository: ``make browser`` fetches the version in ``axe.txt``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.chrome import Page

AXE = Path(__file__).parents[2] / "build" / "axe" / "axe_playwright_python" / "axe.min.js"


@pytest.mark.slow
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not here: make browser")
@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["report", "explorer", "owner", "answers"])
def test_axe_finds_no_violation(visit: Callable[..., Page], name: str, width: int, dark: bool) -> None:
    page = visit(name, width=width, dark=dark)
    # Hundreds of rows are alike, and axe looks at every cell: some of each kind will do.
    page.evaluate(
        "[...document.querySelectorAll('tbody tr')].forEach((row, n) => n % 40 && n > 80 && row.remove())"
    )
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run().then(({violations, passes}) => ({passes: passes.length, violations: violations.map("
        "({id, impact, nodes}) => `${impact}: ${id}, ${nodes[0].html}`)}))"
    )
    assert found["violations"] == []
    assert found["passes"] > 20
