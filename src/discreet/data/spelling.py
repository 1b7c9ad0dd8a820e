"""One text for one value, however the tool that wrote a table spells it.

Tools give a column of whole numbers decimals, of dates a time of day, and of truth values another type, as
soon as one cell of it is missing or finer. Without these rules one record's gap would change how every other
record is read. They hold for cells and for the texts that a user declares alike.
"""

from __future__ import annotations

import math
import re

_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*")
_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00(?::00(?:\.0+)?)?")
# Whole numbers below are floats without rounding.
_EXACT = 2**53


def spelling(text: str) -> str:
    """Returns a whole number without empty decimals, a date without midnight, and other texts as they are.

    Example:
        >>> spelling("1.0"), spelling("1.5"), spelling("2020-05-17 00:00:00"), spelling("stage 1.0")
        ('1', '1.5', '2020-05-17', 'stage 1.0')
    """
    found = _WHOLE.fullmatch(text) or _MIDNIGHT.fullmatch(text)
    return found[1] if found else text


def identifier(text: str) -> str:
    """Returns the text by which records of one id are known: of a number its value, else its `spelling`.

    Ids beyond 2^53 that share their first sixteen digits may count as one, so that their records are held
    out together: a column in which one id is missing may have lost the other digits.

    Example:
        >>> identifier("17"), identifier("17.0"), identifier("120000000000000001") == identifier("1.2e+17")
        ('17', '17', True)
    """
    plain = spelling(text)
    try:
        number = float(plain)
    except (ValueError, OverflowError):
        return plain
    if not math.isfinite(number):
        return plain
    return str(int(number)) if number.is_integer() and abs(number) < _EXACT else repr(number)
