"""The wheel holds what a run can reach (ADR 57): nothing that only tests or papers' tables use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet
import discreet.engines.local
from discreet.cli.lazy import SUMMARIES
from discreet.sklearn import FederatedClassifier, FederatedRegressor
from tests.support.reachability import LOOSE, Package, Place, imported_names

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "discreet"

# What nothing below reaches and what stays all the same, each with its reason; a module stands for all in it.
ALLOWED = {
    "discreet.audit.noise:exceeded": "read by the tests of planted faults, which are not rewritten",
    "discreet.secagg.hazmat.field:multiply": "states the field that the tables implement; tests need it",
    "discreet.secagg.protocol:validate_terms": "how the checklist of secure aggregation refuses terms",
}


def entries() -> set[Place]:
    """The command, the Flower apps, the worker, the exported names, the programs of templates and pages."""
    found = {
        ("discreet.__main__", LOOSE),
        ("discreet.cli", "main"),
        *((f"discreet.cli.{name}", name) for name in SUMMARIES),
        ("discreet.engines.flower.server_app", "app"),
        ("discreet.engines.flower.client_app", "app"),
        ("discreet.engines.flower.up.resident", LOOSE),  # started by its path
        ("discreet.engines.local.worker", "main"),  # started by a line of text
        *(("discreet.engines.local", name) for name in ("__getattr__", "__dir__")),
        *(("discreet", name) for name in ("__getattr__", "__dir__")),
    }
    for package in (discreet, discreet.engines.local):
        found |= {(f"{package.__name__}.{home}", name) for name, home in package._HOME_OF.items()}
    found |= set(_methods_for_programs())
    for template in SOURCE.rglob("*.py.tmpl"):
        found |= imported_names(template.read_text(encoding="utf-8"))
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for program in re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S):
            found |= imported_names(program)
    for program in (*(ROOT / "docs").glob("*.py"), *(ROOT / "examples").glob("*.py")):
        found |= imported_names(program.read_text(encoding="utf-8"))
    return found


def _methods_for_programs() -> Iterator[Place]:
    """Yields the public methods of exported classes, and those by which a notebook shows them."""
    estimators = (FederatedClassifier, FederatedRegressor)
    for exported in (*(getattr(discreet, name) for name in discreet.__all__), *estimators):
        if isinstance(exported, type):
            yield exported.__module__, exported.__name__
            for method in vars(exported):
                if not method.startswith("_") or method.startswith("_repr_"):
                    yield exported.__module__, f"{exported.__name__}.{method}"


def allowed(place: Place) -> bool:
    return place[0] in ALLOWED or ":".join(place) in ALLOWED


def test_every_definition_is_reached_by_an_entry_point() -> None:
    package = Package(SOURCE)
    unreached = sorted(set(package.definitions()) - package.reached(entries()))
    assert [":".join(place) for place in unreached if not allowed(place)] == []
    needed = {key for place in unreached for key in (place[0], ":".join(place)) if key in ALLOWED}
    assert needed == set(ALLOWED), "what is reached, or gone, needs no exception"


@pytest.fixture
def small(tmp_path: Path) -> Package:
    """A package of two modules in which some definitions are dead."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "__init__.py").write_text("from small.shapes import area\n__all__ = ['area', 'Unused']\n")
    (folder / "shapes.py").write_text(
        "class Shape:\n"
        "    def size(self): return helper()\n"
        "    def dead(self): return 0\n"
        "class Circle(Shape): ...\n"
        "class OnlyToldApart: ...\n"
        "class OnlyInAUnion: ...\n"
        "Either = Circle | OnlyInAUnion\n"
        "def checked(): return dict\n"
        "@dataclass(frozen=True)\n"
        "class Holder:\n"
        "    held: Either\n"
        "    note: Annotated[str, checked()]\n"
        "def area(shape: OnlyToldApart):\n"
        "    if isinstance(shape, OnlyToldApart): return Holder(shape)\n"
        "    return Circle().size()\n"
        "def helper(): return TABLE\n"
        "def in_table(): return 1\n"
        "TABLE = {1: in_table}\n"
        "def unused(): return area\n"
    )
    (folder / "main.py").write_text(
        "import other\napp = other.App()\n@app.command()\ndef registered(): ...\ndef alone(): ...\n"
    )
    return Package(folder)


def test_dead_definitions_are_found_and_live_ones_are_not(small: Package) -> None:
    dead = set(small.definitions()) - small.reached([("small", "area"), ("small.main", "app")])
    assert {name for _, name in dead} == {"Shape.dead", "OnlyToldApart", "OnlyInAUnion", "unused", "alone"}
