"""Remarks for the owner of a table before anything is computed: counts of cells, and no cell.

Nothing here stops a training, for what one record holds must not decide whether a silo takes part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from discreet.arrays import Integers
from discreet.data.names import has_pattern, matches
from discreet.data.table import cells_note
from discreet.data.unusable import Unusable, clipped_note


def label_notes(name: str, column: str, classes: Sequence[str], counts: Integers) -> tuple[str, ...]:
    """Counts the records that are left out for their label, and names classes that nobody is in.

    Args:
        name: the file's.
        column: the label's.
        classes: their texts, in order.
        counts: records of each class, and last of none; shape ``(classes + 1,)``.
    """
    what = f"are none of the classes {', '.join(classes)}; THESE RECORDS ARE LEFT OUT"
    accept = 'name every class by its text, as in classes = ["no", "yes"], or raise num_classes'
    left_out = cells_note(name, int(counts.sum()), column, int(counts[-1]), what=what, accept=accept)
    absent = [text for text, count in zip(classes, counts[:-1].tolist(), strict=True) if not count]
    if not 0 < len(absent) < len(classes):
        return left_out
    return (*left_out, f"{name}, column {column!r}: no record is of class {', '.join(absent)}.")


def several_notes(
    name: str, columns: Sequence[str], texts: Sequence[str], counts: Integers
) -> tuple[str, ...]:
    """Counts the records that are left out for one of several labels, and names labels with one value only.

    Args:
        name: the file's.
        columns: the labels'.
        texts: of their two values.
        counts: records of each combination, whose bit k is the k-th label, and last of none.
    """
    rows, without = int(counts.sum()), int(counts[-1])
    notes = []
    if without:
        named, values = ", ".join(map(repr, columns)), " or ".join(texts)
        notes.append(
            f"{name}, labels {named}: {without} of {rows} records hold something else than {values} in one "
            "of them; THESE RECORDS ARE LEFT OUT. Name both values by their texts, as in "
            'classes = ["no", "yes"].'
        )
    known = rows - without
    for place, column in enumerate(columns):
        of_value = [0, 0]
        for number, count in enumerate(counts[:-1].tolist()):
            of_value[number >> place & 1] += count
        if known and 0 in of_value:
            notes.append(f"{name}, column {column!r}: no record is of class {texts[of_value.index(0)]}.")
    return tuple(notes)


def outcome_notes(name: str, column: str, low: float, high: float, counts: Integers) -> tuple[str, ...]:
    """Counts the records that are left out for their label, and those whose label is clipped.

    Args:
        name: the file's.
        column: the label's.
        low: end of the public range.
        high: the other.
        counts: records inside of it, outside of it, and of no number; shape ``(3,)``.
    """
    rows, outside = int(counts.sum()), int(counts[1])
    left_out = cells_note(
        name,
        rows,
        column,
        int(counts[2]),
        what="hold no finite number; THESE RECORDS ARE LEFT OUT",
        accept="write a number into each, or give classes for a label of texts",
    )
    limits, knob = f"[{low:g}, {high:g}]", "label_range = [LOW, HIGH]"
    return left_out + clipped_note(name, rows, column, Unusable(outside=outside), limits=limits, knob=knob)


def id_notes(name: str, column: str, rows: int, *, blank: int, distinct: int, few: int) -> tuple[str, ...]:
    """Says where an id column tells too few records apart: blank cells, or no more values than classes.

    Records of one id are held out together, so such a column decides about many records at once.

    Args:
        name: the file's.
        column: the id's.
        rows: how many records there are.
        blank: how many of them have no id.
        distinct: how many different ids there are, counted up to one more than ``few``.
        few: how many would tell nobody apart.
    """
    where = f"{name}, id column {column!r}"
    notes = []
    if blank:
        notes.append(f"{where}: {blank} of {rows} cells are blank; these records count as one person's.")
    if rows > distinct and distinct <= few:
        notes.append(
            f"{where}: its cells hold {distinct} different texts, so it says of nobody whose record it is. "
            "Name a column that does, or leave id out."
        )
    return tuple(notes)


def left_out_note(name: str, left_out: int, rows: int) -> tuple[str, ...]:
    """Counts rows that could not be split into the header's columns."""
    if not left_out:
        return ()
    return (
        f"{name}: {left_out} of {left_out + rows} rows have another number of cells than the header; "
        "they are left out.",
    )


