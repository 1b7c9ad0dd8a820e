"""What lines for bash, whose commands run in the process of the tests, come to where a command fails."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support import pasted


def test_an_error_of_a_command_ends_the_line_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bash waits for the answer of the command that raised; it must not be waited for in turn."""

    def raises(*_: object) -> int:
        raise RuntimeError("a fault of ours")

    def late(*_: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(pasted, "in_process", raises)
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    try:
        with pytest.raises(RuntimeError, match="a fault of ours"):
            pasted.in_bash("discreet check; discreet report", tmp_path, monkeypatch)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
