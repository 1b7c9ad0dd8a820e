import gzip
from pathlib import Path

import numpy as np
import pytest

from discreet.data.columns import Categories, Contrast, Numeric, encode
from discreet.data.table import parse_table, read_table
from discreet.errors import DataError

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
    with pytest.raises(DataError, match="whole file"):
        read_table(tmp_path / "cut.csv.gz")
    (tmp_path / "latin.csv").write_bytes("naïve\n1\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        read_table(tmp_path / "latin.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a header and at least one row below it; got no row"),
        ("a,b\n", "got no row"),
        ("a,a\n1,2\n", "'a' appears twice"),
        ("a,b\n1,2\n3\n", "every row must have 2 cells; 1 of 2 rows"),
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


@pytest.mark.parametrize("cell", ["", "nan", "inf", "-inf", "unknown"])
def test_cells_that_are_no_numbers_are_counted_and_not_shown(cell: str) -> None:
    table = parse_table(f"a,b\n987,1\n{cell},2\n", name="t.csv")
    with pytest.raises(DataError, match=r"column 'a': .*; 1 of 2 rows do not") as caught:
        table.numbers("a")
    assert "987" not in str(caught.value)
    assert not cell or repr(cell) not in str(caught.value)


def test_numeric_clips_and_maps_the_public_range_onto_minus_one_to_one() -> None:
    table = parse_table("v\n10\n20\n25\n30\n99\n-5\n", name="t")
    features, names = encode(table, [Numeric("v", 10, 30)])
    assert names == ("v",)
    assert features[:, 0].tolist() == [-1.0, 0.0, 0.5, 1.0, 1.0, -1.0]


def test_a_code_for_not_measured_is_neutral_and_marked() -> None:
    table = parse_table("chol\n0\n100\n400\n", name="t")
    features, names = encode(table, [Numeric("chol", 100, 400, not_measured=0)])
    assert names == ("chol", "chol not measured")
    assert features.tolist() == [[0.0, 1.0], [-1.0, 0.0], [1.0, 0.0]]


def test_categories_and_contrasts() -> None:
    table = parse_table(TEXT, name="t")
    features, names = encode(table, [Categories("site", ("south", "north")), Contrast("sex", "f", "m")])
    assert names == ("site = south", "site = north", "sex = m")
    assert features.tolist() == [[0.0, 1.0, -1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    flags, flag_names = encode(table, [Categories("site", ("south",), baseline="north")])
    assert flag_names == ("site = south",)
    assert flags.tolist() == [[0.0], [1.0], [0.0]]
    with pytest.raises(DataError, match="must be one of f; 2 of 3 rows hold something else"):
        encode(table, [Categories("sex", ("f",))])


def test_public_rules_that_make_no_sense() -> None:
    for low, high in ((1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.inf)):
        with pytest.raises(DataError, match="low < high"):
            Numeric("v", low, high)
    for values in ((), ("a", "a")):
        with pytest.raises(DataError, match="distinct"):
            Categories("v", values)
    with pytest.raises(DataError, match="distinct"):
        Categories("v", ("a",), baseline="a")
