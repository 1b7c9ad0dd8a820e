"""Which columns of a table public rules are for: names, and patterns in which ``*`` stands for any text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from discreet.data.table import split_hint


def has_pattern(names: Iterable[str]) -> bool:
    """Says whether a name among these is a pattern."""
    return any("*" in name for name in names)


def matches(pattern: str, name: str) -> bool:
    """Says whether a column's name fits a pattern; a pattern without ``*`` is a name.

    Example:
        >>> matches("g*", "g17"), matches("g*", "age"), matches("t [C]", "t [C]")
        (True, False, True)
    """
    return pattern == name or ("*" in pattern and _compiled(pattern).fullmatch(name) is not None)


def expanded(
    rules: Mapping[str, Mapping[str, Any]], header: Collection[str], taken: Collection[str]
) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Writes out the patterns of several rules; a name that is given explicitly wins.

    Args:
        rules: of every key of the config, names or patterns with what is stated of them.
        header: the columns of a table. Names of columns are public, as the config's are.
        taken: patterns of columns that are no features.

    Returns:
        The rules without patterns; and what is wrong: a pattern that fits nothing, two that fit one column.
    """
    known = set(header)
    explicit = {name for stated in rules.values() for name in stated if "*" not in name or name in known}
    free = [name for name in header if name not in explicit and not any(matches(one, name) for one in taken)]
    owner: dict[str, str] = {}
    found: dict[str, dict[str, Any]] = {}
    problems = []
    for key, stated in rules.items():
        found[key] = {}
        for pattern, rule in stated.items():
            if pattern in explicit:
                found[key][pattern] = rule
                continue
            fitting = _fitting(pattern, free)
            if not fitting:
                hint = split_hint(header) or "Name one, or remove it."
                problems.append(f"{key}.{pattern!r} fits no column that is left. {hint}")
            twice = {owner[name]: name for name in reversed(fitting) if name in owner}
            problems += [
                f"the column {name!r} fits two patterns, {other} and {key}.{pattern!r}. Name it itself."
                for other, name in twice.items()
            ]
            owner |= dict.fromkeys(fitting, f"{key}.{pattern!r}")
            found[key] |= dict.fromkeys(fitting, rule)
    return found, problems


def _fitting(pattern: str, names: Iterable[str]) -> list[str]:
    compiled = _compiled(pattern)
    return [name for name in names if compiled.fullmatch(name)]


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
