"""Visits of patients, made up from the heart-disease table that ships with discreet: who is at risk?

    python examples/visits.py FOLDER

It writes a table for each hospital there. Each patient of the real table becomes a person with 1 to 20
visits, half of them with 1 or 2; a visit repeats the patient's numbers with some noise, as another
measurement would. Nobody had these visits: patient and outcome are real, the visits are not.
"""

from __future__ import annotations

import csv
import gzip
import random
import sys
from importlib import resources
from pathlib import Path

MOST_VISITS = 20
# How far a second measurement strays from the first.
NOISE = {"trestbps": 8.0, "chol": 15.0, "thalach": 8.0, "oldpeak": 0.3}
_ONE_MORE = 0.72


def patients() -> list[dict[str, str]]:
    """Returns the rows of the table, one a patient."""
    raw = resources.files("discreet.data.bundled").joinpath("heart_disease.csv.gz").read_bytes()
    return list(csv.DictReader(gzip.decompress(raw).decode().splitlines()))


def visits(chance: random.Random) -> int:
    """Draws how many visits a patient has: often one, seldom twenty."""
    count = 1
    while count < MOST_VISITS and chance.random() < _ONE_MORE:
        count += 1
    return count


def visit(chance: random.Random, patient: dict[str, str]) -> dict[str, str]:
    """Measures a patient once more; what was not measured stays blank."""
    cells = dict(patient)
    if cells["chol"] and float(cells["chol"]) == 0.0:
        cells["chol"] = ""
    for column, spread in NOISE.items():
        if cells[column]:
            cells[column] = f"{max(0.0, float(cells[column]) + chance.gauss(0.0, spread)):.1f}"
    return cells


def main(folder: Path) -> None:
    """Writes a table for each hospital."""
    chance = random.Random(11)  # noqa: S311 (nothing here is secret)
    folder.mkdir(parents=True, exist_ok=True)
    by_hospital: dict[str, list[dict[str, str]]] = {}
    for number, patient in enumerate(patients()):
        named = {"patient": f"P{number:04d}", **patient}
        own = by_hospital.setdefault(patient["hospital"], [])
        own += [visit(chance, named) for _ in range(visits(chance))]
    for hospital, rows in by_hospital.items():
        chance.shuffle(rows)
        with (folder / f"{hospital}.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(
                file, [name for name in rows[0] if name != "hospital"], extrasaction="ignore"
            )
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
