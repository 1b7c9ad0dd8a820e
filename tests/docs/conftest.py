"""The repository, its pages, and a way to run what they say."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with examples and source, whose bundled table one reads; a page's commands run here."""
    for name in ("examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Callable[[str], int]:
    """Runs a shell block and returns its exit code.

    A plain ``discreet …`` line runs in this process, since each new one would load torch again; any other
    line goes to bash. The block ends at the first line that fails.
    """

    def run(text: str) -> int:
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["PYTHONPATH=."]:
                monkeypatch.syspath_prepend(folder)
                words = words[1:]
            for_bash = {"|", "2>", "<", "&&"} & set(words) or any(sign in line for sign in ("$(", "*"))
            plain = words[:1] == ["discreet"] and not for_bash
            code = _in_process(words, monkeypatch) if plain else _in_bash(line, folder)
            if code:
                return code
        return 0

    return run


def _in_process(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs one command; a last ``> FILE`` takes its output."""
    *words, sign, file = words if ">" in words else [*words, "", ""]
    monkeypatch.setattr(sys, "argv", words)
    printed, code = io.StringIO(), 0
    with contextlib.redirect_stdout(printed):
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
    if sign:
        Path(file).write_text(printed.getvalue(), encoding="utf-8")
    return code


def _in_bash(line: str, folder: Path) -> int:
    command = ["bash", "-o", "pipefail", "-c", line]
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return ended.returncode
