"""Flower's SuperNode in a rehearsal: what is replaced in it is there, and is used as it is replaced."""

from __future__ import annotations

import inspect
import multiprocessing
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("flwr")

from flwr.supercore.constant import TaskType
from flwr.supercore.superexec.executor import subprocess_executor
from flwr.supercore.superexec.executor.types import ExecutionSpec
from flwr.supernode import start_client_internal

from discreet.engines.flower.up import resident


def test_flower_sleeps_and_starts_programs_by_the_names_that_are_replaced() -> None:
    assert start_client_internal.time is time
    assert start_client_internal.subprocess is subprocess
    text = inspect.getsource(start_client_internal)
    assert "time.sleep(3)" in text
    assert f'command = ["{resident._SUPEREXEC}"]' in text
    assert "subprocess.Popen(command)" in text


@pytest.mark.parametrize("suppressed", [True, False], ids=["silent", "loud"])
@pytest.mark.parametrize(
    ("kind", "forked"), [(TaskType.CLIENT_APP, True), (TaskType.SERVER_APP, False)], ids=str
)
def test_a_client_app_is_forked_with_flowers_own_arguments_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, kind: Any, forked: bool, suppressed: bool
) -> None:
    made: list[Any] = []
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    replaced = SimpleNamespace(Popen=resident._start_app, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(subprocess_executor, "subprocess", replaced)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **asked: made.append((False, command, asked)))
    monkeypatch.setattr(
        multiprocessing,
        "Process",
        lambda target, args: SimpleNamespace(
            start=lambda: made.append((target is resident._client_app, *args))
        ),
    )
    spec = ExecutionSpec(kind, "127.0.0.1:9", "secret", True, None, False, 1, suppressed, 1)
    subprocess_executor.SubprocessExecutor().launch(spec)
    ((was_forked, command, asked),) = made
    assert was_forked is forked
    assert asked == (silent if suppressed else {})
    assert command[0] == subprocess_executor.TASK_TYPE_TO_COMMAND[kind]
    assert command[command.index("--token") + 1] == "secret"


_SAYS_TWICE = """
import os, runpy, subprocess, sys, types
cli = types.SimpleNamespace(flwr_clientapp=lambda: [os.write(1, b"out "), os.write(2, b"err ")])
resident = sys.argv[1]
sys.modules |= dict.fromkeys(("flwr", "flwr.supernode", "flwr.supernode.cli"), cli)
for asked in ({}, {"stderr": subprocess.DEVNULL}):
    runpy.run_path(resident)["_client_app"](["flwr-clientapp"], asked)
"""


def test_a_forked_client_app_says_nothing_where_flower_asks_for_silence() -> None:
    command = [sys.executable, "-c", _SAYS_TWICE, resident.__file__]
    heard = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    assert heard.stdout == "out err out "


def test_a_program_is_run_by_its_name(capfd: pytest.CaptureFixture[str]) -> None:
    started = resident._start_superexec([resident._SUPEREXEC, "--help"])
    # Without it the fork server would import from the folder that it was started in.
    assert "-P" in started.args  # type: ignore[operator]  # a list, as it was given
    assert started.wait() == 0
    assert f"usage: {resident._SUPEREXEC}" in capfd.readouterr().out
    supernode = [sys.executable, "-P", resident.__file__, resident._SUPERNODE, "--version"]
    assert subprocess.run(supernode, check=False).returncode == 0
    assert "Flower version" in capfd.readouterr().out
