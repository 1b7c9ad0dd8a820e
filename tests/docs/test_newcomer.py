"""The newcomer's path is as short as the pages say, and can be walked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import blocks

ROOT = Path(__file__).parents[2]


def test_five_commands_lead_from_a_table_to_a_private_model() -> None:
    page = (ROOT / "docs" / "tutorial" / "own-csv.md").read_text(encoding="utf-8")
    commands = next(block.text for block in blocks(page) if block.language == "sh").strip().splitlines()
    assert "Five commands" in page
    assert [line.split()[1] for line in commands] == ["init", "plan", "run", "verify", "report"]


@pytest.mark.slow
def test_the_tutorials_commands_run_one_after_the_other() -> None:
    command = [sys.executable, str(ROOT / "bench" / "newcomer.py"), "--tutorial-only"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "from a table to a private model, in 5 commands" in ended.stdout
