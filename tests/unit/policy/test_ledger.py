"""A silo's ledger: several trainings in one chain, and nothing uncharged that may have been seen."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from discreet.errors import LedgerError
from discreet.silo.policy import SiloLedger

A, B = "a" * 64, "b" * 64

DAY = date(2026, 3, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.jsonl"


def test_trainings_are_counted_apart(path: Path) -> None:
    ledger = SiloLedger.open(path)
    ledger.join(A, seeded=False)
    ledger.complete(ledger.contribute(A, "m", DAY), ("x", "y"), "t")
    ledger.join(B, seeded=False)
    ledger.complete(ledger.contribute(B, "m", DAY), ("x", "y"), "t")
    ledger.join(A, seeded=False)
    assert ledger.contribute(A, "m", DAY) == 2
    assert {plan: spent.charged for plan, spent in ledger.trainings().items()} == {A: 2, B: 1}
    ledger.close()


def test_a_contribution_without_an_end_stays_charged_over_a_restart(path: Path) -> None:
    ledger = SiloLedger.open(path)
    ledger.join(A, seeded=False)
    ledger.contribute(A, "m", DAY)
    ledger.close()
    again = SiloLedger.open(path)
    again.join(B, seeded=False)
    assert again.trainings()[A].lost == (1,)
    assert again.trainings()[A].charged == 1
    again.close()


@pytest.mark.parametrize(("believe", "charged"), [(False, 1), (True, 0)])
def test_an_abort_is_free_only_if_the_server_is_trusted_with_it(
    path: Path, believe: bool, charged: int
) -> None:
    ledger = SiloLedger.open(path)
    ledger.join(A, seeded=False)
    ledger.contribute(A, "m", DAY)
    ledger.settle(A, believe_abort=believe)
    assert ledger.trainings()[A].charged == charged
    ledger.settle(A, believe_abort=believe)
    assert ledger.trainings()[A].charged == charged
    ledger.close()


def test_a_line_taken_out_is_noticed(path: Path) -> None:
    ledger = SiloLedger.open(path)
    ledger.join(A, seeded=False)
    ledger.complete(ledger.contribute(A, "m", DAY), ("x", "y"), "t")
    ledger.close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    with pytest.raises(LedgerError):
        SiloLedger.open(path)
