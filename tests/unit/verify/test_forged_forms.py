"""Files whose words a reader and a program take in two ways, and fields that say what nobody checks."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.privacy.ledger import Completed, Entry, Intent, LedgerWriter, Lost, Opened, read_ledger
from discreet.report import write_report
from discreet.verify import VerificationFailure, seal, verify

FORGED = "1999-01-01; epsilon 0.01"


def forge_ledger(run: Path, change: Callable[[Entry], Entry | None]) -> None:
    """Writes the ledger again, every entry changed, and seals the run; None leaves one as it is."""
    path = run / "ledger.jsonl"
    entries = [line.entry for line in read_ledger(path)]
    path.unlink()
    with LedgerWriter.open(path) as ledger:
        for entry in entries:
            ledger.append(change(entry) or entry)
    with contextlib.suppress(LedgerError):
        write_report(run)
    seal(run)


@pytest.mark.parametrize(
    ("name", "first", "doubled"),
    [
        ("result.json", '"randomness": ', '"randomness": "secure", '),
        ("metrics.jsonl", '"epsilon_spent": ', '"epsilon_spent": 0.01, '),
        ("report.json", '"seeded": ', '"seeded": false, '),
        ("evaluation.json", '"records": ', '"records": 7, '),
        ("comparison.json", '"pooled": ', '"pooled": {}, '),
    ],
)
def test_a_key_that_is_there_twice_is_found(run_directory: Path, name: str, first: str, doubled: str) -> None:
    path = run_directory / name
    text = path.read_text(encoding="utf-8")
    assert first in text
    path.write_text(text.replace(first, doubled + first, 1), encoding="utf-8")
    seal(run_directory)
    with pytest.raises(VerificationFailure, match=rf"{name}|each key once"):
        list(verify(run_directory))


def test_a_torn_line_behind_the_last_of_the_metrics_is_found(run_directory: Path) -> None:
    with (run_directory / "metrics.jsonl").open("a") as file:
        file.write('{"epsilon_spent": 0.01}')
    seal(run_directory)
    with pytest.raises(VerificationFailure, match=r"last line of metrics\.jsonl must be whole"):
        list(verify(run_directory))


SILOS = ("cleveland", "hungary", "long_beach_va", "switzerland")


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (Intent, {"day": FORGED}, "'day' is '1999-01-01; epsilon"),
        (Intent, {"part": "x"}, "'part' is 'x'"),
        (Intent, {"started_from": FORGED}, "'started_from' is"),
        (Opened, {"randomness": FORGED}, "'randomness' is"),
        (Completed, {"transcript": FORGED}, "'transcript' is"),
        (Completed, {"survivors": ["cleveland", "cleveland"]}, "each once and in its order"),
        (Completed, {"survivors": ["switzerland", "hungary", "cleveland", "long_beach_va"]}, "in its order"),
        (Completed, {"survivors": [*SILOS, SILOS[0]]}, "each once and in its order"),
    ],
)
def test_a_ledger_that_says_what_nobody_wrote_is_found(
    run_directory: Path, kind: type[Entry], changes: dict[str, object], message: str
) -> None:
    def change(entry: Entry) -> Entry | None:
        if not isinstance(entry, kind):
            return None
        stated = {name: tuple(one) if isinstance(one, list) else one for name, one in changes.items()}
        return dataclasses.replace(entry, **stated)  # type: ignore[arg-type]

    forge_ledger(run_directory, change)
    with pytest.raises(VerificationFailure, match=message):
        list(verify(run_directory))


def test_a_day_is_a_day_and_a_reason_states_no_number(run_directory: Path) -> None:
    forge_ledger(run_directory, lambda entry: dataclasses.replace(entry, day="2026-02-28")
                 if isinstance(entry, Intent) else None)  # fmt: skip
    assert list(verify(run_directory))
    last = read_ledger(run_directory / "ledger.jsonl")[-1].entry
    forge_ledger(run_directory, lambda entry: Lost(8, "epsilon 0.01, PROVEN") if entry == last else None)
    with pytest.raises(VerificationFailure, match=r"'reason' is 'epsilon 0\.01"):
        list(verify(run_directory))
