"""Real SuperLink, SuperNodes and silos on loopback: equal bytes, and nothing left running."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path

import pytest

from discreet.engines.flower.up import Killing, bring_up
from discreet.engines.flower.up.certificates import make_certificates, make_node_key
from discreet.engines.flower.up.deployment import Settings, require_flower, start
from discreet.engines.flower.up.descendants import descendants
from discreet.engines.flower.up.processes import Children
from discreet.engines.local import run
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


def three_silos(rounds, **extra):
    from discreet.config import parse_config

    return parse_config(
        {
            "name": "three",
            "data": {
                "source": "digits",
                "record_capacity": 700,
                "partition": {"kind": "iid", "silos": 3},
            },
            "training": {"rounds": rounds, "local": {"kind": "single-step"}},
            "privacy": {"epsilon": 3.0, "delta": 1e-5, "clip_norm": 1.0},
            "run": {"seed": 3, "evaluate": False, **extra},
        }
    )


@pytest.mark.slow
def test_three_supernodes_give_the_bytes_of_the_local_engine(tmp_path):
    pytest.importorskip("flwr")
    config = three_silos(2)
    run(config, tmp_path / "local")
    done = bring_up(
        config, tmp_path / "up", silos=3, kill=None, port=None, patience_seconds=90.0, announce=print
    )
    assert done.folder.server.run.model.read_bytes() == (
        (tmp_path / "local" / "model.safetensors").read_bytes()
    )
    assert not [path for path in (tmp_path / "up").rglob("*.sock") if path.is_socket()]
    assert nothing_of_ours_runs(tmp_path / "up")


@pytest.mark.slow
def test_a_power_cut_is_survived_and_accounted(tmp_path, small_config):
    pytest.importorskip("flwr")
    done = bring_up(
        small_config(), tmp_path / "up", silos=4, kill="hungary@round-2", port=None,
        patience_seconds=20.0, announce=print,
    )  # fmt: skip
    lines = done.folder.server.run.metrics.read_text().splitlines()
    assert [len(json.loads(line)["survivors"]) for line in lines] == [4, 3, 3]
    assert done.outcome["guarantee"]["epsilon"] < done.plan.spent(3).epsilon


def nothing_of_ours_runs(folder):
    """Says whether no process names our folder in its command line or environment any more."""
    marker = str(folder).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker in (entry / "cmdline").read_bytes():
                    return False
            except OSError:
                continue
    return True


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
