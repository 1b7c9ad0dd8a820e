"""Reading JSON and TOML that somebody else wrote: plain values within bounds, or one `ValueError`.

The parsers alone are no guard: deep nesting ends in RecursionError, here or in whatever walks the value
later; an integer of a thousand digits overflows in the first multiplication by a float.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 64
"""Tables and lists within one another; plans, policies and reports need fewer than 20."""

# Seeds take 64 bits, with or without a sign; no other number is larger.
_SMALLEST, _LARGEST = -(1 << 63), (1 << 64) - 1


def read_json(document: bytes | str, *, finite: bool = True) -> Any:
    """Returns the value of a JSON document.

    Guarantee:
        At most `MAX_DEPTH` levels, integers of at most 64 bits, text that has a UTF-8 form, no key twice in
        a table, and, with ``finite``, no infinity and no NaN.

    Raises:
        ValueError: for everything else.

    Example:
        >>> read_json(b'{"serial": 3}')
        {'serial': 3}
    """
    try:
        value = json.loads(document, object_pairs_hook=_table)
    except RecursionError:
        raise _too_deep() from None
    _require_bounds(value, finite=finite)
    return value


def read_toml(text: str) -> dict[str, Any]:
    """Returns the tables of a TOML document, within the bounds of `read_json`; infinity and NaN may occur.

    Raises:
        ValueError: for everything else.
    """
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _require_bounds(value, finite=False)
    return value


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns a table whose keys are distinct: of two that are alike, readers disagree which one counts."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a table must hold each key once; it holds one twice.")
    return table


def _require_bounds(value: object, *, finite: bool) -> None:
    """Walks level by level, so that depth costs no stack."""
    level: list[object] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [part for item in level for part in _parts(item, finite=finite)]
        if not level:
            return
    raise _too_deep()


def _parts(value: object, *, finite: bool) -> Iterable[object]:
    """Returns what a container holds, keys included; checks a number or text."""
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, list):
        return value
    if isinstance(value, int) and not _SMALLEST <= value <= _LARGEST:
        raise ValueError("integers must fit in 64 bits; one does not.")
    if isinstance(value, float) and finite and not math.isfinite(value):
        raise ValueError("numbers must be finite; one is not.")
    if isinstance(value, str):
        value.encode()
    return ()


def _too_deep() -> ValueError:
    return ValueError(f"at most {MAX_DEPTH} levels may be nested; there are more.")


def shown(words: str, longest: int = 500) -> str:
    r"""Returns what somebody else wrote as one printable line of bounded length, for a log or a terminal.

    Example:
        >>> shown("two\nlines")
        'two?lines'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in words[:longest])
