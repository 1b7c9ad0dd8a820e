"""Several files, dialects, patterns, dates and missing cells: each row is read by public rules alone."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_data
from discreet.config.data_assumptions import data_assumptions
from discreet.config.federation import federation_of, with_named_columns
from discreet.data import Federation, PublicFacts, load_federation
from discreet.data import csv_file as csv_module
from discreet.data.bins import Bins
from discreet.data.columns import Categories, Column, Days, Numeric, encode
from discreet.data.csv_file import CsvFile, parse_table
from discreet.data.dates import DateOrder
from discreet.data.dialect import Dialect
from discreet.data.norm import largest_norm
from discreet.data.unusable import Unusable, clipped_note, without_advice
from discreet.errors import ConfigurationError, DataError

FIRST_AND_LAST = (date(2000, 1, 1), date(2000, 1, 11))
HEADER = ("pid", "age", "sex", "seen", "g1", "g2", "ill")
COMMON: dict[str, Any] = {
    "label": "ill",
    "classes": ["no", "yes"],
    "ranges": {"age": [20, 90], "g*": [-4, 4]},
    "categories": {"sex": ["f", "m"]},
    "dates": {"seen": {"from": "2000-01-01", "to": "2020-12-31"}},
    "missing": "indicator",
    "drop": ["p*"],
    "test_fraction": 0.25,
}


def rows(count: int, seed: int) -> list[dict[str, str]]:
    source = np.random.default_rng(seed)
    return [
        {
            "pid": f"p{seed}-{n}",
            "age": "" if n % 7 == 0 else str(source.integers(20, 95)),
            "sex": ["f", "m", "", "x"][n % 4],
            "seen": "" if n % 5 == 0 else f"2{n % 3:03}-0{1 + n % 9}-11",
            "g1": f"{source.normal():.4f}",
            "g2": f"{source.normal():.4f}",
            "ill": ["no", "yes"][n % 2],
        }
        for n in range(count)
    ]


def write(
    path: Path, table: list[dict[str, str]], header: tuple[str, ...] = HEADER, separator: str = ","
) -> None:
    lines = [separator.join(header), *(separator.join(row[name] for name in header) for row in table)]
    content = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def loaded(source: object, **facts: Any) -> Federation:
    return federation_of(with_named_columns(parse_data({"source": source, **COMMON, **facts})))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "north.csv", rows(40, 1))
    write(tmp_path / "south.csv.gz", rows(30, 2), header=HEADER[::-1])
    return tmp_path


def same(one: Federation, other: Federation) -> bool:
    return one.silo_names == other.silo_names and all(
        np.array_equal(left.features, right.features) and np.array_equal(left.labels, right.labels)
        for mine, yours in zip(one.silos, other.silos, strict=True)
        for left, right in ((mine.train, yours.train), (mine.test, yours.test))
    )


def test_names_patterns_folders_and_one_column_of_silos_give_the_same_records(folder: Path) -> None:
    whole = loaded({"south": f"csv:{folder}/south.csv.gz", "north": f"csv:{folder}/north.csv"})
    assert whole.silo_names == ("north", "south")
    assert [len(silo.train) + len(silo.test) for silo in whole.silos] == [40, 30]
    assert whole.feature_names == (
        "age", "age missing", "g1", "g1 missing", "g2", "g2 missing", "seen", "seen missing",
        "sex = f", "sex = m", "sex missing", "constant",
    )  # fmt: skip
    assert same(whole, loaded(f"csv:{folder}/"))
    assert same(whole, loaded(f"csv:{folder}/*.csv*"))
    both = [row | {"site": site} for site, n, s in (("south", 30, 2), ("north", 40, 1)) for row in rows(n, s)]
    write(folder / "all.txt", both, header=(*HEADER, "site"))
    assert same(whole, loaded(f"csv:{folder}/all.txt", partition={"kind": "column", "column": "site"}))
    assert not any("columns that nothing uses" in line for line in whole.warnings)


def test_the_files_of_a_folder_are_dealt_out_where_a_partition_says_so(folder: Path) -> None:
    dealt = loaded(f"csv:{folder}/", partition={"kind": "iid", "silos": 2})
    assert [len(silo.train) + len(silo.test) for silo in dealt.silos] == [35, 35]


def test_parquet_stands_beside_csv(folder: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = rows(30, 2)
    columns = {name: [row[name] or None for row in table] for name in HEADER[::-1]}
    numbers = {
        name: [None if cell is None else float(cell) for cell in columns[name]] for name in ("age", "g1")
    }
    parquet.write_table(arrow.table(columns | numbers), folder / "south.parquet")
    mixed = loaded({"north": f"csv:{folder}/north.csv", "south": f"parquet:{folder}/south.parquet"})
    assert same(mixed, loaded(f"csv:{folder}/"))


def test_all_problems_of_all_files_are_one_answer(folder: Path) -> None:
    write(folder / "west.csv", rows(3, 3), header=HEADER[:-1])
    (folder / "empty.csv").write_text("")
    with pytest.raises(DataError, match="the files do not fit the config in 3 places") as caught:
        loaded(f"csv:{folder}/", ranges={"aged": [0, 1]})
    told = "\n".join(caught.value.__notes__)
    for line in (
        "empty.csv: a table must have a header",
        "north.csv, south.csv.gz, west.csv: there is no column 'aged'. Did you mean 'age'?",
        "west.csv: there is no column 'ill'",
    ):
        assert line in told


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("csv:{}", "is a folder. For one silo for each of its files write csv:.*/"),
        ("csv:{}/none*.csv", "there must be a file of that name"),
        ({}, "at least one silo"),
        ({"a": "npz:x.npz"}, "one file; got 'npz:x.npz'. One npz: file for all has an array 'silo'"),
        ({"a": "csv:{}/*"}, "of one file"),
        ("csv:{}/*.txt", "must end in .csv or .csv.gz"),
        ("csv:{}/twice/", "two files would be the silo 'a'"),
    ],
)
def test_a_source_that_is_none_is_one_line(folder: Path, source: Any, message: str) -> None:
    (folder / "x.txt").write_text("a\n")
    (folder / "twice").mkdir()
    for name in ("a.csv", "a.csv.gz"):
        write(folder / "twice" / name, rows(2, 1))
    named = (
        source.format(folder) if isinstance(source, str) else {k: v.format(folder) for k, v in source.items()}
    )
    with pytest.raises(DataError, match=message):
        loaded(named, ranges={"age": [20, 90]})


def test_which_silos_there_are_is_an_assumption_where_files_say_it() -> None:
    text = "which silos there are, read from the names of files, is public"
    assert text in data_assumptions(parse_data({"source": "csv:a/*.csv"}))
    assert text not in data_assumptions(parse_data({"source": {"a": "csv:a.csv"}}))


def test_rows_at_a_time_are_the_rows_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = loaded(f"csv:{folder}/")
    monkeypatch.setattr(csv_module, "CELLS_AT_A_TIME", 3 * len(HEADER))
    parts = loaded(f"csv:{folder}/")
    assert same(whole, parts)
    assert parts.warnings == whole.warnings
    assert len(list(CsvFile(folder / "north.csv").tables(HEADER))) == 14


# --- dialects ----------------------------------------------------------------------------------------------


def test_a_named_dialect_reads_what_another_tool_wrote(folder: Path) -> None:
    german = [{name: cell.replace(".", ",") for name, cell in row.items()} for row in rows(40, 1)]
    header = (*HEADER[:-1], "ill")
    write(folder / "de.csv", german, header, separator=";")
    found = loaded({"north": f"csv:{folder}/de.csv"}, separator=";", decimal=",")
    assert same(found, loaded({"north": f"csv:{folder}/north.csv"}))


def test_latin_text_needs_its_encoding_and_the_message_says_so(tmp_path: Path) -> None:
    text = "alter,größe,krank\n" + "".join(
        f"{20 + n},{'klein' if n % 2 else 'groß'},{n % 2}\n" for n in range(9)
    )
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    facts: dict[str, Any] = {
        "source": {"a": f"csv:{tmp_path}/t.csv"},
        "label": "krank",
        "categories": {"größe": ["klein", "groß"]},
        "drop": ["alter"],
    }
    with pytest.raises(DataError, match='Set encoding = "latin-1"'):
        federation_of(parse_data(facts))
    assert federation_of(parse_data(facts | {"encoding": "latin-1"})).warnings == ()


def test_a_separator_that_does_not_fit_is_named() -> None:
    with pytest.raises(DataError, match="set separator = ';'"):
        parse_table("age;ill\n5;1\n", name="t.csv").column("age")


@pytest.mark.parametrize(
    ("dialect", "message"),
    [
        ({"separator": ";;"}, "separator must be one character"),
        ({"separator": '"'}, "separator must be one character"),
        ({"decimal": "x"}, "decimal must be"),
        ({"decimal": ","}, "must differ"),
        *(
            ({"encoding": name}, "encoding must be")
            for name in ("utf-16", "shift_jis", "gbk", "utf-7", "none", "rot13")
        ),
    ],
)
def test_a_dialect_in_which_one_record_could_spoil_another_is_refused(
    dialect: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Dialect(**dialect)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "iso8859-15", "mac-roman"])
def test_a_spoilt_byte_stays_in_its_cell_in_every_encoding_that_is_accepted(
    tmp_path: Path, encoding: str
) -> None:
    for byte in range(0x80, 0x100):
        (tmp_path / "t.csv").write_bytes(b"a,b\nx" + bytes([byte]) + b",1\ny,2\n")
        file = CsvFile(tmp_path / "t.csv", Dialect(encoding=encoding))
        (table,) = file.tables(["a", "b"])
        assert table.columns["a"][1] == "y"
        assert table.columns["b"] == ("1", "2")


def test_a_decimal_comma_is_no_separator_of_thousands_and_a_gap_changes_no_code(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("v;code\n1,5;1,0\n1.500;2\n2;1\n")
    (table,) = CsvFile(tmp_path / "t.csv", Dialect(";", decimal=",")).tables(["v", "code"])
    assert table.numbers("v").tolist()[::2] == [1.5, 2.0]
    assert np.isnan(table.numbers("v")[1])
    assert table.column("code") == ("1", "2", "1")


# --- rules -------------------------------------------------------------------------------------------------


def test_a_missing_cell_is_neutral_and_has_a_feature_of_its_own() -> None:
    table = parse_table("n,c,d\n15,a,2000-01-06\n,,\nNA,b,31.12.1999\n", name="t")
    number, text, day = (
        Numeric("n", 10, 20, missing=True),
        Categories("c", ("a",), missing=True),
        Days("d", *FIRST_AND_LAST, missing=True),
    )
    features, found = encode(table, [number, text, day])
    assert features.tolist() == [[0, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 1], [0, 1, 0, 0, 0, 1]]
    # Blank cells were expected; a text among numbers was not.
    assert [one.unread for one in found] == [1, 1, 1]
    assert "blank cells need" not in number.notes("t", 3, found[0])[0]

    assert "missing =" not in number.notes("t", 3, found[0])[0]


@pytest.mark.parametrize("rule", [Numeric("n", 10, 20), Bins("n", 10, 20, (15.0,))])
def test_the_advice_for_texts_among_numbers_leads_to_a_plan(rule: Numeric | Bins) -> None:
    cases = (("n\n15\nNA\n", 'missing = { "n" = "indicator" }'), ("n\nNA\nn/a\n", "in place of its range"))
    for text, wanted in cases:
        _, (found,) = encode(parse_table(text, name="t"), [rule])
        (note,) = rule.notes("t", 2, found)
        assert wanted in note
        assert ("categories" in note) == (found.unread == 2)
        # Nothing can be changed for rows that are predicted.
        assert without_advice([note]) == (note[: note.index(" To accept")],)
    outside = clipped_note("t", 2, "n", Unusable(outside=1), limits="[10, 20]", knob="ranges")
    assert without_advice(outside)[0].endswith("are clipped to it.")


def test_a_column_has_length_one_at_most_with_or_without_its_missing_cells(folder: Path) -> None:
    """The module's claim: features of a column never exceed 1 together, so records are scaled from a ball."""
    table = parse_table(
        "n,c,d\n" + "\n".join(["99,a,2050-01-01", ",,", "x,q,z", "-9,b,1900-01-01"]), name="t"
    )
    for missing in (False, True):
        columns: list[Column] = [
            Numeric("n", 0, 1, missing=missing),
            Categories("c", ("a", "b"), missing=missing),
            Days("d", *FIRST_AND_LAST, missing=missing),
        ]
        for column in columns:
            assert (np.linalg.norm(encode(table, [column])[0], axis=1) <= 1.0).all()
    for silo in loaded(f"csv:{folder}/").silos:
        assert largest_norm(silo.train.features) <= 1.0


