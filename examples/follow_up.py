"""Four hospitals' follow-up after treatment, made up: stages, times, deaths, and blanks.

    python examples/follow_up.py FOLDER

It writes north.csv, south.csv, east.csv and west.csv there. Stage and age shorten survival, treatment
lengthens it; no number in them is from a real person.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

COLUMNS = ("patient", "age", "stage", "treatment", "pressure", "days", "died")
SIZES = {"north": 420, "south": 310, "east": 260, "west": 180}
_LAST_DAY = 1825
_BLANK = 0.03


def row(chance: random.Random, name: str) -> dict[str, str]:
    """One patient, with blanks here and there."""
    age, stage = chance.randint(35, 90), chance.choices(("I", "II", "III"), (5, 3, 2))[0]
    treatment = chance.choice(("standard", "new"))
    hazard = {"I": 0.00025, "II": 0.0006, "III": 0.0014}[stage] * 1.02 ** (age - 60)
    hazard *= 0.7 if treatment == "new" else 1.0
    death, seen = chance.expovariate(hazard), chance.uniform(365, _LAST_DAY)
    cells = {
        "patient": name,
        "age": str(age),
        "stage": stage,
        "treatment": treatment,
        "pressure": f"{chance.gauss(110 + 0.45 * age, 14):.0f}",
        "days": f"{min(death, seen):.0f}",
        "died": "yes" if death < seen else "no",
    }
    for column in ("age", "pressure", "stage"):
        if chance.random() < _BLANK:
            cells[column] = ""
    return cells


def main(folder: Path) -> None:
    """Writes all tables."""
    chance = random.Random(11)  # noqa: S311 (nothing here is secret)
    folder.mkdir(parents=True, exist_ok=True)
    for hospital, size in SIZES.items():
        with (folder / f"{hospital}.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, COLUMNS)
            table.writeheader()
            table.writerows(row(chance, f"{hospital}-{number}") for number in range(size))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
