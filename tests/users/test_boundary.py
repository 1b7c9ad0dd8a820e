"""The line between a silo and everybody else on its machine, with real users and the real command."""

from __future__ import annotations

import os
import shutil
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.users import machine
from tests.users.conftest import Place, Serving, served

REFUSED = {"EACCES", "EPERM"}
CLOSED_TO_ITS_OWN_USER = (
    "read /proc mem",
    "read /proc environ",
    "read /proc maps",
    "list /proc fd",
    "ptrace",
)


def test_the_supernode_can_ask_and_do_nothing_else(own: Serving, users: machine.Users) -> None:
    assert stat.S_IMODE(own.place.socket.stat().st_mode) == 0o660
    assert own.place.socket.group() == users.group
    came = own.probe(users.supernode)
    assert came.pop("ask") == "done"
    assert len(came) == 17
    assert set(came.values()) <= REFUSED, came
    assert own.probe(users.supernode, "ask") == {"ask": "done"}
    log = own.end()
    assert "ATTENTION" not in log


def test_a_stranger_cannot_even_connect(shared: Serving, users: machine.Users) -> None:
    came = shared.probe(users.stranger)
    assert len(came) == 18
    assert set(came.values()) <= REFUSED, came


def test_the_silos_own_user_and_root_are_answered_nothing_and_logged_once(
    own: Serving, users: machine.Users
) -> None:
    for user in (users.silo, users.silo, "root"):
        assert own.probe(user, "ask")["ask"] != "done"
    assert own.probe(users.supernode, "ask") == {"ask": "done"}
    log = own.end()
    assert log.count("answered nothing") == 1
    assert "runs as the silo's own user" in log


def test_the_memory_of_a_silo_is_closed_to_its_own_user(shared: Serving, users: machine.Users) -> None:
    came = shared.probe(users.silo, *CLOSED_TO_ITS_OWN_USER)
    assert set(came.values()) <= REFUSED, came


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_no_core_is_dumped(own: Serving, users: machine.Users, number: Any) -> None:
    control = own.place.start(users.silo, "-c", "import signal; print('up', flush=True); signal.pause()")
    assert control.stdout.readline() == "up\n"
    control.send_signal(number)
    assert os.waitid(os.P_PID, control.pid, os.WEXITED | os.WNOWAIT).si_code == os.CLD_DUMPED
    control.communicate()
    own.process.send_signal(number)
    ended = os.waitid(os.P_PID, own.process.pid, os.WEXITED | os.WNOWAIT)
    assert (ended.si_code, ended.si_status) == (os.CLD_KILLED, number)


def test_without_a_group_the_owner_is_told_and_only_its_user_connects(
    place: Place, users: machine.Users
) -> None:
    with served(place) as alone:
        assert alone.probe(users.supernode, "ask") == {"ask": "EACCES"}
        assert alone.probe(users.silo, "ask") == {"ask": "done"}
        log = alone.end()
    assert log.count("ATTENTION") == 1
    assert "--socket-group" in log


def test_callers_who_drip_bytes_keep_the_supernode_waiting_no_longer(
    shared: Serving, users: machine.Users
) -> None:
    place = shared.place
    probe = Path(__file__).with_name("probe.py")
    dripping = place.start(users.supernode, probe, place.path, place.socket, 0, "drip")
    assert dripping.stdout.readline() == "dripping\n"
    try:
        assert shared.probe(users.supernode, "ask") == {"ask": "done"}
    finally:
        dripping.kill()
        dripping.communicate()


@pytest.mark.parametrize(
    ("path", "mode", "said"),
    [
        ("silo/identity.key", 0o640, "chmod go="),
        ("silo/policy.toml", 0o644, "chmod go="),
        ("run", 0o700, "chmod g+x"),
        ("", 0o777, "chmod go-w"),
    ],
)
def test_what_others_may_read_or_change_is_refused_with_the_command_that_mends_it(
    place: Place, users: machine.Users, path: str, mode: int, said: str
) -> None:
    (place.path / path).chmod(mode)
    refused = place.serve("--socket-group", users.group)
    out, err = refused.communicate(timeout=60)
    assert refused.returncode not in (0, None)
    assert said in out + err
    assert "Traceback" not in err
    assert not place.socket.exists()


def test_a_policy_of_another_user_is_refused(place: Place, users: machine.Users) -> None:
    shutil.chown(place.silo / "policy.toml", users.stranger)
    (place.silo / "policy.toml").chmod(0o644)
    refused = place.serve("--socket-group", users.group)
    assert "must belong to" in refused.communicate(timeout=60)[1]
    assert refused.returncode != 0


def test_a_group_that_the_silos_user_is_not_in_is_one_line(place: Place) -> None:
    refused = place.serve("--socket-group", "root")
    err = refused.communicate(timeout=60)[1]
    assert refused.returncode != 0
    assert "usermod" in err
    assert "Traceback" not in err
