"""The journal: counters only grow, and a crash cannot undo a claim."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg import FileJournal, MemoryJournal
from discreet.secagg.journal import Deed, round_counter

ONE, TWO = bytes(32), b"\1" * 32


@pytest.fixture(params=["memory", "file"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> FileJournal | MemoryJournal:
    return MemoryJournal() if request.param == "memory" else FileJournal(tmp_path / "journal")


def test_counters_grow_for_every_session_and_deed(journal: FileJournal | MemoryJournal) -> None:
    journal.claim(ONE, Deed.SEND_MASKED, 5)
    journal.claim(TWO, Deed.SEND_MASKED, 5)
    journal.claim(ONE, Deed.RELEASE_SHARES, 5)
    journal.claim(ONE, Deed.SEND_MASKED, 7)
    for stale in (7, 6, 5, 0):
        with pytest.raises(PeerProtocolError) as caught:
            journal.claim(ONE, Deed.SEND_MASKED, stale)
        assert caught.value.code == "replayed"


def test_claims_survive_a_restart(tmp_path: Path) -> None:
    FileJournal(tmp_path / "j").claim(ONE, Deed.OFFER_KEYS, 3)
    with pytest.raises(PeerProtocolError):
        FileJournal(tmp_path / "j").claim(ONE, Deed.OFFER_KEYS, 3)
    FileJournal(tmp_path / "j").claim(ONE, Deed.OFFER_KEYS, 4)


def test_every_cut_of_the_last_record_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = FileJournal(path)
    journal.claim(ONE, Deed.SEND_MASKED, 1)
    size = path.stat().st_size
    journal.claim(ONE, Deed.SEND_MASKED, 2)
    whole = path.read_bytes()
    for cut in range(size, len(whole)):
        path.write_bytes(whole[:cut])
        reopened = FileJournal(path)
        with pytest.raises(PeerProtocolError):
            reopened.claim(ONE, Deed.SEND_MASKED, 1)
        reopened.claim(ONE, Deed.SEND_MASKED, 2)
        assert path.read_bytes() == whole


def test_a_damaged_record_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "j"
    FileJournal(path).claim(ONE, Deed.SEND_MASKED, 1)
    damaged = bytearray(path.read_bytes())
    damaged[40] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(LocalProtocolError, match="damaged"):
        FileJournal(path)


def test_attempts_order_within_rounds() -> None:
    assert round_counter(1, 0) > round_counter(0, 2**32 - 1) > round_counter(0, 0)


def test_a_claim_is_on_the_disk_before_it_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record is whole in the file when the file is synchronised, once a claim."""
    path = tmp_path / "j"
    journal = FileJournal(path)
    sizes: list[int] = []
    monkeypatch.setattr("os.fsync", lambda _descriptor: sizes.append(path.stat().st_size))
    journal.claim(ONE, Deed.SEND_MASKED, 1)
    assert sizes == [path.stat().st_size]
    journal.claim(ONE, Deed.SEND_MASKED, 2)
    assert sizes[1] == 2 * sizes[0]


def test_a_deed_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    path = tmp_path / "j"
    FileJournal(path).claim(ONE, Deed.SEND_MASKED, 1)
    unknown = bytearray(path.read_bytes()[:-4])
    unknown[32] = 200
    path.write_bytes(unknown + zlib.crc32(unknown).to_bytes(4, "little"))
    with pytest.raises(LocalProtocolError, match="one is damaged"):
        FileJournal(path)
