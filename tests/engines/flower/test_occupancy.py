"""The server's lock: only its user can hold it, and whoever may read the folder still sees that it works."""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.flower.occupancy import occupied, occupy
from discreet.engines.flower.service import ServerFolder
from discreet.health import RunState, read_run_status
from tests.engines.conftest import SmallConsortium

NOBODY = 65534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user, whom root can become")


@pytest.fixture
def server() -> Any:
    """A server's folder that everybody may read, as with the usual umask."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        mask = os.umask(0o022)
        yield ServerFolder(Path(folder))
        os.umask(mask)


@contextmanager
def somebody_else() -> Any:
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_the_lock_is_open_to_its_user_alone(server: Any) -> None:
    with occupy(server.lock):
        pass
    assert server.lock.stat().st_mode & 0o777 == 0o600


@ROOT_ONLY
def test_whoever_may_only_read_cannot_keep_a_server_out(server: Any) -> None:
    with occupy(server.lock):
        pass
    with somebody_else():
        held = [
            path.open("rb") for path in server.path.iterdir() if os.access(path, os.R_OK, effective_ids=True)
        ]
        for file in held:
            fcntl.flock(file, fcntl.LOCK_EX)
    assert held
    assert not occupied(server.lock)
    with occupy(server.lock):
        assert occupied(server.lock)
    for file in held:
        file.close()


@ROOT_ONLY
def test_whoever_may_only_read_sees_whether_a_server_works(server: Any, consortium: SmallConsortium) -> None:
    (server.path / "plan.json").write_bytes(consortium.plan.document())
    for _ in range(2):
        with somebody_else():
            assert read_run_status(server.path).state is RunState.NOT_STARTED
        with occupy(server.lock), somebody_else():
            assert occupied(server.lock)
            assert read_run_status(server.path).state is RunState.RUNNING
