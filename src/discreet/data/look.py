"""A first look at a table by its owner: what is in it, and how it is written. It stays where it is printed.

Everything here is read from records, so nothing of it may enter a plan; `discreet look` marks it as a draft.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from discreet.arrays import Floats
from discreet.data.csv_file import CsvFile, any_length, unpacked
from discreet.data.dates import DateOrder, day_number
from discreet.data.dialect import COMMAS, Dialect
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
# Zeros after the sign say nothing: tools write them behind whole numbers, whatever the sign of the others is.
_FRACTION = {sign: re.compile(rf"[+-]?[0-9]+{re.escape(sign)}[0-9]*[1-9][0-9]*") for sign in ".,"}
_COMMA_WHOLE = re.compile(r"[+-]?[0-9]+,0+")


@dataclass(slots=True)
class Sight:
    """What a column holds, as far as one pass can tell.

    Attributes:
        rows: how many cells there are.
        blank: how many of them are empty.
        numbers: how many hold a number, from ``low`` to ``high``.
        otherwise: how many would hold a fraction if the file's decimal sign were the other one.
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
    otherwise: int = 0

    def add(self, cells: Sequence[str], numbers: Floats, other: str) -> None:
        """Looks at some more cells; ``other`` is the decimal sign that the file is not read with.

        Args:
            cells: as they are written.
            numbers: what they hold, NaN for no number, shape ``(n,)``.
            other: a point or a comma.
        """
        early = [cell for cell in cells[: max(0, _DISTINCT_ROWS - self.rows)] if cell]
        self.looked += len(early)
        self.first.update(early)
        self.rows += len(cells)
        self.blank += sum(1 for cell in cells if not cell)
        for cell in dict.fromkeys(filter(None, cells)):
            if len(self.texts) > MOST_TEXTS:
                break
            self.texts.add(spelling(cell))
        is_number = ~np.isnan(numbers)
        held = numbers[is_number]
        self.numbers += len(held)
        self.whole += int((held == np.floor(held)).sum())
        self.low = min(self.low, float(held.min(initial=math.inf)))
        self.high = max(self.high, float(held.max(initial=-math.inf)))
        texts = (cell for cell, number in zip(cells, is_number.tolist(), strict=True) if cell and not number)
        for cell, count in Counter(texts).items():
            self.otherwise += count * (_FRACTION[other].fullmatch(cell) is not None)
            self._add_days(cell, count)

    def _add_days(self, cell: str, cells: int) -> None:
        for order in DateOrder:
            day = day_number(cell, order)
            if day == day:  # noqa: PLR0124 (not NaN)
                count, first, last = self.days.get(order, (0, day, day))
                self.days[order] = (count + cells, min(first, day), max(last, day))

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
    def miswritten(self) -> bool:
        """Whether it would be a column of fractions if the file's decimal sign were the other one."""
        return not self.numeric and self.order is None and self._most(2 * self.otherwise)

    @property
    def identifying(self) -> bool:
        """Whether hardly a text occurs twice among many rows, and they are no dates and no fractions."""
        differ = len(self.first) > MOST_TEXTS and len(self.first) >= _MOSTLY * self.looked
        return differ and self.whole == self.numbers and not (self.order or self.miswritten)

    def _most(self, count: int) -> bool:
        return 2 * count > self.rows - self.blank


def guessed_file(path: Path, usual: Dialect = COMMAS) -> TableFile:
    """Returns a table with the separator, encoding and decimal sign that its own bytes suggest.

    Args:
        path: the file.
        usual: what is taken where nothing in the file speaks for another.

    Raises:
        DataError: if the file cannot be read, or no setting would do.
    """
    if path.suffix == ".parquet":
        return ParquetFile(path)
    encoding = _encoding(path, usual.encoding)
    separator = _separator(path, encoding, usual.separator)
    return CsvFile(path, Dialect(separator, encoding, _decimal(path, separator, encoding, usual.decimal)))


def _decimal(path: Path, separator: str, encoding: str, usual: str) -> str:
    """Returns the decimal sign of most columns that hold fractions, of the first rows."""
    if separator == ",":
        return "."
    file = CsvFile(path, Dialect(separator, encoding))
    table = next(file.tables(file.header()))
    found = Counter(filter(None, map(_sign_of, table.columns.values())))
    return usual if found["."] == found[","] else max(found, key=lambda sign: found[sign])


def _sign_of(cells: Sequence[str]) -> str | None:
    """Returns the decimal sign of most fractions of a column; None if there are none, or as many of both."""
    found = {sign: sum(1 for cell in cells if form.fullmatch(cell)) for sign, form in _FRACTION.items()}
    if found["."] == found[","]:
        return "," if any(_COMMA_WHOLE.fullmatch(cell) for cell in cells) else None
    return max(found, key=lambda sign: found[sign])


def seen(file: TableFile) -> dict[str, Sight]:
    """Looks at all cells of a table.

    Raises:
        DataError: if it cannot be read.
    """
    found = {name: Sight() for name in file.header()}
    other = "." if isinstance(file, CsvFile) and file.dialect.decimal == "," else ","
    for table in file.tables(tuple(found)):
        for name, sight in found.items():
            sight.add(table.column(name), table.numbers(name), other)
    return found


def _encoding(path: Path, usual: str) -> str:
    """Returns UTF-8 if the whole file is, else the usual one, or Windows' Latin alphabet."""
    decoder, ascii_alone = codecs.getincrementaldecoder("utf-8")(), True
    try:
        with unpacked(path) as packed:
            for block in iter(partial(packed.read, _BLOCK), b""):
                if block[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                    raise DataError(f"{path.name} must be UTF-8; it is UTF-16. Save it as UTF-8.")
                decoder.decode(block)
                ascii_alone = ascii_alone and block.isascii()
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252" if usual == COMMAS.encoding else usual
    return usual if ascii_alone else COMMAS.encoding


def _separator(path: Path, encoding: str, usual: str) -> str:
    """Returns the separator that splits the header into most columns; the usual one before others."""
    with unpacked(path) as packed:
        header = packed.readline().decode(encoding, errors="replace")
    with any_length():
        columns = {
            one: len(next(csv.reader(io.StringIO(header), delimiter=one), [])) for one in usual + _SEPARATORS
        }
    return max(columns, key=lambda one: columns[one])
