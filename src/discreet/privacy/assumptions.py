"""Assumptions by number: a table of guarantees names them shortly, a list below says each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from discreet.privacy.guarantee import Guarantee


def numbered(guarantees: Iterable[Guarantee]) -> dict[str, int]:
    """Returns every distinct assumption with its number from 1, in order of appearance."""
    distinct = dict.fromkeys(assumption for row in guarantees for assumption in row.assumptions)
    return {assumption: number for number, assumption in enumerate(distinct, start=1)}


def named(guarantee: Guarantee, numbers: Mapping[str, int]) -> str:
    """Names a guarantee's assumptions by their numbers, neighbours joined: ``A1–A3, A5``; or ``none``."""
    own = sorted(numbers[assumption] for assumption in guarantee.assumptions)
    starts = [n for place, n in enumerate(own) if place == 0 or own[place - 1] != n - 1]
    ends = [*(before for before, after in pairwise(own) if after != before + 1), *own[-1:]]
    spans = zip(starts, ends, strict=True)
    return ", ".join(f"A{a}" if a == b else f"A{a}–A{b}" for a, b in spans) or "none"
