"""The policy file, keys on disk, and the consortium's list."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.engines.flower.consortium import ConsortiumFolder
from discreet.errors import ConfigurationError
from discreet.silo.policy import (
    Consortium,
    PolicyRefusal,
    SignedAllowList,
    generate_key,
    load_key,
    load_policy,
)


def test_paths_are_taken_from_the_policys_folder(
    folder: ConsortiumFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder.policy("hungary")
    path.write_text(path.read_text().replace('source = "plan"', 'source = "csv:records.csv"'))
    monkeypatch.chdir(tmp_path)
    path.write_text("\ufeff" + path.read_text())  # as some editors begin a file
    policy = load_policy(path)
    assert policy.identity == path.parent.resolve() / "identity.key"
    assert policy.state == path.parent.resolve() / "state"
    assert policy.data.source == f"csv:{path.parent.resolve() / 'records.csv'}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[budget]", "[budgets]", "budget"),
        ("max_epsilon = ", "max_epsilon = -", "budget.max_epsilon"),
        ("min_survivors = 3", "min_survivors = 1", "require.min_survivors"),
        ('silo = "cleveland"', "silo = ", "must be valid TOML"),
        ('protocols = ["bonawitz"]', 'protocols = ["ideal"]', "require.protocols"),
        ("max_delta = ", "max_delta = nan #", "budget.max_delta"),
        ("max_epsilon = ", 'max_epsilon = "9" #', "budget.max_epsilon.*must be a number"),
    ],
)
def test_one_clear_line_for_a_bad_policy(folder: ConsortiumFolder, old: str, new: str, words: str) -> None:
    path = folder.policy("cleveland")
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ConfigurationError, match=words) as caught:
        load_policy(path)
    assert "\n" not in str(caught.value)


def test_a_missing_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"policy\.toml"):
        load_policy(tmp_path / "policy.toml")


def test_a_key_is_private_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "identity.key"
    made = generate_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_key(path).public_key == made.public_key
    with pytest.raises(ConfigurationError, match="new file"):
        generate_key(path)


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "identity.key"
    generate_key(path)
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        load_key(path)


@pytest.mark.parametrize("content", ["", "zz" * 32, "ab" * 31])
def test_a_file_that_is_no_key_is_named_without_its_content(tmp_path: Path, content: str) -> None:
    path = tmp_path / "identity.key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(ConfigurationError, match="must hold 32 bytes") as caught:
        load_key(path)
    assert not content or content not in str(caught.value)


def test_a_signed_list_survives_the_wire_and_no_change(tmp_path: Path) -> None:
    consortium = Consortium(generate_key(tmp_path / "consortium.key"))
    keys = {name: generate_key(tmp_path / name).public_key for name in ("a", "b", "c")}
    signed = SignedAllowList.parse(consortium.sign(keys, serial=3).serialise())
    assert signed.verified(consortium.public_key).keys == keys
    for forged in (
        SignedAllowList(4, signed.silos, signed.signature),
        SignedAllowList(3, {**signed.silos, "d": signed.silos["a"]}, signed.signature),
        SignedAllowList(3, signed.silos, "00" * 64),
        SignedAllowList(3, signed.silos, "zz"),
    ):
        with pytest.raises(PolicyRefusal):
            forged.verified(consortium.public_key)
    with pytest.raises(PolicyRefusal, match="signed by the consortium"):
        signed.verified(generate_key(tmp_path / "other.key").public_key)


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"[]",
        b'{"serial": 1}',
        b'{"serial": "1", "silos": {}, "signature": ""}',
        b'{"serial": 1, "silos": 3, "signature": ""}',
    ],
)
def test_bytes_that_are_no_list_are_refused(junk: bytes) -> None:
    with pytest.raises(PolicyRefusal, match="cannot be read"):
        SignedAllowList.parse(junk)
