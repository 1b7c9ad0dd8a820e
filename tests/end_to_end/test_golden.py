"""A seeded run of every kind repeats, from one version of the code to the next, to the bit.

On a machine whose kernels round otherwise no bit can be promised, so weights need only be near there: a last
bit of a gradient may move a released integer by one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end import golden

STORED: dict[str, Any] = json.loads(golden.STORED.read_text(encoding="utf-8"))
MEANT = "If new bits are meant: python -m tests.end_to_end.golden"


@pytest.fixture(scope="module")
def same_kernels() -> bool:
    return golden.kernels() == STORED["kernels"]


def test_every_kind_has_its_bits() -> None:
    assert STORED["runs"].keys() == golden.KINDS.keys(), MEANT


@pytest.mark.parametrize("kind", golden.KINDS)
def test_a_seeded_run_gives_the_bits_that_it_gave(kind: str, tmp_path: Path, same_kernels: bool) -> None:
    found, stored = golden.trained(kind, tmp_path / "run"), STORED["runs"][kind]
    assert found["first"] == pytest.approx(stored["first"], rel=0.02, abs=0.02), MEANT
    if same_kernels:
        assert found == stored, MEANT


def test_a_seeded_question_gets_the_answer_that_it_got(tmp_path: Path) -> None:
    assert golden.asked(tmp_path / "run")["answers"] == STORED["questions"]["answers"], MEANT
