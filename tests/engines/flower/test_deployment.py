"""The parts of a deployment on this machine: processes, certificates, ports, and what `--kill` means."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from discreet.engines.flower.certificates import make_certificates, make_node_key
from discreet.engines.flower.up import Killing
from discreet.engines.flower.up.deployment import Settings, require_flower, start
from discreet.engines.flower.up.descendants import descendants
from discreet.engines.flower.up.processes import Children
from discreet.errors import ConfigurationError

PARENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""


def test_flower_missing_is_one_clear_line(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(ConfigurationError, match=r"pip install 'discreet\[flower\]'"):
        require_flower()


def test_a_port_in_use_is_named(tmp_path, consortium):
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
def test_a_kill_that_makes_no_sense_is_refused(consortium, text, words):
    with pytest.raises(ConfigurationError, match=words):
        Killing.parse(text, consortium.plan)


def test_a_kill_names_a_silo_by_name_or_number(consortium):
    assert Killing.parse("silo-2@round-3", consortium.plan) == Killing("hungary", 3)
    assert Killing.parse("hungary@round-3", consortium.plan) == Killing("hungary", 3)


def test_children_end_with_their_block_grandchildren_too(tmp_path):
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        child = children.start("parent", [sys.executable, "-c", PARENT])
        deadline = time.monotonic() + 30.0
        while len(group(child.process.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(group(child.process.pid)) == 2
    assert group(child.process.pid) == []


def test_a_grandchild_that_left_the_group_ends_too(tmp_path):
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        child = children.start(
            "parent", [sys.executable, "-c", PARENT.replace('600)"])', '600)"], start_new_session=True)')]
        )
        deadline = time.monotonic() + 30.0
        while not (strays := descendants(child.process.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(strays) == 1
        assert group(child.process.pid) == [child.process.pid]
    assert not any(process.alive for process in strays)


def group(number):
    """Returns the living processes of a group."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == number and fields[0] != "Z":
                members.append(int(entry.name))
    return members


def test_a_child_that_ignores_terminate_is_killed(tmp_path):
    with Children(tmp_path / "logs", dict(os.environ)) as children:
        child = children.start("stubborn", [sys.executable, "-c", STUBBORN])
        while "up" not in child.log.read_text():
            time.sleep(0.05)
    assert child.process.returncode == -signal.SIGKILL


def test_certificates_verify_this_machine_and_keys_are_private(tmp_path):
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
