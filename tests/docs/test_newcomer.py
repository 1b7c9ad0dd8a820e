"""The newcomer's path is as short as the pages say, and can be walked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks

ROOT = Path(__file__).parents[2]


def test_five_commands_lead_from_messy_tables_to_predictions_and_an_exported_model() -> None:
    page = (ROOT / "docs" / "tutorial" / "own-csv.md").read_text(encoding="utf-8")
    path = page[: page.index("\n## ")]
    lines = "".join(block.text for block in blocks(path) if block.language == "sh").splitlines()
    assert "five commands" in path
    assert [line.split()[1] for line in lines[1:]] == ["look", "plan", "run", "predict", "export"]


@pytest.mark.slow
def test_the_tutorials_commands_run_one_after_the_other() -> None:
    command = [sys.executable, str(ROOT / "bench" / "newcomer.py"), "--tutorial-only"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "from messy tables to predictions and an exported model, in 5 commands" in ended.stdout
