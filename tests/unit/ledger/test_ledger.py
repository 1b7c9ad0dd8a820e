"""The ledger: what is written stays, what is altered is found, what is interrupted stays charged."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import LedgerError
from discreet.locks import take
from discreet.privacy.ledger import (
    Aborted,
    Completed,
    Entry,
    Intent,
    LedgerWriter,
    Lost,
    Opened,
    Resumed,
    read_ledger,
    spending,
)

ENTRIES: tuple[Entry, ...] = (
    Opened("p" * 64, "secure"),
    Intent(1, "a" * 64),
    Completed(1, ("north", "south"), "ff", "b" * 64),
    Intent(2, "b" * 64),
    Aborted(2, "too-few"),
    Intent(2, "b" * 64),
    Lost(2, "killed"),
    Resumed("p" * 64),
    Intent(3, "b" * 64),
    Completed(3, ("north",), "ff", None),
    Intent(4, "b" * 64),
)


def written(path: Path) -> Path:
    with LedgerWriter.open(path) as ledger:
        for entry in ENTRIES:
            ledger.append(entry)
    return path


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = written(tmp_path / "ledger.jsonl")
    lines = read_ledger(path)
    assert tuple(line.entry for line in lines) == ENTRIES
    assert [line.sequence for line in lines] == list(range(len(ENTRIES)))


def test_spending_charges_the_completed_the_lost_and_the_pending() -> None:
    spent = spending(ENTRIES)
    assert [entry.release for entry in spent.completed] == [1, 3]
    assert spent.lost == (2,)
    assert spent.pending == Intent(4, "b" * 64)
    assert spent.aborted == 1
    assert spent.charged == 4


def test_a_ledger_of_another_version_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "ledger.jsonl")
    path.write_bytes(path.read_bytes().replace(b'"version":2', b'"version":1'))
    with pytest.raises(LedgerError, match="must have version 2; got 1"):
        read_ledger(path)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_changed_byte_is_found(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = written(tmp_path_factory.mktemp("ledger") / "ledger.jsonl")
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 2))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        read_ledger(path)


@pytest.mark.parametrize("removed", range(len(ENTRIES) - 1))
def test_a_removed_line_is_found(tmp_path: Path, removed: int) -> None:
    path = written(tmp_path / "ledger.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:removed] + lines[removed + 1 :]))
    with pytest.raises(LedgerError, match=f"line {removed + 1}"):
        read_ledger(path)


@pytest.mark.parametrize("kept", [0, 1, 40])
def test_a_torn_last_line_is_dropped_and_its_sequence_given_again(tmp_path: Path, kept: int) -> None:
    path = written(tmp_path / "ledger.jsonl")
    content = path.read_bytes()
    start = content[:-1].rfind(b"\n") + 1
    path.write_bytes(content[: start + kept])
    assert len(read_ledger(path)) == len(ENTRIES) - 1
    with LedgerWriter.open(path) as ledger:
        assert ledger.append(ENTRIES[-1]).sequence == len(ENTRIES) - 1
    assert tuple(line.entry for line in read_ledger(path)) == ENTRIES


def test_only_one_process_may_write(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with LedgerWriter.open(path), pytest.raises(LedgerError, match="only one process"):
        LedgerWriter.open(path)
    LedgerWriter.open(path).close()


def test_one_who_asks_whether_a_silo_works_does_not_keep_it_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.touch()
    asking = path.open("rb")
    assert take(asking)
    end = threading.Timer(0.2, asking.close)
    end.start()
    with LedgerWriter.open(path) as ledger:
        assert ledger.append(ENTRIES[0]).sequence == 0
    end.join()


def test_an_entry_is_synced_before_append_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (synced.append(descriptor), real(descriptor))[1])
    path = tmp_path / "ledger.jsonl"
    with LedgerWriter.open(path) as ledger:
        ledger.append(ENTRIES[0])
        assert len(synced) == 1
        assert len(read_ledger(path)) == 1


@pytest.mark.parametrize(
    "entries",
    [
        (Intent(2, ""),),
        (Intent(1, ""), Intent(2, "")),
        (Completed(1, (), "", ""),),
        (Intent(1, ""), Completed(2, (), "", "")),
        (Intent(1, ""), Lost(1, ""), Lost(1, "")),
    ],
)
def test_entries_out_of_order_are_refused(entries: tuple[Entry, ...]) -> None:
    with pytest.raises(LedgerError):
        spending(entries)
