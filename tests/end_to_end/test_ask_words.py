"""What `discreet ask` prints: one question without columns, every note once, answers and not models."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.verify import verify

CONFIG = """
name = "one"
[data]
source = "csv:{folder}/data/"
record_capacity = 90
[[ask]]
kind = "count"
[privacy]
epsilon = 2.0
delta = 1e-5
[run]
seed = 1
"""


def test_a_count_needs_no_column_and_is_printed_in_true_words(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for silo in "abc":
        rows = "\n".join(f"{n},x" for n in range(60))
        (tmp_path / "data" / f"{silo}.csv").write_text(f"patient,what\n{rows}\n")
    (tmp_path / "t.toml").write_text(CONFIG.format(folder=tmp_path))
    found = CliRunner().invoke(app, ["ask", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out")])
    assert found.exit_code == 0, found.output
    whole = " ".join((found.stdout + found.stderr).split())
    assert "anyone who sees the released answers" in whole
    assert "released models" not in whole
    assert whole.count("a.csv: columns that nothing uses: patient, what") == 1
    (row,) = json.loads((tmp_path / "out" / "report.json").read_text())["answers"][0]["rows"]
    assert abs(row[1] - 180) < 60
    told = {finding.subject: finding.detail for finding in verify(tmp_path / "out")}
    assert told["released sum, state"] == "1 numbers, as the ledger names them"
    assert "answers.csv" in next(name for name in told if name.startswith("report.html"))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "public upper bounds on the records of each silo" in page
    assert "released models" not in page


@pytest.mark.parametrize("seed", ["[run]\nseed = 1", ""])
def test_the_report_of_answers_speaks_of_no_model_and_of_no_training(tmp_path: Path, seed: str) -> None:
    (tmp_path / "data").mkdir()
    for silo in "abc":
        (tmp_path / "data" / f"{silo}.csv").write_text("what\n" + "x\n" * 60)
    text = CONFIG.format(folder=tmp_path).replace("[run]\nseed = 1", seed)
    (tmp_path / "t.toml").write_text(text)
    CliRunner().invoke(app, ["ask", str(tmp_path / "t.toml"), "--out", str(tmp_path / "out")])
    page = (tmp_path / "out" / "report.html").read_text()
    # Names of software and of sources are no words about this run.
    body = page.partition("<body>")[2].partition("Digests and signature")[0]
    own = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())
    assert "these answers only" in own
    assert re.findall(r".{30}\b(?:model|training|trained|weights|accura)\w*", own) == []
