"""The framework: nothing is lost, nothing passes by accident, the exit code tells."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.cli.reproduce import Scale as Asked
from discreet.cli.reproduce import beside_source
from discreet.errors import ConfigurationError
from reproducing import (
    Choice,
    Computed,
    Context,
    Expected,
    Row,
    Scale,
    Score,
    Skipped,
    Verdict,
    carry_out,
    catalogue,
    find,
    read_computed,
)

ROOT = Path(__file__).parents[2]
SCRIPT = """
from reproducing import Computed, Skipped

def cells(context):
    yield Computed("a", reproduced={a}, ours=2.0)
    if context.scale.value == "full":
        yield Skipped("b", "no data") if context.data is None else Computed("b", ours=1.0)
"""
LONG = """
from reproducing import Computed, Deferred

def cells(context):
    for name, value in (("MNIST", {a}), ("Fashion", 3.0)):
        yield Deferred(name, lambda name=name, value=value: Computed(name, reproduced=value, note="long"))
"""
LONG_EXPECTED = {
    "title": "Long cells",
    "paper": "A paper",
    "quantity": "accuracy",
    "cells": {
        "any": {
            "MNIST": {"where": "Table 9", "published": 1.0, "tolerance": 0.1},
            "Fashion": {"where": "Table 9", "published": 3.0, "tolerance": 0.1},
        }
    },
}
EXPECTED = {
    "title": "A table",
    "paper": "A paper",
    "quantity": "ε",
    "cells": {
        "any": {"a": {"where": "Table 9", "published": 1.0, "tolerance": 0.1, "ours_at_least": 1.5}},
        "full": {"b": {"where": "Table 9", "ours": 1.0}},
    },
}


BOTH = Expected("t", published=1.0, ours_at_most=4.0)
BESIDE = Expected("t", published=1.0, not_compared="other data")


def make(
    root: Path,
    *,
    a: float = 1.05,
    expected: object = EXPECTED,
    name: str = "a-table",
    script: str = SCRIPT,
) -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "reproduction.py").write_text(script.format(a=a))
    (folder / "expected.json").write_text(json.dumps(expected))
    return root


def context(root: Path, scale: Scale, data: Path | None = None) -> Context:
    return Context(scale, root / "a-table", data)


@pytest.mark.parametrize(
    ("cell", "expected", "verdict"),
    [
        (Computed("c", reproduced=1.1), Expected("t", published=1.0, tolerance=0.11), Verdict.WITHIN),
        (Computed("c", reproduced=1.12), Expected("t", published=1.0, tolerance=0.11), Verdict.OUTSIDE),
        (Computed("c", reproduced=0.88), Expected("t", published=1.0, tolerance=0.11), Verdict.OUTSIDE),
        (Computed("c"), Expected("t", published=1.0, tolerance=0.11), Verdict.OUTSIDE),
        (Computed("c", reproduced=math.nan), Expected("t", published=1.0, tolerance=9.0), Verdict.OUTSIDE),
        (Computed("c", ours=1.0), Expected("t", published=1.0, tolerance=9.0), Verdict.OUTSIDE),
        (Computed("c", reproduced=1.1), Expected("t", reproduced=1.0, tolerance=0.11), Verdict.UNCHANGED),
        (Computed("c", reproduced=1.12), Expected("t", reproduced=1.0, tolerance=0.11), Verdict.CHANGED),
        (Computed("c", ours=3.0), Expected("t", ours_at_least=3.0, ours_at_most=4.0), Verdict.UNCHANGED),
        (Computed("c", ours=2.9), Expected("t", ours_at_least=3.0), Verdict.CHANGED),
        (Computed("c", ours=4.1), Expected("t", ours_at_most=4.0), Verdict.CHANGED),
        (Computed("c"), Expected("t", ours_at_most=4.0), Verdict.CHANGED),
        (Computed("c", ours=1.0), Expected("t", ours=1.2, ours_tolerance=0.1), Verdict.CHANGED),
        (Computed("c", reproduced=1.0, ours=5.0), BOTH, Verdict.CHANGED),
        (Computed("c", reproduced=2.0, ours=5.0), BOTH, Verdict.OUTSIDE),
        (Computed("c", reproduced=1.0), BESIDE, Verdict.NOT_REPRODUCED),
        (Computed("c", reproduced=1.0), Expected("t", not_compared="other data"), Verdict.NOT_REPRODUCED),
        (Computed("c", ours=1.0), BESIDE, Verdict.SHOWN),
        (Computed("c", ours=1.0), Expected("t", ours=1.0, not_compared="x"), Verdict.UNCHANGED),
        (Computed("c", ours=1.0), Expected("t"), Verdict.SHOWN),
        (Skipped("c", "why"), Expected("t", published=1.0), Verdict.SKIPPED),
    ],
)  # fmt: skip
def test_verdicts(cell: Computed | Skipped, expected: Expected, verdict: Verdict) -> None:
    assert Row(cell, expected).verdict is verdict


def test_scales_have_their_own_cells(tmp_path: Path) -> None:
    reproduction = find(make(tmp_path), "a-table")
    assert [row.cell.name for row in carry_out(reproduction, context(tmp_path, Scale.SMALL))] == ["a"]
    full = carry_out(reproduction, context(tmp_path, Scale.FULL))
    assert [row.verdict for row in full] == [Verdict.WITHIN, Verdict.SKIPPED]
    with_data = carry_out(reproduction, context(tmp_path, Scale.FULL, tmp_path))
    assert [row.verdict for row in with_data] == [Verdict.WITHIN, Verdict.UNCHANGED]


def test_a_missing_cell_is_an_error(tmp_path: Path) -> None:
    expected = json.loads(json.dumps(EXPECTED))
    expected["cells"]["any"]["z"] = {"where": "Table 9"}
    reproduction = find(make(tmp_path, expected=expected), "a-table")
    with pytest.raises(ConfigurationError, match="'z' is missing"):
        carry_out(reproduction, context(tmp_path, Scale.SMALL))


def test_an_unexpected_cell_is_an_error(tmp_path: Path) -> None:
    expected = EXPECTED | {"cells": {"any": {}}}
    reproduction = find(make(tmp_path, expected=expected), "a-table")
    with pytest.raises(ConfigurationError, match="'a' is not"):
        carry_out(reproduction, context(tmp_path, Scale.SMALL))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"published": 1.0}, "where"),
        ({"where": "x", "tol": 1}, "'tol'"),
        ({"where": "x", "ours": "1"}, "number"),
        ({"where": "x", "published": 1.0, "reproduced": 1.1}, "cell 'a'.*not to both"),
    ],
)
def test_malformed_expectations_are_refused(tmp_path: Path, entry: dict[str, object], message: str) -> None:
    make(tmp_path, expected=EXPECTED | {"cells": {"any": {"a": entry}}})
    with pytest.raises(ConfigurationError, match=message):
        catalogue(tmp_path)


def test_unknown_names_and_empty_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="holds none"):
        catalogue(tmp_path)
    with pytest.raises(ConfigurationError, match="Did you mean 'a-table'"):
        find(make(tmp_path), "a-tabel")


def invoke(root: Path, *arguments: str) -> tuple[int, str]:
    out = root.parent / "out"
    result = CliRunner().invoke(
        app,
        ["reproduce", *arguments, "--from", str(root), "--out", str(out)],
        env={"COLUMNS": "160", "DISCREET_DATA": ""},
    )
    return result.exit_code, result.output


def test_command_writes_csv_and_figure(tmp_path: Path) -> None:
    code, output = invoke(make(tmp_path / "papers"), "a-table")
    assert code == 0
    assert "within" in output
    with (tmp_path / "out" / "a-table-small.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row == {
        "cell": "a", "published": "1", "reproduced": "1.05", "tolerance": "0.1", "ours": "2",
        "ours_expected": "≥ 1.5", "verdict": "within", "where": "Table 9", "note": "",
    }  # fmt: skip
    assert "<svg" in (tmp_path / "out" / "a-table-small.svg").read_text()


def test_exit_code_is_one_outside_the_tolerance(tmp_path: Path) -> None:
    root = make(tmp_path / "papers")
    make(root, a=1.2, name="another")
    assert invoke(root, "a-table")[0] == 0
    assert invoke(root, "another")[0] == 1
    code, output = invoke(root, "--all", "--json")
    assert code == 1
    rows = json.loads(output)
    assert rows["a-table"][0]["verdict"] == "within"
    assert rows["another"][0]["verdict"] == "OUTSIDE"


def long_cells(root: Path, *, a: float) -> Path:
    return make(root, a=a, expected=LONG_EXPECTED, script=LONG)


def test_unwanted_long_cells_are_neither_computed_nor_invented(tmp_path: Path) -> None:
    reproduction = find(long_cells(tmp_path, a=1.0), "a-table")
    rows = carry_out(reproduction, context(tmp_path, Scale.FULL), choice=Choice("MN*"))
    assert [row.cell for row in rows] == [
        Computed("MNIST", reproduced=1.0, note="long"),
        Skipped("Fashion", "not run"),
    ]
    assert all(
        row.verdict is Verdict.WITHIN for row in carry_out(reproduction, context(tmp_path, Scale.FULL))
    )


def test_chosen_cells_are_added_to_what_the_csv_says(tmp_path: Path) -> None:
    root = long_cells(tmp_path / "papers", a=1.0)
    csv_file = tmp_path / "out" / "a-table-small.csv"
    code, output = invoke(root, "a-table", "--cell", "MN*")
    assert code == 0
    assert (
        "2 cells: 1 within, 0 OUTSIDE, 0 unchanged, 0 CHANGED, 0 not reproduced, 0 shown, 1 skipped" in output
    )
    assert "skipped: 1, because not run" in output
    assert set(read_computed(csv_file)) == {"MNIST"}
    long_cells(tmp_path / "papers", a=1.05)
    assert invoke(root, "a-table", "--cell", "F*")[0] == 0
    assert read_computed(csv_file) == {
        "MNIST": Computed("MNIST", reproduced=1.0, note="long"),
        "Fashion": Computed("Fashion", reproduced=3.0, note="long"),
    }
    assert invoke(root, "a-table")[0] == 0
    assert read_computed(csv_file)["MNIST"].reproduced == 1.05


def test_a_kept_cell_is_judged_by_the_present_expectations(tmp_path: Path) -> None:
    root = long_cells(tmp_path / "papers", a=1.2)
    assert invoke(root, "a-table")[0] == 1
    assert invoke(root, "a-table", "--cell", "F*")[0] == 1


def test_a_script_may_draw_figures_of_its_own(tmp_path: Path) -> None:
    drawing = SCRIPT + '\ndef draw(folder):\n    (folder / "curves.csv").write_text("a")\n'
    assert invoke(make(tmp_path / "papers", script=drawing), "a-table")[0] == 0
    assert (tmp_path / "out" / "a-table-small" / "curves.csv").read_text() == "a"
    make(tmp_path / "papers", name="plain")
    assert invoke(tmp_path / "papers", "plain")[0] == 0
    assert not (tmp_path / "out" / "plain-small").exists()


def test_a_csv_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ConfigurationError, match="earlier run"):
        read_computed(path)
    assert read_computed(tmp_path / "missing.csv") == {}


def test_without_a_name_they_are_listed(tmp_path: Path) -> None:
    root = make(tmp_path / "papers")
    assert "A table" in invoke(root)[1]
    assert json.loads(invoke(root, "--json")[1]) == {"a-table": "A table"}


PLANTED = "open('planted', 'w').close()"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """An installation without a checkout, in which somebody has put code of his own wherever he could."""
    site = tmp_path / "lib" / "site-packages"
    site.mkdir(parents=True)
    (site / "discreet").symlink_to(ROOT / "src" / "discreet")
    for place in (tmp_path / "lib", tmp_path / "here", site):
        for folder in (place / "reproductions", place / "reproductions" / "p1-table1"):
            (folder / "reproducing").mkdir(parents=True, exist_ok=True)
            for module in ("__init__", "command"):
                (folder / "reproducing" / f"{module}.py").write_text(PLANTED)
        (place / "pyproject.toml").touch()
    return site


def reproduce_from(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "discreet", "reproduce", *arguments],
        cwd=site.parents[1] / "here",
        env=os.environ | {"PYTHONPATH": str(site), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("p1-table1",), ("--all",), ("p1-table1", "--from", "papers")])
def test_a_wheel_says_where_they_are_and_runs_nobodys_code(wheel: Path, arguments: tuple[str, ...]) -> None:
    (wheel.parents[1] / "here" / "papers").mkdir()
    done = reproduce_from(wheel, *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "need a checkout of the source repository, in its folder 'reproductions'" in done.stderr
    assert not list(wheel.parents[1].rglob("planted"))


def test_planted_code_would_have_been_seen(wheel: Path) -> None:
    reproduce_from(wheel, "--from", "reproductions")
    assert (wheel.parents[1] / "here" / "planted").exists()


def test_a_wheel_takes_the_folder_that_is_named(wheel: Path) -> None:
    done = reproduce_from(wheel, "--from", str(ROOT / "reproductions"), "--json")
    assert "p1-table1" in json.loads(done.stdout)
    assert not list(wheel.parents[1].rglob("planted"))


def test_help_needs_no_checkout(wheel: Path) -> None:
    done = reproduce_from(wheel, "--help")
    assert done.returncode == 0
    assert "small|full" in done.stdout


def test_a_checkout_has_them_beside_its_source() -> None:
    assert beside_source(ROOT / "src" / "discreet") == ROOT / "reproductions"
    assert [scale.value for scale in Asked] == [scale.value for scale in Scale]


def test_a_score_is_a_mean_with_its_standard_error() -> None:
    """Deviation 2 with the unbiased denominator, over the root of three seeds."""
    several = Score((80.0, 82.0, 84.0))
    assert several.mean == 82.0
    assert several.error == pytest.approx(2.0 / math.sqrt(3.0))
    assert several.note == "± 1.15 over 3 seeds"
    assert math.isnan(Score((80.0,)).error)
    assert Score((80.0,)).note == "one seed"
