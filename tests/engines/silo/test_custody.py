"""Files that another user could change or read are refused before anything is served."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from discreet.errors import ConfigurationError
from discreet.silo.custody import folders_of, require_custody
from discreet.silo.policy import load_policy
from tests.engines.conftest import SmallConsortium


@pytest.fixture
def folder(consortium: SmallConsortium, tmp_path: Path) -> Path:
    """A silo's folder as `discreet up` writes it, with a file of records."""
    folder = consortium.folder.silo("cleveland")
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace('source = "plan"', 'source = "csv:records.csv"'))
    (folder / "records.csv").touch(mode=0o600)
    return folder


def check(folder: Path, *, shared_machine: bool) -> None:
    policy = folder / "policy.toml"
    require_custody(policy, load_policy(policy), shared_machine=shared_machine)


def test_what_a_rehearsal_writes_is_in_order(folder: Path) -> None:
    check(folder, shared_machine=False)
    assert (folder / "policy.toml").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_every_file_of_a_folder_of_records_is_kept(folder: Path) -> None:
    parts = folder / "parts"
    parts.mkdir(mode=0o700)
    for name in ("a.csv", "b.csv"):
        (parts / name).write_text("age\n")
        (parts / name).chmod(0o600)
    policy = folder / "policy.toml"
    policy.write_text(re.sub("(?m)^source = .*$", 'source = "csv:parts/"', policy.read_text()))
    check(folder, shared_machine=False)
    (parts / "b.csv").chmod(0o602)
    with pytest.raises(ConfigurationError, match=r"b\.csv"):
        check(folder, shared_machine=False)


@pytest.mark.parametrize("name", ["policy.toml", "records.csv"])
def test_what_others_may_only_read_is_refused_where_the_supernode_is_another_user(
    folder: Path, name: str
) -> None:
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
def test_what_others_may_change_and_open_secrets_are_refused_always(
    folder: Path, name: str, mode: int, shared_machine: bool
) -> None:
    (folder / name).chmod(mode)
    with pytest.raises(ConfigurationError, match="must not be"):
        check(folder, shared_machine=shared_machine)
    (folder / name).chmod(0o700)


def test_a_folder_above_that_others_may_change_is_refused_where_the_supernode_is_another_user(
    folder: Path,
) -> None:
    folder.parent.chmod(0o777)
    check(folder, shared_machine=False)
    with pytest.raises(ConfigurationError, match=f"chmod go-w {folder.parent}"):
        check(folder, shared_machine=True)


def test_files_of_another_user_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() == 0:
        os.chown(folder / "policy.toml", 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigurationError, match="must belong to the silo's user or to root"):
        check(folder, shared_machine=False)


def test_every_folder_that_a_link_is_in_is_looked_at(tmp_path: Path) -> None:
    real, here = tmp_path / "real", tmp_path / "here"
    for folder in (real, here, tmp_path / "open"):
        folder.mkdir()
    (here / "policy").symlink_to("../open/next")
    (tmp_path / "open" / "next").symlink_to(real)
    found = folders_of(here / "policy" / "policy.toml")
    assert {here, tmp_path / "open", real, Path("/")} <= {folder.resolve() for folder in found}
    (here / "loop").symlink_to("loop")
    with pytest.raises(ConfigurationError, match="more than 40 links"):
        folders_of(here / "loop" / "x")


@pytest.mark.parametrize("way", ["file", "folder", "two", "dots"])
def test_a_link_that_others_may_exchange_is_refused_wherever_it_leads(
    folder: Path, tmp_path: Path, way: str
) -> None:
    exposed, records = tmp_path / "exposed", folder / "records.csv"
    exposed.mkdir()
    exposed.chmod(0o770)
    (exposed / "file").symlink_to(records)
    (exposed / "folder").symlink_to(folder)
    (folder / "two").symlink_to(exposed / "folder")
    named = {
        "file": exposed / "file",
        "folder": exposed / "folder" / "records.csv",
        "two": folder / "two" / "records.csv",
        "dots": exposed / ".." / os.path.relpath(records, tmp_path),
    }
    policy = folder / "policy.toml"
    policy.write_text(policy.read_text().replace("csv:records.csv", f"csv:{named[way]}"))
    with pytest.raises(ConfigurationError, match=f"chmod go-w {exposed}"):
        check(folder, shared_machine=True)
    exposed.chmod(0o700)
    check(folder, shared_machine=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a link away")
def test_a_link_of_another_user_is_refused_in_a_folder_that_keeps_others_out(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    folders_of(tmp_path / "link" / "records.csv")
    os.lchown(tmp_path / "link", 12345, -1)
    with pytest.raises(ConfigurationError, match="must belong to the silo's user or to root"):
        folders_of(tmp_path / "link" / "records.csv")


def test_a_linked_policy_and_an_anchor_that_others_may_write_are_refused(consortium: SmallConsortium) -> None:
    path = consortium.folder.policy("cleveland")
    policy = load_policy(path)
    policy.anchor.chmod(0o666)
    with pytest.raises(ConfigurationError, match=r"ledger\.anchor must not be writable"):
        require_custody(path, policy, shared_machine=False)
    link = path.with_name("linked.toml")
    link.symlink_to(path)
    with pytest.raises(ConfigurationError, match="no link"):
        require_custody(link, policy, shared_machine=False)
