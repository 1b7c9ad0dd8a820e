import gzip
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from discreet.data.columns import Categories, Column, Contrast, Days, Numeric, encode, feature_names
from discreet.data.csv_file import CsvFile, parse_table
from discreet.data.table import Table
from discreet.errors import DataError


def read_table(path: Path) -> Table:
    """Reads all columns of a small file."""
    file = CsvFile(path)
    (table,) = file.tables(file.header())
    return table


def notes_on(table: Table, columns: list[Column]) -> list[str]:
    """Returns what the owner is told of the cells."""
    found = encode(table, columns)[1]
    return [
        note
        for column, one in zip(columns, found, strict=True)
        for note in column.notes(table.name, len(table), one)
    ]


TEXT = "age, sex,site\n50,f,north\n70,m,south\n20,m,north\n"


def test_reads_plain_and_compressed_files_alike(tmp_path: Path) -> None:
    plain, packed = tmp_path / "t.csv", tmp_path / "t.csv.gz"
    plain.write_text(TEXT, encoding="utf-8-sig")
    packed.write_bytes(gzip.compress(TEXT.encode()))
    table = read_table(plain)
    assert table.columns == read_table(packed).columns
    assert table.columns == {
        "age": ("50", "70", "20"),
        "sex": ("f", "m", "m"),
        "site": ("north", "south", "north"),
    }
    assert repr(table) == "Table('t.csv', 3 rows, 3 columns)"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"readable file; .*missing\.csv: No such file"):
        read_table(tmp_path / "missing.csv")
    (tmp_path / "a.csv.gz").write_text(TEXT)
    with pytest.raises(DataError, match=r"a\.csv\.gz must be a gzip file"):
        read_table(tmp_path / "a.csv.gz")
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    with pytest.raises(DataError, match="whole gzip file"):
        read_table(tmp_path / "cut.csv.gz")


def test_bytes_that_are_no_text_stay_in_their_cell(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("a,b\nnaïve,1\nplain,2\n".encode("latin-1"))
    assert read_table(tmp_path / "latin.csv").columns == {"a": ("na\ufffdve", "plain"), "b": ("1", "2")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have a header; got an empty file"),
        ("a,a\n1,2\n", "'a' appears twice"),
    ],
)
def test_malformed_tables(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_table(text, name="t.csv")


def test_an_unknown_column_names_the_nearest() -> None:
    table = parse_table(TEXT, name="t.csv")
    with pytest.raises(DataError, match=r"t\.csv: there is no column 'agee'\. Did you mean 'age'\?"):
        table.column("agee")
    with pytest.raises(DataError, match=r"There are: age, sex, site\."):
        table.column("zzz")


def test_rows_of_another_length_are_left_out_and_keep_their_place() -> None:
    table = parse_table("a,b\n1,2\n3\n\n4,5\n6,7,8\n9,0\n", name="t.csv")
    assert table.columns == {"a": ("1", "4", "9"), "b": ("2", "5", "0")}
    assert table.places.tolist() == [0, 3, 5]
    assert table.left_out == 2
    assert len(parse_table("a,b\n", name="t.csv")) == 0


@pytest.mark.parametrize("cell", ["", "nan", "inf", "-inf", "unknown", "1e999"])
def test_cells_that_are_no_numbers_are_the_middle_of_the_range(cell: str) -> None:
    table = parse_table(f"a,b\n987,1\n{cell},2\n", name="t.csv")
    columns: list[Column] = [Numeric("a", 0, 1000), Numeric("a", 0, 1000, not_measured=-1)]
    features, notes = encode(table, columns)[0], notes_on(table, columns)
    assert features[1].tolist() == [0.0, 0.0, 0.0]
    assert notes[0].startswith("t.csv, column 'a': 1 of 2 cells hold no finite number")
    assert "987" not in notes[0]
    assert not cell or repr(cell) not in notes[0]


def test_a_text_that_counts_as_missing_is_told_so_and_nothing_is_advised_that_is_set() -> None:
    table = parse_table("a,d\n987,2010-01-02\nNA,NA\n,\n", name="t.csv")
    days = (date(2000, 1, 1), date(2020, 1, 1))
    notes = notes_on(table, [Numeric("a", 0, 1000, missing=True), Days("d", *days, missing=True)])
    assert [note.count("1 of 3 cells") for note in notes] == [1, 1]
    assert all("the middle of the range, and as missing, which has a feature. To" in note for note in notes)
    assert not any("indicator" in note for note in notes)


def test_numeric_clips_and_maps_the_public_range_onto_minus_one_to_one() -> None:
    table = parse_table("v\n10\n20\n25\n30\n99\n-5\n", name="t")
    features, _ = encode(table, [Numeric("v", 10, 30)])
    assert feature_names([Numeric("v", 10, 30)]) == ("v",)
    assert features[:, 0].tolist() == [-1.0, 0.0, 0.5, 1.0, 1.0, -1.0]


def test_a_code_for_not_measured_is_neutral_and_marked() -> None:
    table = parse_table("chol\n0\n100\n400\n", name="t")
    column = Numeric("chol", 100, 400, not_measured=0)
    features, _ = encode(table, [column])
    assert column.names == ("chol", "chol not measured")
    assert features.tolist() == [[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]]


def test_categories_and_contrasts() -> None:
    table = parse_table(TEXT, name="t")
    both: list[Column] = [Categories("site", ("south", "north")), Contrast("sex", "f", "m")]
    features, _ = encode(table, both)
    assert feature_names(both) == ("site = south", "site = north", "sex = m")
    assert features.tolist() == [[0.0, 1.0, -1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    flag = Categories("site", ("south",), baseline="north")
    flags, _ = encode(table, [flag])
    assert flag.names == ("site = south",)
    assert flags.tolist() == [[0.0], [1.0], [0.0]]
    partly: list[Column] = [Categories("sex", ("f",)), Categories("sex", ("x",), baseline="m")]
    known, notes = encode(table, partly)[0], notes_on(table, partly)
    assert known.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    assert [note.split(": ", 1)[1].split(" cells")[0] for note in notes] == ["2 of 3", "1 of 3"]
    assert encode(table, [Contrast("sex", "f", "x")])[0].tolist() == [[-1.0], [0.0], [0.0]]


def test_public_rules_that_make_no_sense() -> None:
    for low, high in ((1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.inf), (-1e308, 1e308)):
        with pytest.raises(DataError, match="low < high"):
            Numeric("v", low, high)
    for values in ((), ("a", "a")):
        with pytest.raises(DataError, match="distinct"):
            Categories("v", values)
    with pytest.raises(DataError, match="distinct"):
        Categories("v", ("a",), baseline="a")
