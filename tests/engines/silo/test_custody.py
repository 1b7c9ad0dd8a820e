"""Files that another user could change or read are refused before anything is served."""

from __future__ import annotations

import os

import pytest

from discreet.errors import ConfigurationError
from discreet.silo.custody import require_custody
from discreet.silo.policy import load_policy


@pytest.fixture
def folder(consortium, tmp_path):
    """A silo's folder as `discreet up` writes it, with a file of records."""
    folder = consortium.folder.silo("cleveland")
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace('source = "plan"', 'source = "csv:records.csv"'))
    (folder / "records.csv").touch(mode=0o600)
    return folder


def check(folder, *, shared_machine):
    policy = folder / "policy.toml"
    require_custody(policy, load_policy(policy), shared_machine=shared_machine)


def test_what_a_rehearsal_writes_is_in_order(folder):
    check(folder, shared_machine=False)
    assert (folder / "policy.toml").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["policy.toml", "records.csv"])
def test_what_others_may_only_read_is_refused_where_the_supernode_is_another_user(folder, name):
    (folder / name).chmod(0o644)
    check(folder, shared_machine=False)
    with pytest.raises(ConfigurationError, match=f"chmod go= .*{name}"):
        check(folder, shared_machine=True)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("policy.toml", 0o620),
        ("policy.toml", 0o602),
        ("records.csv", 0o602),
        ("identity.key", 0o604),
        ("state", 0o701),
        (".", 0o770),
        (".", 0o702),
    ],
)
@pytest.mark.parametrize("shared_machine", [False, True])
def test_what_others_may_change_and_open_secrets_are_refused_always(folder, name, mode, shared_machine):
    (folder / name).chmod(mode)
    with pytest.raises(ConfigurationError, match="must not be"):
        check(folder, shared_machine=shared_machine)
    (folder / name).chmod(0o700)


def test_a_folder_above_that_others_may_change_is_refused_where_the_supernode_is_another_user(folder):
    folder.parent.chmod(0o777)
    check(folder, shared_machine=False)
    with pytest.raises(ConfigurationError, match=f"chmod go-w {folder.parent}"):
        check(folder, shared_machine=True)


def test_files_of_another_user_are_refused(folder, monkeypatch):
    if os.geteuid() == 0:
        os.chown(folder / "policy.toml", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigurationError, match="must belong to the silo's user or to root"):
        check(folder, shared_machine=False)
