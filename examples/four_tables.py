"""Four hospitals' tables as they are, made up: blanks, dates, labels in words, other orders of columns.

    python examples/four_tables.py FOLDER

It writes north.csv, south.csv, east.csv and west.csv there, and new.csv beside the folder: patients whose
outcome is not known yet. Age, pressure and smoking carry risk; no number in them is from a real person.
"""

from __future__ import annotations

import csv
import random
import sys
from datetime import date, timedelta
from pathlib import Path

COLUMNS = ("patient", "admitted", "age", "pressure", "smoker", "ward", "comment", "readmitted")
ORDERS = {
    "north": COLUMNS,
    "south": ("readmitted", *COLUMNS[:-1]),
    "east": ("comment", "age", "smoker", "pressure", "patient", "readmitted", "admitted", "ward"),
    "west": tuple(reversed(COLUMNS)),
}
_BLANK = 0.08


def row(chance: random.Random, name: str) -> dict[str, str]:
    """One patient, with blanks here and there."""
    age, pressure = chance.randint(25, 95), round(chance.gauss(140, 22), 1)
    smoker = chance.choice(("never", "former", "current"))
    admitted = date(2015, 1, 1) + timedelta(days=chance.randint(0, 3200))
    risk = (age - 60) / 15 + (pressure - 140) / 25 + {"never": -0.8, "former": 0.0, "current": 0.8}[smoker]
    cells = {
        "patient": name,
        "admitted": admitted.isoformat(),
        "age": str(age),
        "pressure": str(pressure),
        "smoker": smoker,
        "ward": chance.choice(("A", "B", "C")),
        "comment": chance.choice(("", "ok", 'said "well", left', "see file; twice")),
        "readmitted": "yes" if risk + chance.gauss(0, 0.8) > 0 else "no",
    }
    for column in ("admitted", "pressure", "smoker"):
        if chance.random() < _BLANK:
            cells[column] = ""
    return cells


def write(path: Path, columns: tuple[str, ...], rows: list[dict[str, str]]) -> None:
    """Writes a table with its columns in this order."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def main(folder: Path) -> None:
    """Writes all tables."""
    chance = random.Random(4)  # noqa: S311 (nothing here is secret)
    folder.mkdir(parents=True, exist_ok=True)
    for silo, columns in ORDERS.items():
        count = chance.randint(250, 340)
        write(folder / f"{silo}.csv", columns, [row(chance, f"{silo}-{n}") for n in range(count)])
    new = [row(chance, f"new-{n}") for n in range(40)]
    write(folder.parent / "new.csv", ("age", "patient", "smoker", "pressure", "admitted"), new)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
