"""The fuzzer's readers on what once was a fault, on some mangled inputs, and with a fault planted."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from tests.security import fuzz
from tests.security.targets import Target, targets

ALL = targets()
SOME = 10


@pytest.fixture(params=ALL, ids=lambda target: target.name)
def target(request: pytest.FixtureRequest) -> Target:
    return request.param


def test_a_reader_takes_its_seeds(target: Target) -> None:
    """Or every mangled input would be refused for the seed's own fault."""
    assert all(target.seeds)
    target.read(target.seeds[0])


def test_what_once_was_a_fault_is_none(target: Target) -> None:
    for data in fuzz.kept(target.name):
        found = fuzz.fault(target, data)
        assert found is None, found.what


def test_every_input_that_is_kept_has_its_reader() -> None:
    assert {folder.name for folder in fuzz.CORPUS.iterdir()} <= {target.name for target in ALL}


@pytest.mark.filterwarnings("ignore")
def test_some_mangled_inputs(target: Target) -> None:
    chance = random.Random(target.name)
    for _ in range(SOME):
        found = fuzz.fault(target, fuzz.mangled(target, chance))
        assert found is None, (found.data, found.what)


def careless(data: bytes) -> None:
    """Trusts a length that it reads."""
    if data and data[0] != ord("s"):
        raise IndexError(data[0])


def test_a_careless_reader_is_found_and_its_input_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fuzz, "CORPUS", tmp_path)
    monkeypatch.setattr(fuzz, "targets", lambda: (Target("careless", careless, ValueError, (b"seed",)),))
    monkeypatch.setattr(sys, "argv", ["fuzz", "--seconds", "5", "--seed", "1"])
    assert fuzz.main() == 1
    assert "IndexError" in capsys.readouterr().out
    (data,) = fuzz.kept("careless")
    with pytest.raises(IndexError):
        careless(data)


def test_a_slow_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 11.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    found = fuzz.fault(Target("slow", lambda _: None, ValueError, (b"",)), b"")
    assert found is not None
    assert found.what == "11.0 s"
