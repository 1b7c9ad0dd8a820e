"""Something in the wheel sets every option of a value: one that nothing sets is a constant, or dead."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"

# What only tests and programs set, each with its reason.
ALLOWED = {
    "AdaptiveFilter.neighboring": "a program that composes under another relation says so",
    "Bell.rounds_per_setup": "tests open several setups in few rounds",
    "Bonawitz.rounds_per_setup": "tests open several setups in few rounds",
    "GridRequest.float_error": "states what a grid has room for, which tests vary",
    "GridRequest.max_inflation": "states what a grid may cost, which tests vary",
    "GridRequest.wrap_prob": "states what may fail, which tests vary",
    "OwnerLog.stream": "tests read what an owner would",
    "Scattering.depth": "the transform's own parameters, tested at others",
    "Scattering.rotations": "the transform's own parameters, tested at others",
    "Surroundings.now": "tests turn the clock",
}


def options(trees: dict[Path, ast.Module]) -> Iterator[tuple[str, str, int]]:
    """Yields class, field and place of every public field with a default of a frozen dataclass."""
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and _is_a_public_value(node):
                fields = [
                    each
                    for each in node.body
                    if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each.annotation)
                ]
                for place, field in enumerate(fields):
                    name = ast.unparse(field.target)
                    if field.value is not None and not name.startswith("_") and not _is_derived(field.value):
                        yield node.name, name, place


def _is_a_public_value(node: ast.ClassDef) -> bool:
    decorators = map(ast.unparse, node.decorator_list)
    return not node.name.startswith("_") and any("frozen=True" in each for each in decorators)


def _is_derived(default: ast.expr) -> bool:
    return isinstance(default, ast.Call) and "init=False" in ast.unparse(default)


def unset(folder: Path) -> list[str]:
    """Returns the options that no call in a folder's programs sets, of classes that one of them makes."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in folder.rglob("*.py")}
    calls: dict[str, list[ast.Call]] = defaultdict(list)
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                calls[ast.unparse(node.func).rpartition(".")[2]].append(node)
    # ``cls(...)`` makes some class, and ``replace(...)`` changes one.
    by_name = {word.arg for name in ("replace", "cls") for call in calls[name] for word in call.keywords}
    return sorted(
        f"{kind}.{name}"
        for kind, name, place in options(trees)
        if calls[kind] and name not in by_name and not any(_sets(call, name, place) for call in calls[kind])
    )


def _sets(call: ast.Call, name: str, place: int) -> bool:
    spread = any(isinstance(each, ast.Starred) for each in call.args)
    return spread or len(call.args) > place or any(word.arg in (name, None) for word in call.keywords)


def test_every_option_is_set_by_something() -> None:
    public = tuple(f"{name}." for name in discreet.__all__)  # what programs set
    assert {each for each in unset(SOURCE) if not each.startswith(public)} == set(ALLOWED)


@pytest.mark.parametrize(("call", "found"), [("Sum()", ["Sum.noise"]), ("Sum(3)", []), ("Sum(noise=3)", [])])
def test_an_option_that_nothing_sets_is_found(tmp_path: Path, call: str, found: list[str]) -> None:
    text = "@dataclass(frozen=True)\nclass Sum:\n    noise: int = 0\n    _known: int = 0\n"
    (tmp_path / "sums.py").write_text(text + call)
    assert unset(tmp_path) == found
