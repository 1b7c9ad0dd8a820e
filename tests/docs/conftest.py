"""The repository, its pages, and a way to run what they say."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.pasted import in_bash, in_process, program

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

    A plain ``discreet …`` or ``python FILE …`` line runs in this process, since each new one would load
    torch again; any other line goes to bash, which asks this process for each ``discreet …`` in it unless
    its errors are kept. The block ends at the first line that fails.
    """

    def run(text: str) -> int:
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["PYTHONPATH=."]:
                monkeypatch.syspath_prepend(folder)
                words = words[1:]
            for_bash = {"|", "2>", "<", "&&"} & set(words) or any(sign in line for sign in ("$(", "*"))
            if words[:1] == ["discreet"] and not for_bash:
                code = in_process(words, monkeypatch)
            elif words[:1] == ["python"] and not for_bash:
                code = program(words[1:], monkeypatch)
            elif "2>" in words:
                code = subprocess.run(
                    ["/bin/bash", "-o", "pipefail", "-c", line], capture_output=True, check=False
                ).returncode
            else:
                code = in_bash(line, folder, monkeypatch)
            if code:
                return code
        return 0

    return run
