"""How a CSV file is written: its separator, encoding and decimal sign, by name."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from discreet.errors import DataError

_UTF_8, _MARKED = "utf-8", "utf-8-sig"
_STATELESS = ("ascii", "iso8859-", "cp", "koi8-", "mac-")
_BYTES = 256


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written; where records are protected it is stated, and never guessed from them.

    Attributes:
        separator: one character between cells.
        encoding: UTF-8, or one of one byte a character. In others, such as UTF-16, one spoilt byte of a
            record would change how its neighbours are read.
        decimal: a point or a comma.

    Raises:
        DataError: for another encoding, separator or decimal; it names the key.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.separator in '"\r\n\0':
            raise DataError(f"separator must be one character, such as ';'; got {self.separator!r}.")
        if self.decimal not in (".", ","):
            raise DataError(f"decimal must be '.' or ','; got {self.decimal!r}.")
        if self.decimal == self.separator:
            raise DataError(f"separator and decimal must differ; both are {self.decimal!r}. Set separator.")
        if not _is_robust(self.encoding):
            raise DataError(
                "encoding must be utf-8 or one of one byte a character, such as latin-1 or cp1252; "
                f"got {self.encoding!r}. Save the file as UTF-8."
            )

    @property
    def codec(self) -> str:
        """The encoding's name; that of UTF-8 with or without a mark at the beginning."""
        return _MARKED if codecs.lookup(self.encoding).name == _UTF_8 else self.encoding


def _is_robust(encoding: str) -> bool:
    """Says whether a spoilt byte of a text in this encoding leaves all other cells as they are.

    Only families without a state are known here: one in which bytes switch how the following ones are read,
    as ISO-2022-JP and escapes do, decodes every single byte as if it had none.
    """
    try:
        name = codecs.lookup(encoding).name
        if name in (_UTF_8, _MARKED):
            return True
        if not name.startswith(_STATELESS):
            return False
        every = bytes(range(_BYTES)).decode(encoding, "replace")
        return len(every) == _BYTES and every.startswith(bytes(range(_BYTES // 2)).decode("ascii"))
    except (LookupError, UnicodeError, ValueError):
        return False


COMMAS = Dialect()
"""What a CSV file is taken for unless its user says otherwise."""


@dataclass(frozen=True, slots=True)
class Dialects:
    """How several CSV files are written: all alike, but for those that differ.

    Attributes:
        common: how a file is written of which nothing else is said.
        own: how the others are, by the silo whose they are.
    """

    common: Dialect = COMMAS
    own: Mapping[str, Dialect] = field(default_factory=dict)

    def of(self, silo: str) -> Dialect:
        """Returns how a silo's file is written."""
        return self.own.get(silo, self.common)

    def require_of(self, silos: Collection[str]) -> None:
        """Refuses a silo that has no file, since what was said of it would hold for none.

        Raises:
            DataError: naming it.
        """
        odd = sorted(set(self.own) - set(silos))
        if odd:
            raise DataError(
                f"how a file is written must be said of a silo that has one ({', '.join(silos)}); got "
                f"{odd[0]!r}. Mend separator, encoding or decimal."
            )
