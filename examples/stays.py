"""Stays in three hospitals, made up: how many days will a patient stay?

    python examples/stays.py FOLDER

It writes a table for each hospital there. Nobody had these stays: days grow with age, with other illnesses
and with an unplanned admission, and vary a good deal beside that. Of every hundredth patient no day was
written down.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

HOSPITALS = {"north": 420, "east": 300, "south": 360}
DEPARTMENTS = {"surgery": 1.0, "medicine": 0.0, "heart": 2.5}


def stay(chance: random.Random) -> dict[str, object]:
    """Draws one patient."""
    age, illnesses = chance.randint(18, 95), min(6, int(chance.expovariate(0.6)))
    department = chance.choice(list(DEPARTMENTS))
    unplanned = chance.random() < 0.4
    days = 1.0 + 0.08 * (age - 18) + 1.3 * illnesses + 3.0 * unplanned + DEPARTMENTS[department]
    days = max(0.5, days + chance.gauss(0.0, 2.0) + chance.expovariate(0.5) - 2.0)
    return {
        "age": age,
        "illnesses": illnesses,
        "department": department,
        "admission": "unplanned" if unplanned else "planned",
        "days": "" if chance.random() < 0.01 else f"{days:.1f}",
    }


def main(folder: Path) -> None:
    """Writes a table for each hospital."""
    chance = random.Random(7)  # noqa: S311 (nothing here is secret)
    folder.mkdir(parents=True, exist_ok=True)
    for hospital, count in HOSPITALS.items():
        rows = [stay(chance) for _ in range(count)]
        with (folder / f"{hospital}.csv").open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
