"""What is wrong with the headers of a source's files: a line for each problem, with all that have it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from discreet.data.csv_file import CsvFile
from discreet.data.table import likely_separator, no_column
from discreet.data.table_files import TableFiles

_MOST_NAMED = 20
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

Headers = Mapping[str, Sequence[str]]


def miswritten(headers: Headers, files: TableFiles) -> tuple[list[str], frozenset[str]]:
    """Says which files seem to be written otherwise than stated, and returns whose these are.

    Separators are told by headers of one column, encodings by bytes in a header; no record is read.
    """
    separators: dict[str, list[str]] = {}
    encodings: list[str] = []
    for silo, header in headers.items():
        if not isinstance(files.files[silo], CsvFile):
            continue
        if separator := likely_separator(header):
            separators.setdefault(separator, []).append(silo)
        if any("\ufffd" in name for name in header):
            encodings.append(silo)
    problems = []
    for separator, silos in separators.items():
        shown = headers[silos[0]][0].replace("\ufffd", "?")
        knob = _knob("separator", separator, silos, files)
        what = f"the header is one column, {shown!r}"
        problems.append(f"{_named(silos, files)}: {what}; if cells end at {separator!r}, set {knob}.")
    if encodings:
        knob = _knob("encoding", "latin-1", encodings, files)
        what = "the header holds bytes of another encoding"
        problems.append(f'{_named(encodings, files)}: {what}. Set {knob}, or "cp1252".')
    odd = {silo for silos in (*separators.values(), encodings) for silo in silos}
    return problems, frozenset(odd)


def missing_columns(headers: Headers, files: TableFiles, used: Iterable[str]) -> list[str]:
    """Says which columns the files lack; of a file that is written otherwise, only how it seems to be."""
    wanted = list(used)
    problems, odd = miswritten({silo: own for silo, own in headers.items() if set(wanted) - set(own)}, files)
    lacking: dict[str, list[str]] = {}
    for silo, header in headers.items():
        if silo in odd:
            continue
        known = set(header)
        absent = [column for column in wanted if column not in known]
        for column in absent[:_MOST_NAMED]:
            lacking.setdefault(no_column(column, header), []).append(silo)
        if len(absent) > _MOST_NAMED:
            more = f"{len(absent) - _MOST_NAMED} more columns are missing."
            lacking.setdefault(more, []).append(silo)
    return [*problems, *(f"{_named(silos, files)}: {line}" for line, silos in lacking.items())]


def _named(silos: Sequence[str], files: TableFiles) -> str:
    """Names the files of some silos."""
    names = [files.files[silo].name for silo in silos[:_MOST_NAMED]]
    more = len(silos) - _MOST_NAMED
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _knob(key: str, value: str, silos: Sequence[str], files: TableFiles) -> str:
    """Returns what to write into the config: for all files, or for those that differ."""
    text = json.dumps(value, ensure_ascii=False)
    if len(silos) == len(files.files):
        return f"{key} = {text}"
    entries = (
        f"{silo if _BARE_KEY.fullmatch(silo) else json.dumps(silo, ensure_ascii=False)} = {text}"
        for silo in silos
    )
    return f"{key} = {{ {', '.join(entries)} }}"