@pytest.mark.parametrize(
    "missing", ["indicator", {"age": "indicator"}, {"a*": "indicator", "sex": "neutral"}]
)
def test_the_rule_for_missing_cells_may_be_stated_by_column(folder: Path, missing: Any) -> None:
    names = loaded(f"csv:{folder}/", missing=missing).feature_names
    assert "age missing" in names
    assert ("sex missing" in names) == (missing == "indicator")


def test_dates_are_days_on_a_public_range() -> None:
    table = parse_table("d\n2000-01-06\n2000-01-11 13:05:00\n1990-01-01\n2000-02-30\n6.1.2000\n", name="t")
    features, (found,) = encode(table, [Days("d", *FIRST_AND_LAST)])
    assert features[:, 0].tolist() == [0.0, 1.0, -1.0, 0.0, 0.0]
    assert (found.unread, found.outside) == (2, 1)
    assert (
        encode(parse_table("d\n11.1.2000\n", name="t"), [Days("d", *FIRST_AND_LAST, DateOrder.DMY)])[0] == 1.0
    )
    with pytest.raises(DataError, match="from a day to a later one"):
        Days("d", *FIRST_AND_LAST[::-1])


def test_a_category_that_lists_the_blank_text_needs_no_further_one(folder: Path) -> None:
    names = loaded(f"csv:{folder}/", categories={"sex": ["", "f"]}).feature_names
    assert "sex missing" not in names


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranges": {"h*": [0, 1]}}, r"ranges.'h\*' fits no column that is left"),
        ({"ranges": {"g*": [0, 1], "*1": [0, 1]}}, r"'g1' fits two patterns, ranges.'g\*' and ranges.'\*1'"),
        ({"missing": {"z*": "indicator"}}, r"missing.'z\*' fits no column"),
        ({"missing": {"pid": "indicator"}}, "'pid' is none"),
        ({"drop": ["age"]}, "'age' is both"),
        (
            {"categories": {"age": ["1", "2"]}},
            r"must have one rule; 'age' is in ranges and categories\. Leave it in one of them",
        ),
    ],
)
def test_patterns_that_do_not_fit_are_one_line(folder: Path, change: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        loaded(f"csv:{folder}/", **change)


def test_a_name_wins_over_a_pattern_and_label_id_and_dropped_columns_fit_none(folder: Path) -> None:
    data = parse_data(
        {"source": f"csv:{folder}/", **COMMON, "ranges": {"*": [-4, 4], "age": [20, 90]}, "drop": []}
    )
    named = with_named_columns(data.model_copy(update={"id": "pid"}))
    assert named.ranges == {"g1": (-4, 4), "g2": (-4, 4), "age": (20, 90)}


def test_two_thousand_columns_by_one_pattern(tmp_path: Path) -> None:
    header = [f"g{n}" for n in range(2000)]
    lines = [",".join([*header, "ill"]), *(",".join(["0.5"] * 2000 + [str(n % 2)]) for n in range(20))]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    facts = {"source": {"a": f"csv:{tmp_path}/wide.csv"}, "label": "ill", "ranges": {"g*": [-4, 4]}}
    assert federation_of(with_named_columns(parse_data(facts))).feature_shape == (2001,)


def test_drafts_are_refused_by_name() -> None:
    facts = {
        "source": "csv:x.csv",
        "ranges": {"age": "draft: 29 to 77; replace"},
        "categories": {"sex": ["draft: f"]},
    }
    with pytest.raises(ConfigurationError, match=r"public knowledge: ranges.age, categories.sex\."):
        parse_data(facts)


@pytest.mark.parametrize("pixels", [True, False, None])
def test_bytes_are_never_divided_in_silence(tmp_path: Path, pixels: bool | None) -> None:
    np.savez(
        tmp_path / "t.npz", x=np.full((4, 3), 51, dtype=np.uint8), y=np.array([0, 1, 0, 1]), silo=np.zeros(4)
    )
    facts = PublicFacts(num_classes=2, pixels=pixels)
    found = load_federation(f"npz:{tmp_path}/t.npz", facts=facts, test_fraction=0.0)
    assert found.silos[0].train.features[0, 0] == pytest.approx(51.0 if pixels is False else 0.2)
    assert any("pixels = false" in line for line in found.warnings) == (pixels is None)
    np.savez(tmp_path / "t.npz", x=np.full((4, 3), 51), y=np.array([0, 1, 0, 1]), silo=np.zeros(4))
    found = load_federation(f"npz:{tmp_path}/t.npz", facts=facts, test_fraction=0.0)
    assert found.silos[0].train.features[0, 0] == 51.0
    assert any("int64 is taken as it is" in line for line in found.warnings) == (pixels is True)


@pytest.mark.parametrize(
    "spoil", [lambda row: row | {"seen": "31.12.2005"}, lambda row: row | {"g1": '"1,5\xff"', "sex": ""}]
)
def test_one_odd_record_changes_no_other(
    folder: Path, spoil: Callable[[dict[str, str]], dict[str, str]]
) -> None:
    table = rows(40, 1)
    before = loaded({"a": f"csv:{folder}/north.csv"}, test_fraction=0.0).silos[0].train
    for place in (0, 17, 39):
        write(folder / "odd.csv", [*table[:place], spoil(table[place]), *table[place + 1 :]])
        after = loaded({"a": f"csv:{folder}/odd.csv"}, test_fraction=0.0).silos[0].train
        assert np.flatnonzero((before.features != after.features).any(axis=1)).tolist() in ([place], [])
        assert np.array_equal(before.labels, after.labels)
