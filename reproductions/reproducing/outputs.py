"""What a reproduction leaves behind: a CSV with every number; curves, if there are any, in one beside it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from discreet.errors import ConfigurationError
from reproducing.rows import Computed, Row, Skipped, Verdict

HEADER = (
    "cell", "published", "reproduced", "tolerance", "ours", "ours_expected", "verdict", "where", "note",
)  # fmt: skip
CURVES_HEADER = ("cell", "round", "value")


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Writes one line a cell, numbers in full precision of six digits; curves, if any, to `curves_file`."""
    _write(path, HEADER, [_line(row) for row in rows])
    cells = [row.cell for row in rows if isinstance(row.cell, Computed)]
    points = [(cell.name, _number(x), _number(y)) for cell in cells for x, y in cell.curve]
    if points:
        _write(curves_file(path), CURVES_HEADER, points)
    else:
        curves_file(path).unlink(missing_ok=True)


def curves_file(path: Path) -> Path:
    """Returns where the curves behind the CSV at ``path`` are: in a folder of its name."""
    return path.with_suffix("") / "curves.csv"


def _write(path: Path, header: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def read_computed(path: Path) -> dict[str, Computed]:
    """Reads the computed cells of a CSV back, by name; none if there is no such file yet.

    A curve that does not end at its cell's number is that of another run, and is left out.

    Raises:
        ConfigurationError: if the files are not what `write_csv` writes.
    """
    try:
        curves: dict[str, list[tuple[float, float]]] = {}
        for point in _lines(curves_file(path)):
            curves.setdefault(point["cell"], []).append((float(point["round"]), float(point["value"])))
        computed = {}
        for line in _lines(path):
            if line["verdict"] == Verdict.SKIPPED.value:
                continue
            name, numbers = line["cell"], (_parsed(line["reproduced"]), _parsed(line["ours"]))
            curve = tuple(curves.get(name, ()))
            own = curve if curve and curve[-1][1] in numbers else ()
            computed[name] = Computed(name, *numbers, line["note"], own)
        return computed
    except (KeyError, ValueError) as error:
        raise ConfigurationError(
            f"{path} must be the CSV of an earlier run; reading it gave: {error}. Choose another --out."
        ) from None


def read_verdicts(path: Path) -> dict[str, Verdict]:
    """Reads what came of every cell of a CSV, by name.

    Raises:
        ConfigurationError: if the file is not what `write_csv` writes.
    """
    try:
        return {line["cell"]: Verdict(line["verdict"]) for line in _lines(path)}
    except (KeyError, ValueError) as error:
        raise ConfigurationError(f"{path} must be the CSV of a run; reading it gave: {error}.") from None


def _lines(path: Path) -> list[dict[str, str]]:
    """Returns the lines of a CSV with a header; none if there is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _parsed(number: str) -> float | None:
    return float(number) if number else None


def _line(row: Row) -> tuple[str, ...]:
    expected = row.expected
    held = expected.compared or expected.reproduced is not None
    tolerance = f"{expected.tolerance:g}" if held else ""
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
