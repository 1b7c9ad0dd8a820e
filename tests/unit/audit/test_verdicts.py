"""A verdict says what an attack saw; one that saw nothing confirms nothing, and a last line says so."""

from __future__ import annotations

import dataclasses

import pytest

from discreet.audit import CanaryFinding, Finding, NeighbourFinding, SamplingFinding, SensitivityFinding
from discreet.cli.audit import conclusion, crafted_table, verdict
from discreet.cli.console import console
from discreet.config import load_config
from discreet.engines.local import prepare
from discreet.privacy.adversary import AggregationServer
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit
from tests.unit.audit.audited_configs import HEART

CLAIM = Guarantee(1.0, 1e-5, Unit.RECORD, NeighboringRelation.ADD_REMOVE, AggregationServer(), Status.PROVEN)
BLIND = CanaryFinding("canaries", CLAIM, 64, 8, 4, 0.0, 0.0, 1.0, 0.99)
SAW = dataclasses.replace(BLIND, audited_gaussian_epsilon_lower=0.2)
BROKEN = dataclasses.replace(BLIND, audited_epsilon_lower=1.5)
STILL = NeighbourFinding("from the file to the integers", "a row of no class", 0.0, 8, ())


@pytest.mark.parametrize(
    ("finding", "word"),
    [
        (BLIND, "saw nothing"),
        (SAW, "holds"),
        (BROKEN, "EXCEEDED"),
        (SensitivityFinding("north", 0.0, 1.0, 0), "saw nothing"),
        (SensitivityFinding("north", 0.5, 1.0, 8), "holds"),
        (SamplingFinding("north", 0.0, 0.1, is_larger=False), "holds"),
        (STILL, "saw nothing"),
        (dataclasses.replace(STILL, differences=("it failed",)), "EXCEEDED"),
    ],
)
def test_a_verdict_is_of_what_was_seen(finding: Finding | NeighbourFinding, word: str) -> None:
    assert verdict(finding) == word


def test_the_conclusion_counts_what_was_exceeded_and_what_was_not_seen() -> None:
    assert conclusion([SAW, SAW]).startswith(
        "None of 2 attacks exceeded a claim. An attack that fails proves"
    )
    assert "1 of them saw nothing, which confirms nothing" in conclusion([SAW, BLIND])
    assert conclusion([SAW, BROKEN]) == "1 of 2 attacks EXCEEDED a claim: it does not hold as stated."


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_cell_of_the_crafted_table_is_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    told = dataclasses.replace(STILL, differences=("one world refused: " + "x" * 100,))
    with (screen := console()).capture() as shown:
        screen.print(crafted_table(prepare(load_config(HEART)), (told,)))
    plain = "".join(character for character in shown.get() if not character.isspace())
    for cell in (told.path, told.crafted, *told.differences, "EXCEEDED"):
        assert cell.replace(" ", "") in plain.replace("│", ""), cell
