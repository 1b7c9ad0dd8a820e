"""Runs the benchmarks of speed in turn and writes their numbers into docs/performance.md as one table.

    make bench                                  # what needs neither data nor peers, about ten minutes
    make bench DATA=DIR                         # adds what runs on Fashion-MNIST
    python bench/speed_table.py --print               # prints the table and writes nothing

Close what else runs: the machine should be quiet. `make bench BENCH=tables` runs one script of this folder.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rows import KEPT_IN, Row, kept

BENCH = Path(__file__).parent
PAGE = BENCH.parent / "docs" / "performance.md"
BEGIN, END = "<!-- written by `make bench`: begin -->", "<!-- end -->"


def commands(data: Path | None, flower: str | None) -> Iterator[tuple[str, ...]]:
    """The scripts of the table, each with its arguments."""
    yield ("training.py",)
    if data is not None:
        yield ("tangent.py", "--data-dir", str(data))
    peers = ("--peer-python", flower) if flower else ()
    yield ("secagg.py", "--only", "round", "threads", "sparse", *peers)
    yield ("flower_scale.py", "--clients", "1000")
    yield ("start.py", *(("--flower-python", flower) if flower else ()))


def measured(command: tuple[str, ...], folder: Path) -> list[Row]:
    """Runs one script, whose output is shown, and returns the rows that it kept."""
    rows = folder / f"{command[0]}.jsonl"
    subprocess.run(
        [sys.executable, str(BENCH / command[0]), *command[1:]],
        check=True, env=os.environ | {KEPT_IN: str(rows)},
    )  # fmt: skip
    return kept(rows)


def table(measurements: dict[str, list[Row]]) -> str:
    """The rows in Markdown, with the goals that were set and whether they are met."""
    lines = [f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}.", ""]
    lines += ["| what | measured | goal | script |", "|---|---|---|---|"]
    for script, rows in measurements.items():
        lines += [f"| {row.what} | {number(row)} | {goal(row)} | `{script}` |" for row in rows]
    return "\n".join(lines)


def number(row: Row) -> str:
    """Three digits, and the unit."""
    return f"{row.value:.3g} {row.unit}"


def goal(row: Row) -> str:
    """What was to be reached; a miss is told."""
    if row.goal is None:
        return "–"
    sign = "≥" if row.more_is_better else "≤"
    return f"{sign} {row.goal:g} {row.unit}" + ("" if row.met else ", **missed**")


def written(page: str, new: str) -> str:
    """The page with the table in place of the one before."""
    before, marked, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (marked and ended):
        raise SystemExit(f"{PAGE.name} must hold the lines {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{new}\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", type=Path, help="a folder with fashion_mnist.npz")
    parser.add_argument(
        "--flower-python", help="a Python that has discreet[flower]: adds `discreet up` and SecAgg+"
    )
    parser.add_argument("--print", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = commands(options.data_dir, options.flower_python)
        new = table({command[0]: measured(command, Path(folder)) for command in runs})
    print(new)
    if not options.print:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), new), encoding="utf-8")


if __name__ == "__main__":
    main()
