"""From the name of a source to its files: one, one for each silo by name, or those of a folder or pattern."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.data.csv_file import CsvFile
from discreet.data.dialect import Dialect, Dialects
from discreet.data.parquet_file import ParquetFile
from discreet.errors import DataError

TableFile = CsvFile | ParquetFile
Source = str | Mapping[str, str]
"""Where records are: one text, or one for each silo by its public name."""

_SUFFIXES = {"csv": (".csv", ".csv.gz"), "parquet": (".parquet",)}
TABLES = tuple(f"{scheme}:" for scheme in _SUFFIXES)


def of_tables(source: Source) -> bool:
    """Says whether a source is one or several tables, by its text alone."""
    return not isinstance(source, str) or source.startswith(TABLES)


def of_several(source: Source) -> bool:
    """Says whether each file of a source is a silo: named, or of a pattern with ``*``, or of a folder."""
    return not isinstance(source, str) or (
        source.startswith(TABLES) and ("*" in source or source.endswith("/"))
    )


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a source.

    Attributes:
        name: what to call the data.
        files: each by its silo, or by the stem of its name, in sorted order.
    """

    name: str
    files: Mapping[str, TableFile]

    def headers(self) -> tuple[dict[str, tuple[str, ...]], list[str]]:
        """Returns the columns of every file that can be read, and what is wrong with the others."""
        found, problems = {}, list[str]()
        for silo, file in self.files.items():
            try:
                found[silo] = file.header()
            except DataError as error:
                problems.append(str(error))
        return found, problems


def table_files(source: Source, dialects: Dialects) -> TableFiles:
    """Finds the files of a source; none is opened.

    Args:
        source: ``csv:PATH`` or ``parquet:PATH``, where PATH may hold ``*`` or end in ``/`` for a folder; or
            one such file for each silo by its name.
        dialects: how CSV files are written.

    Raises:
        DataError: if there is none, two would be silos of one name, or a silo has something else.
    """
    if isinstance(source, str):
        scheme, _, path = source.partition(":")
        paths = _matched(source, scheme, path) if of_several(source) else {Path(path).name: Path(path)}
        found = {silo: (scheme, one) for silo, one in paths.items()}
        name = source if of_several(source) else Path(path).name
    else:
        found, name = _named(source), "the silos' tables"
    dialects.require_of(found)
    return TableFiles(name, {silo: _file(*one, dialects.of(silo)) for silo, one in found.items()})


def in_folder(folder: Path) -> list[Path]:
    """Returns the tables that a folder holds, by name.

    Raises:
        DataError: if it holds none.
    """
    ends = tuple(end for suffixes in _SUFFIXES.values() for end in suffixes)
    found = sorted(path for path in folder.iterdir() if path.name.endswith(ends) and path.is_file())
    if not found:
        raise DataError(f"the folder {folder} must hold tables ({', '.join(ends)}); it holds none.")
    return found


def _named(source: Mapping[str, str]) -> dict[str, tuple[str, Path]]:
    """Returns scheme and path of the file of each silo."""
    files = {}
    for silo, one in sorted(source.items()):
        scheme, _, path = one.partition(":")
        if scheme not in _SUFFIXES or of_several(one):
            raise DataError(
                f"the source of {silo!r} must be csv:PATH or parquet:PATH of one file; got {one!r}."
                + " One npz: file for all has an array 'silo', which says whose each record is."
                * (scheme == "npz")
            )
        files[silo] = (scheme, Path(path))
    if not files:
        raise DataError("the source must name a file for at least one silo; it names none.")
    return files


def _matched(source: str, scheme: str, path: str) -> dict[str, Path]:
    """Returns the files that a pattern matches, by their stems."""
    suffixes = _SUFFIXES[scheme]
    patterns = [f"{path}*{suffix}" for suffix in suffixes] if path.endswith("/") else [path]
    # Only the star is special: names of files may hold brackets.
    escaped = [glob.escape(pattern).replace("[*]", "*") for pattern in patterns]
    found = sorted({Path(match) for pattern in escaped for match in glob.glob(pattern)})
    files: dict[str, Path] = {}
    for match in found:
        stem = next(
            (match.name.removesuffix(end) for end in reversed(suffixes) if match.name.endswith(end)), ""
        )
        if not stem:
            raise DataError(f"{source}: files must end in {' or '.join(suffixes)}; got {match.name}.")
        if stem in files:
            raise DataError(f"{source}: two files would be the silo {stem!r}; rename one.")
        files[stem] = match
    if not files:
        raise DataError(f"{source}: there must be a file of that name; there is none.")
    return {stem: files[stem] for stem in sorted(files)}


def _file(scheme: str, path: Path, dialect: Dialect) -> TableFile:
    """Returns one file."""
    if path.is_dir():
        raise DataError(
            f"the data must be a readable file; {path}: is a folder. "
            f"For one silo for each of its files write {scheme}:{path}/."
        )
    return CsvFile(path, dialect) if scheme == "csv" else ParquetFile(path)


def together(problems: Sequence[str], what: str) -> DataError:
    """Returns one error of all problems: its line if there is one, else a line for each below a heading."""
    if len(problems) == 1:
        return DataError(problems[0])
    return DataError.with_notes(f"{what} in {len(problems)} places.", problems)
