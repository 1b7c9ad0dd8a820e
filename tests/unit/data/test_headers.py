"""What is wrong with many files is said once, with the files and what to write into the config."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.config import parse_data
from discreet.config.federation import with_named_columns
from discreet.data import PublicFacts, load_federation
from discreet.data.remarks import grouped
from discreet.errors import DataError

FACTS = PublicFacts(label="krank", ranges={"Alter": (0, 100), "Größe": (1, 2)})


def written(folder: Path, name: str, separator: str, encoding: str = "utf-8") -> None:
    lines = [separator.join(row) for row in (("Alter", "Größe", "krank"), ("50", "1", "0"), ("60", "2", "1"))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding=encoding)


def refused(folder: Path) -> list[str]:
    with pytest.raises(DataError) as refusal:
        load_federation(f"csv:{folder}/", facts=FACTS)
    return [str(refusal.value), *getattr(refusal.value, "__notes__", [])]


def test_files_that_are_written_alike_otherwise_are_named_together(tmp_path: Path) -> None:
    written(tmp_path, "north", ",")
    written(tmp_path, "bad tölz", ";")
    written(tmp_path, "south", ";", "latin-1")
    written(tmp_path, "west", ";", "latin-1")
    written(tmp_path, "east", "\t", "utf-16")
    _, spoilt, separators, encodings = refused(tmp_path)
    assert spoilt == "east.csv must be UTF-8; it is UTF-16. Save it as UTF-8."
    assert separators == (
        "bad tölz.csv, south.csv, west.csv: the header is one column, 'Alter;Größe;krank'; if cells end at "
        '\';\', set separator = { "bad tölz" = ";", south = ";", west = ";" }.'
    )
    assert encodings.endswith('Set encoding = { south = "latin-1", west = "latin-1" }, or "cp1252".')
    assert encodings.startswith("south.csv, west.csv: the header holds bytes of another encoding.")


def test_where_all_files_differ_one_word_is_enough_and_a_pattern_is_answered_alike(tmp_path: Path) -> None:
    for name in ("north", "south"):
        written(tmp_path, name, ";")
    (only,) = refused(tmp_path)
    assert only.endswith("if cells end at ';', set separator = \";\".")
    data = parse_data({"source": f"csv:{tmp_path}/", "label": "krank", "ranges": {"A*": [0, 100]}})
    with pytest.raises(DataError, match='set separator = ";"'):
        with_named_columns(data)


def test_a_column_that_several_files_lack_is_named_once(tmp_path: Path) -> None:
    written(tmp_path, "north", ",")
    for name in ("south", "west"):
        (tmp_path / f"{name}.csv").write_text("alter,Größe,krank\n50,1,0\n")
    assert refused(tmp_path) == ["south.csv, west.csv: there is no column 'Alter'. Did you mean 'alter'?"]


def test_a_remark_about_many_files_is_made_once() -> None:
    notes = [
        f"{name}.csv, column 'Alter': {count} of 9 cells are blank." for count, name in enumerate("abcde")
    ]
    (line,) = grouped(notes)
    assert line == f"{notes[0]} Likewise 4 more files: b.csv, c.csv, d.csv and 1 more."
    assert grouped(notes[:2]) == notes[:2]
    unused = [f"{name}.csv: columns that nothing uses: note." for name in "abc"]
    assert grouped([*unused, "d.csv: columns that nothing uses: other."]) == [
        f"{unused[0]} Likewise 2 more files: b.csv, c.csv.",
        "d.csv: columns that nothing uses: other.",
    ]
