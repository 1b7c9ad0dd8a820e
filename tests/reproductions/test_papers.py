"""Our own reproductions: well-formed, over the public API, and green where no data are needed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from reproducing import Computed, Context, Reproduction, Scale, Verdict, carry_out, catalogue

ROOT = Path(__file__).parents[2] / "reproductions"
ALL = catalogue(ROOT)
WITHOUT_DATA = [
    item for item in ALL
    if item.name in {
        "local-state", "p1-table1", "p2-grid", "p2-silos", "p3-closed-forms", "p3-epsilons", "p4-accounting",
        "schedules", "p2-fedavg", "p4-asynchronous", "p4-late-cut", "p4-clipping",
        "p3-smoothing",
    }
]  # fmt: skip
COMPARED_WITH_OURSELVES = {"auto"}
PUBLIC = {
    "discreet.accounting", "discreet.accounting.bounds",
    "discreet.accounting.gdp", "discreet.errors", "discreet.audit", "discreet.config", "discreet.plan",
    "discreet.data", "discreet.engines.local", "discreet.models", "discreet.models.features",
    "discreet.models.scattering", "discreet.models.transforms", "discreet.privacy.tradeoff",
    "discreet.privacy.adversary", "discreet.privacy.events", "discreet.privacy.units",
    "discreet.randomness",
}  # fmt: skip


def name_of(item: Reproduction) -> str:
    return item.name


@pytest.mark.parametrize("item", WITHOUT_DATA, ids=name_of)
def test_every_number_is_as_expected(item: Reproduction) -> None:
    rows = carry_out(item, Context(Scale.SMALL, item.folder, data=None))
    assert not [row for row in rows if row.verdict.failed or row.verdict is Verdict.SKIPPED]
    assert any(row.verdict in {Verdict.WITHIN, Verdict.UNCHANGED} for row in rows)


@pytest.mark.parametrize("item", [item for item in ALL if item.name in COMPARED_WITH_OURSELVES], ids=name_of)
def test_what_nobody_has_published_is_only_shown(item: Reproduction) -> None:
    rows = carry_out(item, Context(Scale.SMALL, item.folder, data=None))
    assert {row.verdict for row in rows} == {Verdict.SHOWN}
    found = [row.cell.ours for row in rows if isinstance(row.cell, Computed)]
    assert len(found) == len(rows)
    assert all(ours is not None and 50.0 < ours < 100.0 for ours in found)


@pytest.mark.parametrize(
    "item",
    [item for item in ALL if item not in WITHOUT_DATA and item.name not in COMPARED_WITH_OURSELVES],
    ids=name_of,
)
def test_without_data_every_cell_is_skipped_with_a_reason(item: Reproduction) -> None:
    rows = carry_out(item, Context(Scale.SMALL, item.folder, data=None))
    assert {row.verdict for row in rows} == {Verdict.SKIPPED}


@pytest.mark.parametrize("item", ALL, ids=name_of)
def test_each_has_a_readme_that_names_its_command(item: Reproduction) -> None:
    text = (item.folder / "README.md").read_text()
    assert f"discreet reproduce {item.name}" in text


@pytest.mark.parametrize("script", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_scripts_use_the_public_api_only(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text())):
        if isinstance(node, ast.Import):
            assert all(not alias.name.startswith("discreet") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.startswith("discreet"):
                assert node.module in PUBLIC, f"{node.module} is not public"
            assert not any(alias.name.startswith("_") for alias in node.names)
