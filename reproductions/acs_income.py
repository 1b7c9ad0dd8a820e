"""ACS Income 2018 as features of public categories: one indicator for each column's category, no statistics.

The categories are intervals of the codes in the Census Bureau's PUMS data dictionary of 2018, chosen from the
dictionary and never from the records.
"""

from __future__ import annotations

import gzip
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
TEST_FRACTION = 0.2


@dataclass(frozen=True)
class Intervals:
    """A column's categories: below the first edge, between two, from the last on."""

    column: str
    edges: tuple[int, ...]

    def indicators(self, codes: Codes) -> npt.NDArray[np.int8]:
        """One 1 in each row, shape ``(n, len(edges) + 1)``."""
        width = len(self.edges) + 1
        return np.eye(width, dtype=np.int8)[np.searchsorted(self.edges, codes, side="right")]


def every(step: int, *, below: int, start: int = 0) -> tuple[int, ...]:
    """Edges of intervals of equal width."""
    return tuple(range(start + step, below, step))


COLUMNS = (
    Intervals("AGEP", every(5, start=15, below=85)),
    Intervals("COW", every(1, start=1, below=10)),
    Intervals("SCHL", every(1, start=1, below=25)),
    Intervals("MARRIED", (2,)),
    # Occupation codes are assigned by groups of related occupations; 50 codes wide.
    Intervals("OCCP", every(50, below=9850)),
    # Birthplaces: states, island areas, Europe, Asia, Canada, Mexico, other Americas, Africa, Oceania.
    Intervals("POBP", (60, 100, 200, 300, 303, 304, 400, 500)),
    Intervals("RELP", every(1, below=18)),
    Intervals("WKHP", (10, 20, 30, 35, 40, 41, 45, 50, 55, 60, 70)),
    Intervals("SEX", (2,)),
    Intervals("RACE2", (2,)),
)


def features(source: Path, folder: Path, step: int) -> Path:
    """Writes ``x`` (indicators), ``y`` and ``silo`` (the state) of every ``step``-th record."""
    with gzip.open(source, "rt", encoding="ascii") as lines:
        header = next(lines).strip().split(",")
        rows = [line for number, line in enumerate(lines) if number % step == 0]
    states = np.array([row.partition(",")[0] for row in rows])
    table = np.loadtxt(rows, delimiter=",", usecols=range(1, len(header)), dtype=np.int64)
    parts = [rule.indicators(table[:, header.index(rule.column) - 1]) for rule in COLUMNS]
    path = folder / "acs.npz"
    np.savez(path, x=np.concatenate(parts, axis=1), y=table[:, header.index("label") - 1], silo=states)
    return path


def capacities(file: Path) -> dict[str, int]:
    """A bound for each state on its training records: the survey publishes how many it has in each state.

    Each record is held out by a coin; eight standard deviations more than the mean are never reached.
    """
    with np.load(file) as arrays:
        states, counts = np.unique(arrays["silo"], return_counts=True)
    kept = 1.0 - TEST_FRACTION
    return {
        str(state): min(int(count), math.ceil(kept * count + 8.0 * math.sqrt(TEST_FRACTION * kept * count)))
        for state, count in zip(states, counts, strict=True)
    }
