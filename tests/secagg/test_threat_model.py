"""docs/threat-model.md: its diagrams follow from the tables, and its checklist from the tests."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "threat-model.md"

pytestmark = pytest.mark.skipif(
    not DOCUMENT.exists(), reason="the documentation is not part of this installation"
)


def test_diagrams_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("secagg_diagrams", ROOT / "docs" / "secagg_diagrams.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    text = DOCUMENT.read_text()
    assert script.updated(text) == text, "run python docs/secagg_diagrams.py"
    assert text.count("```mermaid") == 5


def test_every_line_of_the_checklist_is_a_test() -> None:
    listed = {int(number) for number in re.findall(r"^\| (\d+) \|", DOCUMENT.read_text(), re.MULTILINE)}
    files = list(Path(__file__).parent.rglob("test_*.py"))
    sources = "\n".join(file.read_text() for file in files)
    named = {int(number) for number in re.findall(r"def test_(\d\d)_", sources)}
    described = {int(number) for number in re.findall(r'"""Check (\d+)', sources)}
    assert listed == set(range(1, 24))
    assert listed <= named | described
