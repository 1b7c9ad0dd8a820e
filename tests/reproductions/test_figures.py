"""Figures: curves of cells and over cells, kept between runs, small and the same every time."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from discreet.errors import ConfigurationError
from reproducing import (
    Chart,
    Computed,
    Curve,
    Expected,
    Reproduction,
    Row,
    Scale,
    Skipped,
    catalogue,
    curves_of_cells,
    curves_over_cells,
    find,
    read_computed,
    write_csv,
    write_figure,
)

ROOT = Path(__file__).parents[2] / "reproductions"
PAPERS = Expected("Figure 9", published=86.0)
OURS = Expected("here")
GROWING = Computed("theirs", reproduced=80.0, curve=((1.0, 60.0), (2.0, 75.5), (3.0, 80.0)))
ROWS = [
    Row(GROWING, PAPERS),
    Row(Computed("ours", ours=87.0), OURS),
    Row(Skipped("later", "not run"), Expected("Figure 9", published=70.0)),
]
CHARTING = """
from reproducing import curves_of_cells

def cells(context):
    yield from ()

def chart(rows):
    return curves_of_cells(rows, "round")
"""


def reproduction(folder: Path, script: str) -> Reproduction:
    (folder / "figure").mkdir()
    (folder / "figure" / "reproduction.py").write_text(script)
    expected = {"title": "Title", "paper": "A paper", "quantity": "accuracy, %", "cells": {}}
    (folder / "figure" / "expected.json").write_text(json.dumps(expected))
    return find(folder, "figure")


def test_every_computed_cell_is_in_the_chart_and_published_numbers_are_levels() -> None:
    assert curves_of_cells(ROWS, "round") == Chart(
        "round",
        (
            Curve("theirs", GROWING.curve, ((1.0, 86.0), (3.0, 86.0))),
            # A cell that kept no curve stands where the others end.
            Curve("ours", ((3.0, 87.0),)),
            Curve("later", ()),
        ),
    )


def test_cells_of_one_series_make_a_curve_with_gaps() -> None:
    rows = [
        Row(Computed("20 rounds: ours", ours=3.0), OURS),
        Row(Computed("5 rounds: ours", ours=1.0), OURS),
        Row(Skipped("10 rounds: ours", "not run"), OURS),
        Row(Computed("5 rounds: theirs", reproduced=2.0), PAPERS),
    ]
    ours, theirs = curves_over_cells(rows, "rounds", separator=" rounds: ").curves
    assert ours == Curve("ours", ((5.0, 1.0), (20.0, 3.0)))
    assert theirs == Curve("theirs", ((5.0, 2.0),), ((5.0, 86.0),))


@pytest.mark.parametrize("name", ["ours", "many rounds: ours"])
def test_a_cell_without_a_number_of_rounds_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"got '{name}'"):
        curves_over_cells([Row(Computed(name, ours=1.0), OURS)], "rounds", separator=" rounds: ")


def test_curves_are_read_back_from_beside_the_table(tmp_path: Path) -> None:
    path = tmp_path / "figure-full.csv"
    write_csv(path, ROWS)
    assert "60" not in path.read_text()
    assert (tmp_path / "figure-full" / "curves.csv").read_text().splitlines()[:2] == [
        "cell,round,value",
        "theirs,1,60",
    ]
    assert read_computed(path) == {"theirs": GROWING, "ours": Computed("ours", ours=87.0)}


def test_no_curve_no_file(tmp_path: Path) -> None:
    write_csv(tmp_path / "table-full.csv", ROWS[1:])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table-full.csv"]


def test_a_curve_of_another_run_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "figure-full.csv"
    write_csv(path, ROWS)
    path.write_text(path.read_text().replace("theirs,86,80,", "theirs,86,81,"))
    assert read_computed(path)["theirs"] == Computed("theirs", reproduced=81.0)
    write_csv(path, [Row(cell, OURS) for cell in read_computed(path).values()])
    assert not (tmp_path / "figure-full" / "curves.csv").exists()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "results").glob("*/curves.csv")), ids=lambda path: path.parent.name
)
def test_committed_curves_end_at_the_committed_numbers(path: Path) -> None:
    """Otherwise they are of another run: run the cell again, or delete its lines."""
    with path.open(encoding="utf-8") as file:
        names = {line["cell"] for line in csv.DictReader(file)}
    cells = read_computed(path.parent.with_suffix(".csv"))
    assert names == {cell.name for cell in cells.values() if cell.curve}


def test_a_curves_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ROWS)
    (tmp_path / "a" / "curves.csv").write_text("cell,round\ntheirs,1\n")
    with pytest.raises(ConfigurationError, match="CSV of an earlier run"):
        read_computed(tmp_path / "a.csv")


def test_figures_are_small_named_in_words_and_the_same_every_time(tmp_path: Path) -> None:
    item = reproduction(tmp_path, CHARTING)
    files = [tmp_path / name for name in ("one.svg", "two.svg")]
    for file in files:
        write_figure(file, item, Scale.FULL, ROWS)
    text = files[0].read_text(encoding="utf-8")
    assert text == files[1].read_text(encoding="utf-8")
    assert len(text) < 60_000
    for words in (
        "Title (full scale)",
        "accuracy, %",
        ">round<",
        ">theirs<",
        ">published: theirs<",
        ">ours<",
    ):
        assert words in text
    assert "later" not in text
    assert text.count("stroke-dasharray") == 2, "the published level, in the axes and in the legend"


@pytest.mark.parametrize("script", [CHARTING, CHARTING.partition("def chart")[0]])
def test_without_curves_the_cells_are_dots(tmp_path: Path, script: str) -> None:
    file = tmp_path / "dots.svg"
    write_figure(file, reproduction(tmp_path, script), Scale.SMALL, ROWS[1:])
    text = file.read_text(encoding="utf-8")
    assert ">ours, proven<" in text
    assert ">later<" in text


@pytest.mark.parametrize("name", ["p1-figure1", "p1-figure2", "p1-figure3"])
def test_figures_of_the_first_paper_have_a_curve_for_each_method(name: str) -> None:
    item = next(item for item in catalogue(ROOT) if item.name == name)
    expected = item.expectations.cells[Scale.FULL]
    chart = item.chart([Row(Skipped(cell, "not run"), target) for cell, target in expected.items()])
    assert chart is not None
    methods = {cell.rpartition(" rounds: ")[2] for cell in expected}
    assert {curve.label for curve in chart.curves} == methods
    assert len(methods) >= 3
