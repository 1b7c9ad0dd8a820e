"""Lines for bash whose commands of ours run in this process: each new one would load torch again."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import pytest

from discreet.cli import main

_ROOT = Path(__file__).parents[2]
_FOR_TESTS = {str(_ROOT / each) for each in (".", "bench", "reproductions", "docs/reference", "docs/theory")}
_ASKING = """
discreet() {{
  printf '%s\\0' $# "$@" >&{asked}; read -r code printed <&{answered}; cat "$printed"; return "$code"
}}
"""


def in_process(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs one command; a last ``> FILE`` takes its output."""
    *words, sign, file = words if ">" in words[-2:-1] else [*words, "", ""]
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


def program(words: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs ``python WORDS``: what it prints is printed; it finds no modules by the folders of the tests."""
    with monkeypatch.context() as patch:
        own = [each for each in sys.path if each not in _FOR_TESTS]
        patch.setattr(sys, "path", [str(Path(words[0]).resolve().parent), *own])
        patch.setattr(sys, "argv", words)
        try:
            runpy.run_path(words[0], run_name="__main__")
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def in_bash(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Runs a line in bash, and here what it says after ``discreet``, as bash reads it; errors stay here."""
    (asking, asked), (answered, answering) = os.pipe(), os.pipe()
    command = ["/bin/bash", "-o", "pipefail", "-c", _ASKING.format(asked=asked, answered=answered) + line]
    monkeypatch.chdir(folder)
    with (
        # First, so that its end is awaited last: where a command raises, bash waits for an answer until then.
        subprocess.Popen(command, pass_fds=(asked, answered), stdout=subprocess.DEVNULL) as bash,
        open(asking, "rb") as questions,
        open(answering, "w", encoding="utf-8") as answers,
        tempfile.NamedTemporaryFile() as printed,
    ):
        os.close(asked)
        os.close(answered)
        while count := _until_zero(questions):
            words = [_until_zero(questions) for _ in range(int(count))]
            code = in_process(["discreet", *words, ">", printed.name], monkeypatch)
            print(code, printed.name, file=answers, flush=True)
    return bash.returncode


def _until_zero(file: IO[bytes]) -> str:
    """Returns what stands before the next zero byte; nothing at the end."""
    return b"".join(iter(lambda: file.read(1).strip(b"\0"), b"")).decode()
