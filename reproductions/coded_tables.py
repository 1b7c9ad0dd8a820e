"""Files of numbers that configs can name, made from tables by public ranges and lists of texts."""

from __future__ import annotations

import csv
import gzip
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Row = Mapping[str, str]
FIVE_YEARS = 1826
LETTERS = "abcdefghijklmnopqrstuvwxyz '"
SHORTEST_LINE, PER_ROLE = 10, 4


def adult(source: Path, folder: Path, every: int) -> Path:
    """Income above 50,000 of every ``every``-th row; the texts are those of the census's form."""
    rows = _rows(source)
    names = ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex")
    texts = {name: sorted({row[name] for row in rows} - {""}) for name in names}
    ranges = {"age": (17.0, 90.0), "capital_gain": (0.0, 1e4), "capital_loss": (0.0, 2500.0),
              "hours_per_week": (1.0, 99.0)}  # fmt: skip
    kept = rows[::every]
    return _written(folder / "adult.npz", kept, ranges, texts, [row["label"] for row in kept])


def tcga(source: Path, folder: Path, every: int) -> Path:
    """Death within five years, of the patients of whom that is known, by region."""
    del every  # there are few
    rows = [row for row in _rows(source) if float(row["E"]) or float(row["T"]) >= FIVE_YEARS]
    dead = [str(int(float(row["T"]) < FIVE_YEARS)) for row in rows]
    names = [name for name in rows[0] if name not in ("region", "E", "T") and not name.startswith("flamby")]
    ranges = {name: (20.0, 90.0) if name == "age_at_index" else (0.0, 1.0) for name in names}
    return _written(folder / "tcga.npz", rows, ranges, {}, dead, silos=[row["region"] for row in rows])


def vowels(source: Path, folder: Path, every: int) -> Path:
    """From three characters of a line: is the next one a vowel? Some lines of every ``every``-th role."""
    by_role: dict[tuple[str, str], list[str]] = {}
    for speech in _rows(source):
        lines = [line for line in speech["text"].lower().split("\n") if len(line) > SHORTEST_LINE]
        by_role.setdefault((speech["play_id"], speech["role"]), []).extend(lines)
    chance = random.Random(1)  # noqa: S311 (nothing here is secret)
    rows, following = list[Row](), list[str]()
    for key in sorted(by_role)[::every]:
        for line in chance.sample(by_role[key], min(PER_ROLE, len(by_role[key]))):
            place = chance.randint(3, len(line) - 1)
            rows.append({str(back): line[place - back] for back in (1, 2, 3)})
            following.append(str(int(line[place] in "aeiou")))
    return _written(folder / "vowels.npz", rows, {}, dict.fromkeys("123", LETTERS), following)


def breast_cancer(source: Path | None, folder: Path, every: int) -> Path:
    """Malignant or not, 569 of them; ranges are those that the data's own description publishes."""
    del source, every
    from sklearn.datasets import load_breast_cancer

    return _described(folder / "breast-cancer.npz", load_breast_cancer())


def wine(source: Path | None, folder: Path, every: int) -> Path:
    """Which of three growers, 178 of them; ranges as of `breast_cancer`."""
    del source, every
    from sklearn.datasets import load_wine

    return _described(folder / "wine.npz", load_wine())


def _rows(source: Path) -> list[Row]:
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _described(path: Path, bunch: object) -> Path:
    """Writes a data set of scikit-learn; its description's table of ranges is its numbers' own."""
    x, y = np.asarray(bunch.data), np.asarray(bunch.target)  # type: ignore[attr-defined]
    return _saved(path, _scaled(x, x.min(axis=0), x.max(axis=0)), y)


def _written(
    path: Path,
    rows: Sequence[Row],
    ranges: Mapping[str, tuple[float, float]],
    texts: Mapping[str, Sequence[str]],
    labels: Sequence[str],
    *,
    silos: Sequence[str] | None = None,
) -> Path:
    """Writes numbers on [-1, 1] and an indicator for each text; a blank number is 0."""
    parts = [np.zeros((len(rows), 0))]
    for name, (low, high) in ranges.items():
        numbers = np.array([float(row[name] or (low + high) / 2.0) for row in rows])
        parts.append(_scaled(numbers, low, high)[:, None])
    for name, known in texts.items():
        parts.append(np.array([[float(row[name] == text) for text in known] for row in rows]))
    return _saved(path, np.concatenate(parts, axis=1), np.array(labels, dtype=np.int64), silos)


def _scaled(numbers: npt.NDArray[np.float64], low: object, high: object) -> npt.NDArray[np.float64]:
    low, high = np.asarray(low), np.asarray(high)
    found: npt.NDArray[np.float64] = 2.0 * (np.clip(numbers, low, high) - low) / (high - low) - 1.0
    return found


def _saved(
    path: Path,
    x: npt.NDArray[np.float64],
    y: npt.NDArray[np.int64],
    silos: Sequence[str] | None = None,
) -> Path:
    own = {} if silos is None else {"silo": np.array(silos)}
    np.savez(path, x=x.astype(np.float32), y=y, **own)  # type: ignore[arg-type]
    return path
