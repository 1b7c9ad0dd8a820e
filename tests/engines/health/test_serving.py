"""The commands as processes: a log in JSON, metrics at a port of this machine, an end by signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.silo import silo as silo_app
from discreet.errors import ConfigurationError
from discreet.silo.custody import require_custody
from discreet.silo.policy import Policy
from tests.engines.conftest import SmallConsortium
from tests.unit.health.exposition_text import parse

NAME = "hungary"


@contextmanager
def running(*arguments: Path | str) -> Iterator[Popen[str]]:
    """Starts the command, and ends it in any case."""
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def end(process: Popen[str]) -> tuple[int, str]:
    process.send_signal(signal.SIGTERM)
    _, rest = process.communicate(timeout=60)
    return process.returncode, rest


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=20) as response:  # noqa: S310 (our own address)
        return response.read().decode()


def test_a_silo_serves_metrics_and_writes_json_lines(consortium: SmallConsortium, short_folder: Path) -> None:
    policy = consortium.folder.policy(NAME)
    consortium.silos[consortium.node(NAME)].close()
    with running(
        "silo", "serve", policy, "--metrics", "127.0.0.1:0", "--socket", short_folder / "silo.sock"
    ) as process:
        lines: list[Any] = []
        while not lines or "listens at" not in lines[-1]["event"]:
            line = process.stderr.readline()
            assert line.startswith("{"), line + process.stderr.read()
            lines.append(json.loads(line))
        (base,) = [
            line["event"].removeprefix("metrics at ").removesuffix("/metrics")
            for line in lines
            if line["event"].startswith("metrics at ")
        ]
        assert base.startswith("http://127.0.0.1:")
        health = json.loads(get(f"{base}/healthz"))
        assert (health["status"], health["silo"], health["training"]) == ("ok", NAME, False)
        page = parse(get(f"{base}/metrics"))
        assert page.values()["discreet_silo_epsilon_charged", ()] == 0.0
        status = CliRunner().invoke(silo_app, ["status", str(policy), "--json"])
        assert json.loads(status.output)["serving"] is True
        assert end(process)[0] == 0


def test_the_policy_that_was_checked_is_the_one_that_is_served(
    consortium: SmallConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = consortium.folder.policy(NAME)
    consortium.silos[consortium.node(NAME)].close()
    served = []

    def check_and_exchange(path: Path, rules: Policy, *, shared_machine: bool) -> None:
        require_custody(path, rules, shared_machine=shared_machine)
        path.write_text(path.read_text().replace(NAME, "another"))

    monkeypatch.setattr("discreet.silo.hardening.harden", lambda: ())
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr("discreet.silo.custody.require_custody", check_and_exchange)
    monkeypatch.setattr("discreet.silo.service.serve", lambda silo, *_, **__: served.append(silo.name))
    result = CliRunner().invoke(silo_app, ["serve", str(policy)])
    assert result.exception is None
    assert NAME not in policy.read_text()
    assert served == [NAME]


def test_a_servers_metrics_follow_its_folder(consortium: SmallConsortium) -> None:
    with running(
        "consortium", "metrics", consortium.folder.server.path, "--listen", "127.0.0.1:0"
    ) as process:
        url = process.stderr.readline().strip().removeprefix("metrics at ")
        before = parse(get(url)).families["discreet_run_state"].samples
        assert before[("state", "not started"),] == 1.0
        consortium.folder.server.outcome.write_text('{"status": "stopped", "error": "why"}')
        after = parse(get(url)).families["discreet_run_state"].samples
        assert after[("state", "stopped"),] == 1.0
        assert end(process) == (0, "")


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:99999", "example.org:80"])
def test_a_bad_address_is_refused_before_anything_is_opened(
    consortium: SmallConsortium, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a process gives up by it, it never gets back: later tests run in this one.
    monkeypatch.setattr("discreet.silo.hardening.harden", lambda: ())
    policy = consortium.folder.policy(NAME)
    result = CliRunner().invoke(silo_app, ["serve", str(policy), "--metrics", address])
    assert isinstance(result.exception, ConfigurationError)
    assert "--metrics must be" in str(result.exception)
    assert not (consortium.folder.silo(NAME) / "silo.sock").exists()
