"""The pages in a real browser: no console message, no overflow at 360 px, controls and sorting work.

Debian's Chromium is used where it is installed; elsewhere these tests are skipped.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config
from discreet.engines.local import Prepared, prepare, run
from discreet.explorer import explore, render
from discreet.report import write_report

HEART = Path(__file__).parents[2] / "examples" / "heart.toml"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--allow-file-access-from-files",
         "--enable-logging=stderr", "--virtual-time-budget=4000")  # fmt: skip
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

# The page runs inside a frame of a phone's width; this outer page acts as its reader.
HARNESS = """<!DOCTYPE html><pre id="out"></pre>
<iframe id="phone" src="page.html" width="360" height="740"></iframe>
<script>
document.getElementById("phone").addEventListener("load", (event) => {
  const page = event.target.contentDocument;
  const found = {};
  const figure = (key) => page.getElementById(`figure-${key}`).textContent;
  const column = (n) => [...page.querySelectorAll("#table tbody tr")]
    .map((row) => row.cells[n] ? Number(row.cells[n].textContent) : null);
  const turn = (id, value) => {
    const control = page.getElementById(id);
    control.value = value;
    control.dispatchEvent(new event.target.contentWindow.Event("change"));
  };
  found.width = page.documentElement.scrollWidth;
  found.epsilon = figure("epsilon");
  found.points = page.querySelectorAll("#chart circle").length;
  turn("set-0", "0");
  found.noiseAtFewRounds = Number(figure("noise_multiplier"));
  turn("set-0", "4");
  found.noiseAtManyRounds = Number(figure("noise_multiplier"));
  turn("set-4", "2");
  found.refused = page.getElementById("refused").textContent;
  found.refusedShown = !page.getElementById("refused").hidden;
  turn("set-4", "0");
  found.refusedHidden = page.getElementById("refused").hidden;
  turn("along", "3");
  turn("measure", "5");
  found.title = page.getElementById("chart-title").textContent;
  found.label = page.getElementById("chart").getAttribute("aria-label");
  const button = page.querySelectorAll("#table th button")[6];
  button.click();
  found.rising = column(6).slice(0, 50);
  found.sorted = button.parentNode.getAttribute("aria-sort");
  found.last = column(6).at(-1);
  button.click();
  found.falling = column(6).slice(0, 50);
  document.getElementById("out").textContent = JSON.stringify(found);
});
</script>
"""


REPORT_HARNESS = """<!DOCTYPE html><pre id="out"></pre>
<iframe id="phone" src="report.html" width="360" height="740"></iframe>
<script>
document.getElementById("phone").addEventListener("load", (event) => {
  const page = event.target.contentDocument;
  const found = {width: page.documentElement.scrollWidth, rows: page.querySelectorAll("tbody tr").length};
  document.getElementById("out").textContent = JSON.stringify(found);
});
</script>
"""


def browse(folder: Path, *arguments: str) -> tuple[str, list[str]]:
    """Opens a page and returns its document and the console's lines."""
    command = [str(CHROMIUM), *QUIET, f"--user-data-dir={folder / 'profile'}", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return ended.stdout, [line for line in ended.stderr.splitlines() if "CONSOLE" in line]


def read_through(folder: Path, harness: str) -> tuple[dict[str, Any], list[str]]:
    """Returns what a harness found in its page, and what the console said."""
    (folder / "harness.html").write_text(harness, encoding="utf-8")
    document, console = browse(folder, "--dump-dom", f"file://{folder}/harness.html")
    told = re.search(r'<pre id="out">(.*)</pre>', document)
    assert told, document[:500]
    return json.loads(told[1]), console


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    """The example, planned."""
    return prepare(load_config(HEART))


@pytest.fixture(scope="module")
def folder(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the explorer around the example, and the report of a short run of it."""
    folder = tmp_path_factory.mktemp("browser")
    explorer = render(explore(prepared.config, prepared.plan, prepared.model))
    (folder / "page.html").write_text(explorer, encoding="utf-8")
    short = prepared.config.training.model_copy(update={"rounds": 4})
    report = write_report(
        run(prepared.config.model_copy(update={"training": short}), folder / "run").directory.path
    )
    (folder / "report.html").write_bytes(report.read_bytes())
    return folder


@pytest.fixture(scope="module")
def visit(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What the reader of the explorer found, and what the console said."""
    return read_through(folder, HARNESS)


def test_the_console_stays_silent(visit: tuple[dict[str, Any], list[str]]) -> None:
    assert visit[1] == []


def test_a_phone_need_not_scroll_sideways(visit: tuple[dict[str, Any], list[str]]) -> None:
    assert visit[0]["width"] <= 360


def test_controls_change_figures_and_chart(visit: tuple[dict[str, Any], list[str]]) -> None:
    found = visit[0]
    assert found["epsilon"] == "1.000"
    assert found["points"] == 5
    # Noise grows with the square root of the rounds: sixteen times the rounds, four times the noise.
    assert found["noiseAtManyRounds"] / found["noiseAtFewRounds"] == pytest.approx(4.0, rel=0.05)
    assert found["refusedShown"]
    assert found["refused"].startswith("Refused: 'aggregation.min_survivors'")
    assert found["refusedHidden"]
    assert found["title"] == "bytes a silo and round, along silos"
    assert "16: " in found["label"]


def test_a_title_sorts_the_table_both_ways(visit: tuple[dict[str, Any], list[str]]) -> None:
    found = visit[0]
    assert found["sorted"] == "ascending"
    assert found["rising"] == sorted(found["rising"])
    assert found["falling"] == sorted(found["falling"], reverse=True)
    assert found["falling"][0] > found["rising"][0]
    assert found["last"] is None, "refused combinations stay last"


def test_the_report_fits_a_phone_and_the_console_stays_silent(folder: Path) -> None:
    found, console = read_through(folder, REPORT_HARNESS)
    assert found["width"] <= 360
    assert found["rows"] > 10
    assert console == []
    assert (folder / "report.html").stat().st_size < 400_000


@pytest.mark.parametrize("name", ["page", "report"])
def test_a_page_prints(folder: Path, name: str) -> None:
    browse(folder, f"--print-to-pdf={folder / name}.pdf", f"file://{folder}/{name}.html")
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
