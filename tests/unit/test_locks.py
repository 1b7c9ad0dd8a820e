"""The lock files name the versions of the constraints, each with hashes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def versions(text: str) -> dict[str, str]:
    """Names and versions; names as PyPI compares them."""
    found = re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", text, flags=re.M)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in found}


@pytest.mark.parametrize("which", ["", "-flower"])
def test_a_lock_has_every_pinned_version_but_torch_and_nothing_else(which: str) -> None:
    pinned = versions((ROOT / f"constraints{which}.txt").read_text())
    assert pinned.pop("torch") == "2.13.0"
    assert len(pinned) > 80
    assert versions((ROOT / f"requirements{which}.lock").read_text()) == pinned


@pytest.mark.parametrize("which", ["", "-flower"])
def test_every_entry_of_a_lock_has_a_hash(which: str) -> None:
    text = (ROOT / f"requirements{which}.lock").read_text()
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.M)[1:]
    assert len(entries) > 80
    assert [one.split()[0] for one in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", one)] == []


def test_the_container_is_installed_from_the_lock() -> None:
    made = (ROOT / "deploy" / "container" / "Containerfile").read_text()
    assert "--require-hashes -r requirements-flower.lock" in made
