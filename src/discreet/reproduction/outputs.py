"""What a reproduction leaves behind: a CSV with every number, and a figure of it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.reproduction.catalogue import Reproduction
from discreet.reproduction.rows import Computed, Row, Skipped, Verdict
from discreet.reproduction.scale import Scale

HEADER = (
    "cell", "published", "reproduced", "tolerance", "ours", "ours_expected", "verdict", "where", "note",
)  # fmt: skip
_ROW_HEIGHT = 0.28


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Writes one line a cell, numbers in full precision of six digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(_line(row) for row in rows)


def read_computed(path: Path) -> dict[str, Computed]:
    """Reads the computed cells of a CSV back, by name; none if there is no such file yet.

    Raises:
        ConfigurationError: if the file is not what `write_csv` writes.
    """
    if not path.exists():
        return {}
    try:
        with path.open(encoding="utf-8") as file:
            return {
                line["cell"]: Computed(
                    line["cell"], _parsed(line["reproduced"]), _parsed(line["ours"]), line["note"]
                )
                for line in csv.DictReader(file)
                if line["verdict"] != Verdict.SKIPPED.value
            }
    except (KeyError, ValueError) as error:
        raise ConfigurationError(
            f"{path} must be the CSV of an earlier run; reading it gave: {error}. Choose another --out."
        ) from None


def _parsed(number: str) -> float | None:
    return float(number) if number else None


def _line(row: Row) -> tuple[str, ...]:
    expected = row.expected
    tolerance = "" if expected.reproduced is None else f"{expected.tolerance:g}"
    match row.cell:
        case Computed(name=name, reproduced=reproduced, ours=ours, note=note):
            numbers = (_number(expected.published), _number(reproduced), tolerance, _number(ours))
        case Skipped(name=name, reason=note):
            numbers = (_number(expected.published), "", tolerance, "")
    return (name, *numbers, ours_expectation(row), row.verdict.value, expected.where, note)


def ours_expectation(row: Row) -> str:
    """Says in a few signs what our own number had to be."""
    expected = row.expected
    parts = []
    if expected.ours is not None:
        parts.append(f"{expected.ours:g} ± {expected.ours_tolerance:g}")
    if expected.ours_at_least is not None:
        parts.append(f"≥ {expected.ours_at_least:g}")
    if expected.ours_at_most is not None:
        parts.append(f"≤ {expected.ours_at_most:g}")
    return ", ".join(parts)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def write_figure(path: Path, reproduction: Reproduction, scale: Scale, rows: Sequence[Row]) -> None:
    """Draws published, reproduced and ours, a line of dots for each cell; SVG or PNG by the suffix."""
    # matplotlib takes a second to import, and only figures need it.
    from matplotlib.figure import Figure

    names = [row.cell.name for row in rows]
    figure = Figure(figsize=(8.0, 1.2 + _ROW_HEIGHT * len(rows)), layout="constrained")
    axes = figure.subplots()
    series = {
        "published": ("o", "black", [row.expected.published for row in rows]),
        "reproduced here": ("x", "tab:orange", [getattr(row.cell, "reproduced", None) for row in rows]),
        "ours, proven": ("D", "tab:blue", [getattr(row.cell, "ours", None) for row in rows]),
    }
    for label, (marker, color, values) in series.items():
        places = [place for place, value in enumerate(values) if value is not None]
        shown = [value for value in values if value is not None]
        if shown:
            axes.plot(shown, places, marker, color=color, fillstyle="none", label=label)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(reproduction.expectations.quantity)
    axes.set_title(f"{reproduction.expectations.title} ({scale.value} scale)", fontsize=10)
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
