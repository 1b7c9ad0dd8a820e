"""What the package imports is what its metadata says that it needs: a wheel brings nothing else along."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Whose distribution has another name, where it is not installed.
OTHER_NAMES = {"sklearn": "scikit-learn"}
# What an extra adds may be imported at once by the code that is for it, and in functions by all other.
FOR_EXTRAS = ("engines/flower/", "sklearn/", "released/")


def names(requirements: list[str]) -> set[str]:
    found = (re.match(r"[A-Za-z0-9_.-]+", one) for one in requirements)
    return {re.sub(r"[-_.]+", "-", one[0]).lower() for one in found if one}


@cache
def trees() -> dict[str, ast.Module]:
    """Every file of the package by its place, parsed."""
    return {
        file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for file in SOURCE.rglob("*.py")
    }


BASE = names(PROJECT["dependencies"])
EXTRAS = names([one for name, extra in PROJECT["optional-dependencies"].items() if name not in ("dev", "docs")
                for one in extra])  # fmt: skip


def imported(tree: ast.AST) -> Iterator[str]:
    """Yields the top-level packages that a file, or a part of it, imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def at_once(tree: ast.Module) -> Iterator[str]:
    """Yields what is imported when the file is: neither in functions nor for the type checker alone."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(ast.Module([node], []))
        waiting += ast.iter_child_nodes(node)


def distributions(package: str, installed: dict[str, list[str]]) -> set[str]:
    return names(installed.get(package, [OTHER_NAMES.get(package, package)]))


@pytest.mark.parametrize("which", ["at once", "ever"])
def test_every_import_is_of_a_declared_dependency(which: str) -> None:
    installed = {name: list(ones) for name, ones in packages_distributions().items()}
    undeclared = set()
    for place, tree in trees().items():
        found = set(imported(tree) if which == "ever" else at_once(tree))
        allowed = BASE | (EXTRAS if which == "ever" or place.startswith(FOR_EXTRAS) else set())
        for package in found - sys.stdlib_module_names - {"discreet"}:
            if not distributions(package, installed) & allowed:
                undeclared.add((place, package))
    assert sorted(undeclared) == []


def test_every_declared_dependency_is_imported() -> None:
    installed = {name: list(ones) for name, ones in packages_distributions().items()}
    used: set[str] = set()
    for tree in trees().values():
        for package in imported(tree):
            used |= distributions(package, installed)
    assert sorted(BASE - used) == []
