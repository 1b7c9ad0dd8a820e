"""One text for one value, however the tool that wrote a table spells it.

Tools give a column of whole numbers decimals, exponents or fewer digits, of dates a time of day, and of truth
values another type, as soon as one cell of it is missing, finer or no number. Without these rules one record
would change how every other record is read. They hold for cells and for the texts that a user declares alike.
"""

from __future__ import annotations

import math
import re

_MIDNIGHT = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]00:00(?::00(?:\.0+)?)?")
_WHOLE = re.compile(r"(-?[0-9]+)\.0+")
_TRUTH = {"true": "1", "false": "0"}
# Whole numbers below are floats without rounding.
_EXACT = 2**53


def person_name(text: str) -> str:
    """Returns the text by which a person is known: as it is written, without decimals of a whole number.

    Tools add these to a whole column where one cell of it is missing. Nothing else is taken for the same:
    two names that were would be one person, whom removing one of them would not remove.

    Example:
        >>> person_name("12.0"), person_name("0012"), person_name("1e2"), person_name("110101199003077784")
        ('12', '0012', '1e2', '110101199003077784')
    """
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def spelling(text: str) -> str:
    """Returns the text by which a value is known: numbers by what they are worth as floats.

    A truth value is 1 or 0, and a date has no midnight. Whole numbers beyond 2^53 that share their first
    sixteen digits may count as one: a column in which one number is missing may have lost the others.

    Example:
        >>> spelling("1.0"), spelling("01"), spelling("0.50"), spelling("1e5"), spelling("TRUE")
        ('1', '1', '0.5', '100000', '1')
        >>> spelling("2020-05-17 00:00:00"), spelling("stage 1.0")
        ('2020-05-17', 'stage 1.0')
        >>> spelling("120000000000000001") == spelling("1.2e+17")
        True
    """
    midnight = _MIDNIGHT.fullmatch(text)
    if midnight:
        return midnight[1]
    try:
        number = float(text)
    except (ValueError, OverflowError):
        return _TRUTH.get(text.lower(), text)
    if not math.isfinite(number):
        return text
    return str(int(number)) if number.is_integer() and abs(number) < _EXACT else repr(number)
