"""How long report and explorer take to open in headless Chromium, from navigation to a finished page.

    python bench/browser.py [--repeats 10]

Prints the median of each page in milliseconds; exit code 1 if one is a second or more.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from discreet.config import load_config  # noqa: E402
from discreet.engines.local import prepare, run  # noqa: E402
from discreet.report import write_report  # noqa: E402
from discreet.report.exploration import explore  # noqa: E402
from discreet.report.explorer import render  # noqa: E402
from tests.browser.chrome import EXECUTABLE, Browser, Page  # noqa: E402 (found in the repository)

LIMIT_MILLISECONDS = 1000.0
# From the start of the navigation until the load event has been handled, by the browser's own clock.
TAKEN = "(([entry]) => entry.loadEventEnd - entry.startTime)(performance.getEntriesByType('navigation'))"
SETTLED = "new Promise((resume) => setTimeout(resume, 0))"


def pages(folder: Path) -> list[Path]:
    """Writes the report of the whole example and the explorer around it."""
    prepared = prepare(load_config(ROOT / "examples" / "heart.toml"))
    explorer = folder / "explorer.html"
    explorer.write_text(render(explore(prepared.config, prepared.plan)), encoding="utf-8")
    return [write_report(run(prepared.config, folder / "run").directory.path), explorer]


def main() -> None:
    """Prints one line a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    repeats = parser.parse_args().repeats
    if EXECUTABLE is None:
        sys.exit("Chromium must be installed: apt-get install chromium")
    slow = False
    with tempfile.TemporaryDirectory() as name, Browser(Path(name) / "profile") as browser:
        for file in pages(Path(name)):
            taken = []
            for _ in range(repeats):
                page = Page(browser, file)
                page.evaluate(SETTLED)
                taken.append(float(page.evaluate(TAKEN)))
                page.close()
            median = statistics.median(taken)
            slow |= median >= LIMIT_MILLISECONDS
            size = file.stat().st_size / 1000
            print(f"{file.stem}: {median:.0f} ms to open, slowest {max(taken):.0f} ms, {size:.0f} kB")
    sys.exit(slow)


if __name__ == "__main__":
    main()
