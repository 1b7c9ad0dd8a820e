"""Assumptions by number: a table of guarantees names them shortly, a list below says each once.

A number means one assumption in every run, whatever else a run assumes; so reports can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from discreet.privacy.guarantee import Guarantee

# How each begins, by its number from 1. A number that was printed once keeps its meaning: append only.
_KNOWN = (
    "no silo holds more training records than its record_capacity",
    "no honest silo's dropping out depends on",
    "AES-256 in counter mode",
    "float64 arithmetic, square roots",
    "no silo conspires with the server",
    "identities were enrolled honestly",
    "X25519, Ed25519, AES-256-GCM",
    "at most {number} sum",
    "at most {number} silo",
    "the server follows the protocol",
    "the server may do anything once",
    "the server discards unread",
    "one survivor set a round is opened",
    "the sparse graph of masks is drawn at most",
    "no round is tried again",
    "on each silo's machine, numerical kernels",
    "silos are dealt at random from one file",
    "which silos there are, read from the records, is public",
    "which clients take part",
    "the gradients of later local steps do not depend",
    "every row of the tables that a program handed over",
    "the type of every array of the file is the same",
    "whether a round is tried again does not depend",
    "the model that the plan names is a function",
    "every record of the arrays and data sets that a program handed over",
    "the type of every array that a program handed over",
    "the feature map that the plan names is a function",
    "which silos there are, read from the names of files, is public",
    "how a cell of a table is written depends on no other record",
    "a quotation mark that a record opens in a CSV file",
    "a loss of one's own",
    "no silo holds more training persons than its person.capacity",
    "all records of a person have the same entry",
    "no person has records at more than {number} silo",
    "no silo holds more records than its record_capacity",
    "no silo holds more persons than its person.capacity",
    "no silo holds more held-out records than its record_capacity",
    "no silo holds more held-out persons than its person.capacity",
    "the public weights of",
)


def numbered(guarantees: Iterable[Guarantee]) -> dict[str, int]:
    """Returns every distinct assumption with its number, by number.

    One that has no number of its own, such as what a module of the user's promises, is given a further one in
    order of appearance.
    """
    numbers: dict[str, int] = {}
    further = len(_KNOWN)
    for assumption in dict.fromkeys(text for row in guarantees for text in row.assumptions):
        number = _number(assumption)
        if number is None or number in numbers.values():
            further += 1
            number = further
        numbers[assumption] = number
    return dict(sorted(numbers.items(), key=lambda pair: pair[1]))


def _number(assumption: str) -> int | None:
    """Returns the number of a known assumption, whatever count it names."""
    plain = " ".join("{number}" if word.isdigit() else word for word in assumption.split())
    return next((place for place, start in enumerate(_KNOWN, start=1) if plain.startswith(start)), None)


def named(guarantee: Guarantee, numbers: Mapping[str, int]) -> str:
    """Names a guarantee's assumptions by their numbers, neighbours joined: ``A1–A3, A5``; or ``none``."""
    own = sorted(numbers[assumption] for assumption in guarantee.assumptions)
    starts = [n for place, n in enumerate(own) if place == 0 or own[place - 1] != n - 1]
    ends = [*(before for before, after in pairwise(own) if after != before + 1), *own[-1:]]
    spans = zip(starts, ends, strict=True)
    return ", ".join(f"A{a}" if a == b else f"A{a}–A{b}" for a, b in spans) or "none"
