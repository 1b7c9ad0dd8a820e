"""The page of all systems names only what exists, and gives every row a place or a decision."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")
ROWS = [
    line.strip("| ").split(" | ")
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| described there")
]


def test_every_file_command_and_link_exists() -> None:
    words = re.findall(r"`([^`]+)`", PAGE)
    paths = [word.removeprefix("python ") for word in words if "/" in word]
    commands = [word.split()[2] for word in words if word.startswith("discreet reproduce ")]
    assert len(paths) > 40
    assert len(commands) > 20
    assert [path for path in paths if not (ROOT / path).is_file()] == []
    folders = [ROOT / "reproductions" / name / "reproduction.py" for name in commands]
    assert [folder for folder in folders if not folder.is_file()] == []
    for target in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (ROOT / "docs" / target).is_file(), target


def test_every_number_of_a_decision_is_that_of_its_file() -> None:
    for number, file in re.findall(r"\[ADR (\d+)\]\(adr/(\d+)-", PAGE):
        assert int(number) == int(file)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_not_here_says_why(row: list[str]) -> None:
    _, here, came_of_it = row
    assert here != "–" or "ADR" in came_of_it
    assert "not built" not in came_of_it or "ADR" in came_of_it or here.startswith("`python ")


def test_every_reproduction_of_a_paper_is_named() -> None:
    found = {path.parent.name for path in (ROOT / "reproductions").glob("p*/reproduction.py")}
    assert found - set(re.findall(r"discreet reproduce ([\w-]+)", PAGE)) == set()
