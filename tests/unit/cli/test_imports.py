"""Small commands start without the libraries that train: a key is made in the blink of an eye."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "scipy", "matplotlib"}
PROGRAM = """
import sys
from discreet.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(*sorted({heavy} & set(sys.modules)), file=sys.stderr)
"""


def loaded(*words: str) -> set[str]:
    """Returns which of the heavy libraries a command imports; it must succeed."""
    program = PROGRAM.format(heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["silo", "--help"], ["silo", "keygen", "--help"]], ids=" ".join
)
def test_help_loads_no_heavy_library(words: list[str]) -> None:
    assert loaded(*words) == set()


def test_a_key_is_made_without_any_heavy_library(tmp_path: Path) -> None:
    assert loaded("silo", "keygen", str(tmp_path / "silo.key")) == set()
    assert (tmp_path / "silo.key").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--help"],
        ["account", "--help"],
        ["account", "--noise-multiplier", "1", "--sampling", "none", "--steps", "10", "--delta", "1e-5"],
        ["new", "--help"],
        ["reproduce"],
        ["doctor", "--help"],
    ],
    ids=" ".join,
)
def test_what_trains_nothing_loads_no_torch(words: list[str]) -> None:
    assert "torch" not in loaded(*words)
