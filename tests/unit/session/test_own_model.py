"""A model by its factory: the plan keeps a name that imports it, or refuses what has none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ConfigurationError
from discreet.session import Arrays, Target, plan_training
from discreet.session.own_model import importable_name
from tests.unit.session import own_nets

STEP: dict[str, Any] = {"local": {"kind": "single-step"}, "privacy": {"clip_norm": 1.0}}


def plan(model: Any) -> Any:
    records = np.zeros((9, 2, 3), np.float32), np.zeros(9, np.int64)
    data = Arrays(dict.fromkeys("abc", records), num_classes=3).public(capacity=9)
    return plan_training(data, target=Target(4.0), model=model, **STEP)


@pytest.mark.parametrize("factory", [own_nets.small, own_nets.Net])
def test_a_function_or_a_class_is_planned_as_its_name_is(factory: Any) -> None:
    by_factory = plan(factory)
    assert by_factory.config.model.name == f"tests.unit.session.own_nets:{factory.__name__}"
    assert by_factory.digest() == plan(f"tests.unit.session.own_nets:{factory.__name__}").digest()


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        (own_nets.unnamed, r"'<lambda>' of 'tests.unit.session.own_nets' is a lambda, or lies inside"),
        (own_nets.with_hidden(3), r"'with_hidden.<locals>.make' of 'tests.unit.session.own_nets'"),
        (own_nets.Net.make, r"'Net.make' of 'tests.unit.session.own_nets'"),
        (own_nets.partial, "can be imported again; got a partial"),
        (own_nets.small((2, 3), 3), "can be imported again; got a Sequential"),
        (None, "can be imported again; got a NoneType"),
        (own_nets.hidden, "by 'tests.unit.session.own_nets:small' there is another function"),
    ],
)
def test_what_cannot_be_imported_again_is_one_clear_line(factory: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^the model must be .*{message}") as caught:
        plan(factory)
    assert "\n" not in str(caught.value)


def test_what_was_deleted_or_defined_anew_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    before = own_nets.small
    monkeypatch.setattr(own_nets, "small", own_nets.with_hidden(2))
    with pytest.raises(
        ConfigurationError, match=r"there is another function\. Give what is defined there now"
    ):
        importable_name(before, "model", "a function")
    monkeypatch.delattr(own_nets, "small")
    with pytest.raises(ConfigurationError, match="there is nothing"):
        importable_name(before, "model", "a function")


def test_what_makes_no_module_is_one_clear_line() -> None:
    with pytest.raises(ConfigurationError, match=r"must return a torch\.nn\.Module; got function"):
        plan(own_nets.with_hidden_of_shape)


PROGRAM = """
import math, sys, warnings
import numpy as np
from torch import nn
import discreet
from discreet.config import SpeedConfig


def make_net(feature_shape, num_classes):
    size = math.prod(feature_shape)
    return nn.Sequential(nn.Flatten(), nn.Linear(size, 5), nn.Tanh(), nn.Linear(5, num_classes))


draw = np.random.default_rng(0)
silos = {name: (draw.normal(size=(30, 2, 3)), draw.integers(0, 2, 30)) for name in ("a", "b", "c")}
arrays = discreet.Arrays(silos, num_classes=2)
plan = discreet.plan_training(
    arrays.public(capacity=40), target=discreet.Target(4.0), model=make_net, rounds=2,
    local={"kind": "single-step"}, privacy={"clip_norm": 1.0},
)
try:
    discreet.train(plan, arrays, out="refused", speed=SpeedConfig(workers=2))
except discreet.DiscreetError as error:
    print("REFUSED", error)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    run = discreet.train(plan, arrays, out="run", seed=1)
print("WARNED", *(str(one.message) for one in caught))
print("VERIFIED", *(f"{one.subject}: {one.basis.value}" for one in run.verify()))
assert (discreet.open_run("run", own_code=True).predict(silos["a"][0]) == run.predict(silos["a"][0])).all()


def make_net(feature_shape, num_classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(feature_shape), num_classes))


for attempt in (lambda: run.model, run.verify, lambda: discreet.train(plan, arrays, out="other")):
    try:
        attempt()
    except discreet.DiscreetError as error:
        print("ANOTHER", error)
"""

ELSEWHERE = """
import discreet
run = discreet.open_run("run", own_code=True)
print(run.plan.config.model.name)
for attempt in (lambda: run.model, run.verify):
    try:
        attempt()
    except discreet.DiscreetError as error:
        print("ELSEWHERE", error)
print("WITHOUT", len(discreet.open_run("run").verify()))
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("program")
    return folder, said(folder, PROGRAM)


def said(folder: Path, program: str) -> list[str]:
    (folder / "program.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_factory_of_the_program_itself_trains_and_verifies_in_its_process(
    program: tuple[Path, list[str]],
) -> None:
    folder, lines = program
    refused, warned, verified, *_ = lines
    assert "'speed.workers' must be 1 for the model '__main__:make_net'" in refused
    assert "got 2" in refused
    assert not (folder / "refused").exists()
    assert "all silos train in this process, and no other program can build it" in warned
    assert "model, state: recomputed" in verified


def test_another_factory_of_the_same_name_is_refused(program: tuple[Path, list[str]]) -> None:
    folder, lines = program
    another = lines[3:]
    assert len(another) == 3
    for line in another:
        assert "'facts.dimension' must be " in line or "'facts.model_digest' must be" in line
    assert not (folder / "other").exists()


def test_another_program_is_told_why_it_has_no_model(program: tuple[Path, list[str]]) -> None:
    lines = said(program[0], ELSEWHERE)
    assert lines[0] == "__main__:make_net"
    assert lines[3].startswith("WITHOUT ")
    for line in lines[1:3]:
        assert "Cannot import model factory '__main__:make_net'" in line
        assert "Build it in the program that defines it, or move it into a module." in line
