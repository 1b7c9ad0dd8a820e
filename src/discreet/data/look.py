"""A first look at a table by its owner: what is in it, and how it is written. It stays where it is printed.

Everything here is read from records, so nothing of it may enter a plan; `discreet look` marks it as a draft.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from discreet.data.csv_file import CsvFile, any_length, unpacked
from discreet.data.dates import DateOrder, day_number
from discreet.data.dialect import Dialect
from discreet.data.parquet_file import ParquetFile
from discreet.data.spelling import spelling
from discreet.data.table_files import TableFile
from discreet.errors import DataError

MOST_TEXTS = 40
"""A column of more different texts is no category."""

_MOSTLY = 0.95
"""Of the texts of an identifier, at least so many differ; a few persons may be there twice."""

_SEPARATORS = ",;\t|"
_BLOCK = 1 << 20
_DISTINCT_ROWS = 10_000
_COMMA, _POINT = re.compile(r"[+-]?[0-9]+,[0-9]+"), re.compile(r"[+-]?[0-9]+\.[0-9]+")


@dataclass(slots=True)
class Sight:
    """What a column holds, as far as one pass can tell.

    Attributes:
        rows: how many cells there are.
        blank: how many of them are empty.
        numbers: how many hold a number, from ``low`` to ``high``.
        days: how many hold a date of each order, with the first and the last.
        texts: up to `MOST_TEXTS` and one different texts.
        whole: how many hold a whole number.
        first: the texts of the first rows, to see whether nearly all are different.
        looked: how many cells of the first rows are not blank.
    """

    rows: int = 0
    blank: int = 0
    numbers: int = 0
    low: float = float("inf")
    high: float = float("-inf")
    days: dict[DateOrder, tuple[int, float, float]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    first: set[str] = field(default_factory=set)
    looked: int = 0
    whole: int = 0

    def add(self, cells: Iterable[str], numbers: Iterable[float]) -> None:
        """Looks at some more cells."""
        for cell, number in zip(cells, numbers, strict=True):
            self.rows += 1
            if not cell:
                self.blank += 1
                continue
            if len(self.texts) <= MOST_TEXTS:
                self.texts.add(spelling(cell))
            if self.rows <= _DISTINCT_ROWS:
                self.looked += 1
                self.first.add(cell)
            if number == number:  # noqa: PLR0124 (not NaN)
                self.numbers += 1
                self.whole += number == math.floor(number)
                self.low, self.high = min(self.low, number), max(self.high, number)
            else:
                self._add_days(cell)

    def _add_days(self, cell: str) -> None:
        for order in DateOrder:
            day = day_number(cell, order)
            if day == day:  # noqa: PLR0124 (not NaN)
                count, first, last = self.days.get(order, (0, day, day))
                self.days[order] = (count + 1, min(first, day), max(last, day))

    @property
    def order(self) -> DateOrder | None:
        """The order that most cells are dates of; None if most are no dates."""
        best = max(self.days, key=lambda order: self.days[order][0], default=None)
        return best if best is not None and self._most(self.days[best][0]) else None

    @property
    def numeric(self) -> bool:
        """Whether most cells are numbers, of more than two values."""
        return self._most(self.numbers) and len(self.texts) > 2

    @property
    def identifying(self) -> bool:
        """Whether hardly a text occurs twice among many rows, and they are no dates and no fractions."""
        differ = len(self.first) > MOST_TEXTS and len(self.first) >= _MOSTLY * self.looked
        return differ and self.whole == self.numbers and not self.order

    def _most(self, count: int) -> bool:
        return 2 * count > self.rows - self.blank


def guessed_file(path: Path) -> TableFile:
    """Returns a table with the separator, encoding and decimal sign that its own bytes suggest.

    Raises:
        DataError: if the file cannot be read, or no setting would do.
    """
    if path.suffix == ".parquet":
        return ParquetFile(path)
    encoding = _encoding(path)
    separator = _separator(path, encoding)
    points, commas = 0, 0
    if separator != ",":
        file = CsvFile(path, Dialect(separator, encoding))
        table = next(file.tables(file.header()))
        cells = [cell for column in table.columns.values() for cell in column]
        points, commas = (sum(1 for cell in cells if form.fullmatch(cell)) for form in (_POINT, _COMMA))
    return CsvFile(path, Dialect(separator, encoding, "," if commas > points else "."))


def seen(file: TableFile) -> dict[str, Sight]:
    """Looks at all cells of a table.

    Raises:
        DataError: if it cannot be read.
    """
    found = {name: Sight() for name in file.header()}
    for table in file.tables(tuple(found)):
        for name, sight in found.items():
            sight.add(table.column(name), table.numbers(name).tolist())
    return found


def _encoding(path: Path) -> str:
    """Returns UTF-8 if the whole file is, else Windows' Latin alphabet."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with unpacked(path) as packed:
            for block in iter(partial(packed.read, _BLOCK), b""):
                if block[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                    raise DataError(f"{path.name} must be UTF-8; it is UTF-16. Save it as UTF-8.")
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _separator(path: Path, encoding: str) -> str:
    """Returns the separator that splits the header into most columns."""
    with unpacked(path) as packed:
        header = packed.readline().decode(encoding, errors="replace")
    with any_length():
        return max(_SEPARATORS, key=lambda one: len(next(csv.reader(io.StringIO(header), delimiter=one), [])))
