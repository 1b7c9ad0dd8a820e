"""The results page says what the CSV files say, and the CSV files are of the present expectations."""

from __future__ import annotations

import csv
import math
import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from discreet.errors import ConfigurationError
from reproducing import (
    NOT_RUN,
    PrintedTable,
    Row,
    Scale,
    Skipped,
    Tally,
    Verdict,
    find,
    read_computed,
    read_papers,
    read_verdicts,
    tally,
)

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "reproductions" / "results"
CSVS = sorted(RESULTS.glob("*.csv"))


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a committed CSV."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_page_is_up_to_date() -> None:
    script = ROOT / "docs" / "results.py"
    assert subprocess.run([sys.executable, str(script), "--check"], check=False).returncode == 0


@pytest.mark.parametrize("path", CSVS, ids=lambda path: path.stem)
def test_csv_has_exactly_the_expected_cells(path: Path) -> None:
    name, _, scale = path.stem.rpartition("-")
    expected = find(ROOT / "reproductions", name).expectations.cells[Scale(scale)]
    rows = rows_of(path)
    assert {row["cell"] for row in rows} == set(expected)
    outside = [row for row in rows if Verdict(row["verdict"]).failed]
    assert scale == "full" or not outside
    page = (ROOT / "reproductions" / name / "README.md").read_text(encoding="utf-8")
    # A full-scale number that misses the paper's is kept as it is, and the page must own up to it.
    assert all(f"{float(row['reproduced']):.1f}" in page and "outside" in page for row in outside)
    skipped = [row for row in rows if Verdict(row["verdict"]) is Verdict.SKIPPED]
    assert {row["note"] for row in skipped} <= ({NOT_RUN} if scale == "full" else set())
    assert len(skipped) < len(rows)
    assert path.with_suffix(".svg").exists()


@pytest.mark.parametrize("path", CSVS, ids=lambda path: path.stem)
def test_verdicts_are_those_of_the_present_expectations(path: Path) -> None:
    name, _, scale = path.stem.rpartition("-")
    found = read_computed(path)
    expected = find(ROOT / "reproductions", name).expectations.cells[Scale(scale)]
    judged = {
        cell: Row(found.get(cell, Skipped(cell, NOT_RUN)), target).verdict
        for cell, target in expected.items()
    }
    assert read_verdicts(path) == judged


TABLES = read_papers(ROOT / "reproductions" / "papers.toml")


def test_every_number_that_was_compared_is_one_that_a_paper_prints_once() -> None:
    printed = [(name, row) for table in TABLES for name in table.reproductions for row in table.rows]
    variants = {(name, row) for table in TABLES for name in table.reproductions for row in table.variants}
    assert len(printed) == len(set(printed))
    compared = {
        (path.stem.rpartition("-")[0], cell)
        for path in CSVS
        for cell, verdict in read_verdicts(path).items()
        if verdict.against_paper
    }
    assert compared <= set(printed) | variants
    assert variants <= compared


def test_counts_are_worked_out_from_rows_and_axes() -> None:
    table = PrintedTable(
        "A paper", "Table 9", ("one", "two"), cell="{a}, {b}", axes={"a": ("x", "y"), "b": ("1", "2", "3")}
    )
    verdicts = {
        "one": {
            "x, 1": Verdict.WITHIN,
            "x, 2": Verdict.OUTSIDE,
            "x, 3": Verdict.SKIPPED,
            "z": Verdict.WITHIN,
        },
        "two": {"y, 1": Verdict.WITHIN, "y, 2": Verdict.NOT_REPRODUCED, "y, 3": Verdict.UNCHANGED},
        "three": {"y, 3": Verdict.WITHIN},
    }
    found = tally(table, verdicts, {"two": {"y, 1": "", "y, 2": "other data", "y, 3": ""}})
    assert found == Tally(6, 2, 1, {NOT_RUN: 1, "other data": 1, "unchanged": 1})
    assert (found.compared, found.not_compared) == (3, 3)
    only_one = PrintedTable("A paper", "Table 9", ("one",), cell="{a}", axes={"a": ("z", "w")}, why="lost")
    assert tally(only_one, verdicts, {}) == Tally(2, 1, 0, {"lost": 1})
    counted = PrintedTable("A paper", "Figure 1", ("one",), printed=16, why="no data")
    assert tally(counted, verdicts, {}) == Tally(16, 0, 0, {"no data": 16})


