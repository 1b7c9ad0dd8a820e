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


@pytest.mark.parametrize(
    ("kind", "forked"), [(TaskType.CLIENT_APP, True), (TaskType.SERVER_APP, False)], ids=str
)
def test_a_client_app_is_forked_with_flowers_own_arguments_and_nothing_else_is(
    monkeypatch: pytest.MonkeyPatch, kind: Any, forked: bool
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(subprocess_executor, "subprocess", SimpleNamespace(Popen=resident._start_app))
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: made.append((False, command)))
    monkeypatch.setattr(
        multiprocessing,
        "Process",
        lambda target, args: SimpleNamespace(
            start=lambda: made.append((target is resident._client_app, *args))
        ),
    )
    spec = ExecutionSpec(kind, "127.0.0.1:9", "secret", True, None, False, 1, False, 1)
    subprocess_executor.SubprocessExecutor().launch(spec)
    ((was_forked, command),) = made
    assert was_forked is forked
    assert command[0] == subprocess_executor.TASK_TYPE_TO_COMMAND[kind]
    assert command[command.index("--token") + 1] == "secret"


def test_a_program_is_run_by_its_name(capfd: pytest.CaptureFixture[str]) -> None:
    assert resident._start_superexec([resident._SUPEREXEC, "--help"]).wait() == 0
    assert f"usage: {resident._SUPEREXEC}" in capfd.readouterr().out
    supernode = [sys.executable, "-P", resident.__file__, resident._SUPERNODE, "--version"]
    assert subprocess.run(supernode, check=False).returncode == 0
    assert "Flower version" in capfd.readouterr().out