def encoding_note(name: str, cells: int) -> tuple[str, ...]:
    """Counts cells that hold bytes of another encoding."""
    if not cells:
        return ()
    return (
        f"{name}: {cells} cells hold bytes of another encoding than the stated one. If that is more than "
        'mistakes, set encoding, such as encoding = "latin-1" or "cp1252".',
    )


_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_OF_COLUMN = re.compile(rf"(?P<file>.*?), column (?P<column>{_QUOTED}): (?P<said>.*)", re.DOTALL)
_FEW = 3


_OF_FILE = re.compile(rf"(?P<file>[^:]*?)(?P<column>(?:, column {_QUOTED})?): (?P<said>.*)", re.DOTALL)
_FEW_FILES = 2


def grouped(notes: Iterable[str]) -> list[str]:
    """Says what is remarked of many columns of a file, or of one in many files, once, with the first numbers.

    Remarks are of one kind if they differ in numbers, ranges and the names of columns, or files, alone. Up to
    three columns, or two files, stay as they are. Of columns, the one with the largest count is shown.

    Example:
        >>> grouped(f"a.csv, column 'c{n}': {n} of 9 cells are blank." for n in range(1, 5))
        ["a.csv, column 'c4': 4 of 9 cells are blank. Likewise 3 more columns, none worse: 'c1', 'c2', 'c3'."]
    """
    kinds: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for place, note in enumerate(notes):
        found = _OF_COLUMN.fullmatch(note)
        key = (str(place),) if found is None else (found["file"], _kind(found["said"]))
        kinds.setdefault(key, []).append((note, "" if found is None else found["column"]))
    return _over_files([line for own in kinds.values() for line in _together(own)])


def _over_files(lines: Sequence[str]) -> list[str]:
    """Says what is remarked of several files in the same words once, in place of the first."""
    parts = [_OF_FILE.fullmatch(line) for line in lines]
    kinds = [None if part is None else (part["column"], _kind(part["said"])) for part in parts]
    files: dict[tuple[str, str], list[str]] = {}
    for kind, part in zip(kinds, parts, strict=True):
        if kind is not None and part is not None:
            files.setdefault(kind, []).append(part["file"])
    said, done = list[str](), set[tuple[str, str]]()
    for kind, line in zip(kinds, lines, strict=True):
        if kind is None or len(files[kind]) <= _FEW_FILES:
            said.append(line)
        elif kind not in done:
            done.add(kind)
            said.append(f"{line} {_likewise('files', files[kind][1:])}")
    return said


def _likewise(what: str, others: Sequence[str]) -> str:
    more = len(others) - _FEW
    rest = f" and {more} more" if more > 0 else ""
    return f"Likewise {len(others)} more {what}: {', '.join(others[:_FEW])}{rest}."


def _kind(said: str) -> str:
    """Returns what is said without numbers, ranges and names."""
    return re.sub(r"\[[^]]*\]|\"[^\"]*\"|[0-9]+", "", said)


def _together(own: Sequence[tuple[str, str]]) -> list[str]:
    if len(own) <= _FEW:
        return [note for note, _ in own]
    counts = [_count(note) for note, _ in own]
    worst = counts.index(max(counts))
    others = [column for place, (_, column) in enumerate(own) if place != worst]
    what = "columns, none worse" if counts[worst] else "columns"
    return [f"{own[worst][0]} {_likewise(what, others)}"]


def _count(note: str) -> int:
    """Returns how many cells of its column a remark is about; 0 where it counts none."""
    said = _OF_COLUMN.fullmatch(note)
    counted = None if said is None else re.match(r"[0-9]+(?= of )", said["said"])
    return 0 if counted is None else int(counted[0])


def unused_note(name: str, header: Iterable[str], used: Iterable[str]) -> tuple[str, ...]:
    """Names the columns of a file that nothing uses; names are public, as the config's are.

    Args:
        name: the file's.
        header: its columns.
        used: names of columns, or patterns of some.
    """
    known = set(used)
    patterns = [one for one in known if has_pattern([one])]
    unused = [
        column
        for column in header
        if column not in known and not any(matches(pattern, column) for pattern in patterns)
    ]
    if not unused:
        return ()
    return (f"{name}: columns that nothing uses: {', '.join(unused)}.",)