@pytest.mark.parametrize(
    "entry",
    [
        'cell = "{a}"',
        "",
        'cell = "{a}"\nprinted = 1',
        'printed = 1\naxes = { a = ["x"] }',
        "printed = 1\nb = 1",
    ],
)
def test_a_table_gives_axes_or_a_count(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "papers.toml"
    path.write_text(f'[[tables]]\npaper = "A"\nwhere = "B"\nreproductions = []\n{entry}\n')
    with pytest.raises(ConfigurationError, match="what papers print"):
        read_papers(path)


def test_what_is_not_compared_says_why() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for table in TABLES:
        (line,) = (
            line for line in page.splitlines() if line.startswith(f"| {table.paper} | {table.where} |")
        )
        printed, compared, within, outside = (int(number) for number in line.split(" | ")[2:6])
        assert compared == within + outside
        assert (printed == compared) == line.endswith("| – |")
        reasons = re.findall(r"(?:\| |; )(\d+): (\w[^;|]+)", line)
        assert sum(int(count) for count, _ in reasons) == printed - compared
        assert {reason.strip() for _, reason in reasons}.isdisjoint(verdict.value for verdict in Verdict)


def measured(stem: str) -> dict[str, float]:
    """What the paper's method gave, by cell, in a committed CSV."""
    rows = rows_of(RESULTS / f"{stem}.csv")
    return {row["cell"]: float(row["reproduced"]) for row in rows if row["reproduced"]}


def test_one_epoch_a_round_is_best_for_networks_and_hardly_matters_for_linear_models() -> None:
    found = measured("p2-grid-full")
    schedules = ((2, 10), (4, 5), (5, 4), (10, 2), (20, 1))
    networks = ("CNN+TS", "CNN+TS, batches of 50", "CNN+RL", "CNN+RL, batches of 50", "SN+CNN")
    compared = 0
    for start in ("MNIST, ε = 2.93", "MNIST, ε = 1.2", "Fashion-MNIST, ε = 2.7"):
        for network, most_lost in (("SN+Lin", 2.5), *((network, 100.0) for network in networks)):
            best = found.get(f"{start}, (1, 20), {network}")
            for epochs, rounds in schedules:
                other = found.get(f"{start}, ({epochs}, {rounds}), {network}")
                if best is None or other is None:
                    continue
                compared += 1
                assert best - other <= most_lost
                assert network == "SN+Lin" or other < best
    assert compared == 32


def test_the_better_proven_method_is_as_accurate_as_the_conditional_one_at_every_number_of_rounds() -> None:
    """Figure 2: within two standard errors of the difference, whose sizes the notes tell."""
    rows = {row["cell"]: row for row in rows_of(RESULTS / "p1-figure2-full.csv")}
    error = {
        cell: float(row["note"].removeprefix("± ").partition(" over 3 seeds")[0])
        for cell, row in rows.items()
    }
    for rounds in (10, 20, 40, 80, 160):
        theirs = f"{rounds} rounds: noisy-steps, CONDITIONAL"
        proven = (f"{rounds} rounds: {kind}, PROVEN" for kind in ("single-step", "stable-steps"))
        best = max(proven, key=lambda cell: float(rows[cell]["ours"]))
        behind = float(rows[theirs]["reproduced"]) - float(rows[best]["ours"])
        assert behind <= 2.0 * math.hypot(error[best], error[theirs])
    assert len(rows) == 15


def test_smoothing_gives_back_more_the_more_noise_there_is() -> None:
    found = measured("p3-svhn-full")
    gains = [
        found[f"z = {z}, smoothing 1"] - found[f"z = {z}, smoothing 0"] for z in ("1", "1.1", "1.3", "1.5")
    ]
    assert gains[0] > 0
    assert gains == sorted(gains)


def test_many_steps_help_at_fixed_rounds_and_long_rounds_hurt_a_network_at_fixed_epochs() -> None:
    """The table that both papers' comparisons stand in, and the page that tells of it."""
    found = measured("schedules-full")
    page = (ROOT / "reproductions" / "schedules" / "README.md").read_text(encoding="utf-8")
    lost = {}
    for model, noise in product(("linear", "network"), ("local", "summed")):
        series = f"{model}, {noise} noise"
        epochs = [found[f"{series}, ({e}, {20 // e})"] for e in (1, 2, 4, 5, 10, 20)]
        rounds = [found.get(f"{series}, ({e}, 5)", math.nan) for e in ("one step", 1, 2, 4, 10, 20)]
        for row in (epochs, rounds):
            cells = " | ".join("–" if math.isnan(value) else f"{value:.1f}" for value in row)
            assert f"| {series} | {cells} |" in page
        assert min(rounds[1:4]) - rounds[0] > 8.0
        assert model == "network" or max(epochs) - min(epochs) < 1.0
        lost[series] = epochs[0] - epochs[-1]
    assert lost["network, local noise"] > 2.0 * lost["network, summed noise"] > 4.0


def test_summed_noise_is_worth_the_more_the_more_steps_there_are() -> None:
    found = measured("schedules-full")
    local = {cell: value for cell, value in found.items() if "local noise" in cell}
    gains = {cell: found[cell.replace("local", "summed")] - value for cell, value in local.items()}
    assert all(0.5 < gain < 1.0 for cell, gain in gains.items() if "one step" in cell)
    assert all(2.5 < gain < 6.0 for cell, gain in gains.items() if "one step" not in cell)
