"""The parts of a deployment on this machine: processes, certificates, ports, and what `--kill` means."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.flower.certificates import make_certificates, make_node_key
from discreet.engines.flower.up import Killing, deployment
from discreet.engines.flower.up.deployment import Settings, require_flower, start
from discreet.engines.flower.up.keeper import Process, descendants
from discreet.engines.flower.up.processes import Child, Children
from discreet.errors import ConfigurationError
from tests.engines.conftest import SmallConsortium

PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
time.sleep(600)
"""
HOLDER = """
import os, sys, time
from pathlib import Path
from discreet.engines.flower.up.processes import Children
with Children(Path(sys.argv[1]), dict(os.environ)) as children:
    children.start("parent", [sys.executable, "-c", sys.argv[2]])
    time.sleep(600)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""


def checkout(tmp_path: Path, *files: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ((), r"pip install 'discreet\[flower\]'"),
        (("constraints-flower.txt",), r"`make flower`, then \.venv-flower/bin/discreet up"),
        (("constraints-flower.txt", ".venv-flower/bin/discreet"), r"Run: /.*/\.venv-flower/bin/discreet up"),
    ],
    ids=["installed", "checkout", "checkout with the other environment"],
)
def test_flower_missing_is_one_line_with_the_command_that_works(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: tuple[Any, ...], words: str
) -> None:
    checkout(tmp_path, *files)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(
        deployment,
        "__file__",
        str(tmp_path / "src" / "discreet" / "engines" / "flower" / "up" / "deployment.py"),
    )
    with pytest.raises(ConfigurationError, match=words) as refused:
        require_flower()
    assert "\n" not in str(refused.value)


def test_a_port_in_use_is_named(tmp_path: Path, consortium: SmallConsortium) -> None:
    with socket.socket() as taken, Children(tmp_path / "logs", {}) as children:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} must be free.*--port"):
            start(consortium.folder, consortium.plan, children, Settings(tmp_path, port), print)


@pytest.mark.parametrize(
    ("text", "words"),
    [("hungary", "must look like"), ("nobody@round-1", "must name one of"), ("hungary@round-9", "up to 3")],
)
def test_a_kill_that_makes_no_sense_is_refused(consortium: SmallConsortium, text: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Killing.parse(text, consortium.plan)


def test_a_kill_names_a_silo_by_name_or_number(consortium: SmallConsortium) -> None:
    assert Killing.parse("silo-2@round-3", consortium.plan) == Killing("hungary", 3)
    assert Killing.parse("hungary@round-3", consortium.plan) == Killing("hungary", 3)


def start_detached(children: Children) -> tuple[Child, frozenset[Process]]:
    """Starts a program whose own child goes into a session of its own, and returns both."""
    child = children.start("parent", [sys.executable, "-c", PARENT])
    deadline = time.monotonic() + 30.0
    while len(family := descendants(child.process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(family) == 2
    return child, family


def all_end(family: frozenset[Process]) -> bool:
    deadline = time.monotonic() + 30.0
    while any(process.alive for process in family) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(process.alive for process in family)


def test_programs_end_with_their_block_those_that_left_their_session_too(tmp_path: Path) -> None:
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        _, family = start_detached(children)
    assert not any(process.alive for process in family)


def test_what_a_killed_program_started_ends_with_it(tmp_path: Path) -> None:
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        child, family = start_detached(children)
        min(family, key=lambda process: process.started).send(signal.SIGKILL)
        assert child.process.wait(30.0) == 128 + signal.SIGKILL
        assert not any(process.alive for process in family)


def test_programs_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path, PARENT], env=os.environ)
    deadline = time.monotonic() + 60.0
    # A keeper, the program, and what the program started.
    while len(family := descendants(holder.pid)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(family) == 3
    holder.kill()
    holder.wait()
    assert all_end(family)


def test_a_program_that_ignores_terminate_is_killed(tmp_path: Path) -> None:
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        child = children.start("stubborn", [sys.executable, "-c", STUBBORN])
        while "up" not in child.log.read_text():
            time.sleep(0.05)
    assert child.process.returncode == 128 + signal.SIGKILL


def test_a_keeper_that_was_stopped_ends_too(tmp_path: Path) -> None:
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        child, family = start_detached(children)
        os.kill(child.process.pid, signal.SIGSTOP)
    assert not any(process.alive for process in family)


def test_certificates_verify_this_machine_and_keys_are_private(tmp_path: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key
    from cryptography.x509.verification import PolicyBuilder, Store

    files = make_certificates(tmp_path)
    authority = x509.load_pem_x509_certificate(files.authority.read_bytes())
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    verifier = PolicyBuilder().store(Store([authority])).build_server_verifier(x509.DNSName("localhost"))
    assert verifier.verify(certificate, [])[0] == certificate
    public = make_node_key(tmp_path / "node.key")
    assert load_ssh_public_key(public.read_bytes()).key_size == 384
    for path in (files.key, tmp_path / "node.key"):
        assert path.stat().st_mode & 0o077 == 0
