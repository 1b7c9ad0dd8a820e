"""The list of faults to plant keeps up with the code: `make mutants`, which plants them, takes an hour."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.faults import MUTANTS
from tests.security.faults.mutant import Mutant
from tests.security.mutants import ROOT, faulty, missed_in


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_can_be_planted_and_has_tests_to_see_it(mutant: Mutant) -> None:
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert faulty(mutant, text) != text
    assert all((ROOT / Path(test.split("::")[0])).exists() for test in mutant.tests)


def test_no_two_faults_have_one_name() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_tests_that_are_red_without_a_fault_see_none(tmp_path: Path) -> None:
    (tmp_path / "code.txt").write_text("answer = 42\n")
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert False\n")
    mutant = Mutant("another answer", "code.txt", "42", "41", ("test_it.py",))
    with pytest.raises(SystemExit, match=r"test_it\.py must pass without a fault: FAILED test_it"):
        missed_in(tmp_path, [mutant])
