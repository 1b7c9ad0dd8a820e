"""Who may open a silo's socket, and where it may lie; with real users in tests/users."""

from __future__ import annotations

import grp
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import ConfigurationError
from discreet.silo.doorway import group_number, listen, why_not


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
        yield made


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who a peer is")
def test_a_peer_of_the_silos_own_user_is_refused_only_where_another_was_meant_to_come() -> None:
    here, there = socket.socketpair(socket.AF_UNIX)
    with here, there:
        assert why_not(here, None) is None
        assert f"process {os.getpid()} runs as" in str(why_not(here, os.getegid()))


def test_another_file_is_never_replaced(listener: socket.socket, tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text("mine")
    with pytest.raises(ConfigurationError, match="must not replace another file"):
        listen(listener, path, None)
    assert path.read_text() == "mine"


def test_a_folder_that_others_may_write_is_refused_with_a_group(
    listener: socket.socket, tmp_path: Path
) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(ConfigurationError, match="Choose another with --socket"):
        listen(listener, tmp_path / "s.sock", os.getegid())
    tmp_path.chmod(0o775)
    with pytest.raises(ConfigurationError, match="chmod go-w"):
        listen(listener, tmp_path / "s.sock", os.getegid())
    assert not (tmp_path / "s.sock").exists()


def test_a_folder_above_that_others_may_write_is_refused_before_anything_is_made(
    listener: Any, tmp_path: Path
) -> None:
    kept, exposed = tmp_path / "kept", tmp_path / "exposed"
    kept.mkdir(mode=0o750)
    exposed.mkdir()
    exposed.chmod(0o770)
    (exposed / "link").symlink_to(kept)
    for way in ("link", "link/new", "new"):
        with pytest.raises(ConfigurationError, match=f"chmod go-w {exposed}"):
            listen(listener, exposed / way / "s.sock", os.getegid())
    assert list(kept.iterdir()) == []
    assert [path.name for path in exposed.iterdir()] == ["link"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may use any group")
def test_a_group_that_the_user_is_not_in_is_refused(listener: Any, tmp_path: Path) -> None:
    foreign = next(
        each.gr_gid for each in grp.getgrall() if each.gr_gid not in (os.getegid(), *os.getgroups())
    )
    with pytest.raises(ConfigurationError, match="usermod"):
        listen(listener, tmp_path / "s.sock", foreign)


def test_a_group_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="groupadd no-such-group"):
        group_number("no-such-group")


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux")
def test_a_hardened_process_dumps_no_core_and_is_closed() -> None:
    code = """
import ctypes, os, resource
from discreet.silo.hardening import harden
warnings = harden()
dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
print(warnings, resource.getrlimit(resource.RLIMIT_CORE), oct(os.umask(0)), dumpable)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "() (0, 0) 0o77 0"
