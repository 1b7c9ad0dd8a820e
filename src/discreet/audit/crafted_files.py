"""A silo's file and its neighbours: a row left out, put in or altered, by values that loaders trip over."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from discreet.archives import read_arrays
from discreet.arrays import Integers
from discreet.audit.crafted_records import LARGEST, SMALLEST
from discreet.errors import DataError

# Longer than the largest field that Python's csv reads unless it is told otherwise.
_LONG_CELL = "7" * 140_000
_CELLS: Mapping[str, str] = {
    "nan": "nan",
    "empty": "",
    "infinity": "-inf",
    "beyond float64": "1e999",
    "as large as float32": str(LARGEST),
    "a denormal": str(SMALLEST),
    "no number, no category": "neither",
    "a comma, a quote and a new line": 'a,"b"\nc',
    "bytes that are no UTF-8": "\udcff\udcfe",
    "a NUL": "a\0b",
    "a very long text": _LONG_CELL,
}
_LABELS: Mapping[str, str] = {
    "unknown": "99",
    "empty": "",
    "negative": "-1",
    "nan": "nan",
    "a fraction": "0.5",
    "huge": "1e308",
    "infinite": "inf",
}


class SiloFile(Protocol):
    """The rows of a silo's own file."""

    @property
    def count(self) -> int:
        """How many rows there are."""

    def rows(self, places: Integers) -> Self:
        """Returns the file that holds the rows at ``places``, in that order; repeated ones repeatedly."""

    def altered(self, place: int) -> Iterator[tuple[str, Self]]:
        """Yields a name and the file with another row at ``place``, for each crafted row."""

    def write(self, path: Path) -> str:
        """Writes the file beside ``path``, with its own ending, and returns the source that names it."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """A CSV file, every cell as text.

    Attributes:
        header: names of the columns.
        cells: rows of texts.
        label: the column to predict.
        used: feature columns.
    """

    header: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    label: str
    used: tuple[str, ...]

    @classmethod
    def read(cls, path: Path, *, label: str, used: tuple[str, ...]) -> Self:
        """Reads an ordinary file; crafted rows come later."""
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
            header, *rows = [tuple(row) for row in csv.reader(file) if row]
        return cls(tuple(cell.strip() for cell in header), tuple(rows), label, used)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return len(self.cells)

    def rows(self, places: Integers) -> Self:
        """Returns the file that holds the rows at ``places``."""
        return replace(self, cells=tuple(self.cells[place] for place in places.tolist()))

    def altered(self, place: int) -> Iterator[tuple[str, Self]]:
        """Yields every crafted cell in turn in every kind of column, and rows of another length."""
        for name, text in _CELLS.items():
            for column in self.used:
                yield f"{name}, in a feature", self._with(place, column, text)
        for name, text in _LABELS.items():
            yield f"{name}, in the label", self._with(place, self.label, text)
        row = self.cells[place]
        yield "a cell too few", self._with_row(place, row[:-1])
        yield "a cell too many", self._with_row(place, (*row, "1"))

    def _with(self, place: int, column: str, text: str) -> Self:
        row = list(self.cells[place])
        row[self.header.index(column)] = text
        return self._with_row(place, tuple(row))

    def _with_row(self, place: int, row: tuple[str, ...]) -> Self:
        return replace(self, cells=(*self.cells[:place], row, *self.cells[place + 1 :]))

    def write(self, path: Path) -> str:
        """Writes a CSV file; lone surrogates become the bytes that they stand for."""
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(self.header)
        writer.writerows(self.cells)
        own = path.with_suffix(".csv")
        own.write_bytes(text.getvalue().encode("utf-8", errors="surrogateescape"))
        return f"csv:{own}"


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An ``.npz`` file of features, labels and perhaps more arrays with one entry for each record.

    Attributes:
        features: name of the features' array.
        labels: name of the labels' array.
        own: arrays with one entry for each record.
        rest: all other arrays.
    """

    features: str
    labels: str
    own: Mapping[str, npt.NDArray[Any]]
    rest: Mapping[str, npt.NDArray[Any]]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads a file whose arrays are ``x`` and ``y``, or ``x_train`` and ``y_train``, and others."""
        arrays = read_arrays(path)
        train = "_train" if "x_train" in arrays else ""
        features, labels = f"x{train}", f"y{train}"
        if not {features, labels} <= arrays.keys():
            raise DataError(
                f"{path.name} must hold the arrays {features!r} and {labels!r}; it holds "
                f"{', '.join(sorted(arrays))}. Rename them."
            )
        own = {features, labels, *({"silo", "id"} & arrays.keys())}
        rest = {name: array for name, array in arrays.items() if name not in own}
        return cls(features, labels, {name: arrays[name] for name in sorted(own)}, rest)

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self.own[self.labels])

    def rows(self, places: Integers) -> Self:
        """Returns the file that holds the records at ``places``."""
        return replace(self, own={name: array[places] for name, array in self.own.items()})

    def altered(self, place: int) -> Iterator[tuple[str, Self]]:
        """Yields values that float32 does not hold or hardly holds, and labels that are none."""
        features = self.own[self.features]
        if np.issubdtype(features.dtype, np.floating):
            for value in (np.nan, -np.inf, LARGEST, -LARGEST, SMALLEST, 0.0):
                yield f"{value:g} in a feature", self._with(self.features, place, value, only_first=True)
                yield f"{value:g} in all features", self._with(self.features, place, value)
        largest = np.iinfo(self.own[self.labels].dtype).max
        for label in (-1, 99, largest):
            if np.iinfo(self.own[self.labels].dtype).min <= label <= largest:
                yield f"a label of {label}", self._with(self.labels, place, label)

    def _with(self, name: str, place: int, value: float, *, only_first: bool = False) -> Self:
        changed = self.own[name].copy()
        if only_first:
            changed[place].reshape(-1)[:1] = value
        else:
            changed[place] = value
        return replace(self, own={**self.own, name: changed})

    def write(self, path: Path) -> str:
        """Writes an ``.npz`` file."""
        own = path.with_suffix(".npz")
        arrays: dict[str, Any] = {**self.own, **self.rest}
        np.savez(own, **arrays)
        return f"npz:{own}"


def places_of(count: int, most: int) -> list[int]:
    """Returns places to try: all of them, or the ends and evenly spaced ones; one is the middle."""
    if count <= most:
        return list(range(count))
    if most == 1:
        return [count // 2]
    return sorted({round(step * (count - 1) / (most - 1)) for step in range(most)})


def neighbours_of(file: SiloFile, most: int) -> Iterator[tuple[str, Callable[[], SiloFile]]]:
    """Yields what a neighbour differs in, in words, and how to make it: a row less, twice, or another.

    Args:
        file: the silo's file; it holds at least one row.
        most: how many places to try a row less and a row twice at.
    """
    every = np.arange(file.count)
    places = places_of(file.count, most)
    for place in places:
        yield "a row less", lambda place=place: file.rows(np.delete(every, place))  # type: ignore[misc]
        yield "a row twice", lambda place=place: file.rows(np.insert(every, place, place))  # type: ignore[misc]
    for place in {places[0], places[len(places) // 2], places[-1]}:
        for name, changed in file.altered(place):
            yield name, lambda changed=changed: changed  # type: ignore[misc]
