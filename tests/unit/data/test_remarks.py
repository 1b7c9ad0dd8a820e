"""What the owner is told of a table before anything is computed: every column at once, counts and no cell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.data import ColumnSilos, Federation, OneSilo, PublicFacts, load_federation
from discreet.data.bundled import heart_disease
from discreet.data.remarks import grouped
from discreet.errors import DataError

ROWS = [
    f"{'north' if n % 3 else 'south'},{20 + n},{'fm'[n % 2]},p{n},{['no', 'yes'][n % 2]}" for n in range(30)
]
HEADER = "site,age,sex,patient,ill"
FACTS = PublicFacts(
    label="ill", classes=("no", "yes"), ranges={"age": (20.0, 60.0)}, categories={"sex": ("f", "m")}
)


def loaded(tmp_path: Path, facts: PublicFacts, rows: list[str] = ROWS, **options: Any) -> Federation:
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    by_site = {"partition": ColumnSilos("site"), "test_fraction": 0.0}
    return load_federation(f"csv:{tmp_path / 't.csv'}", facts=facts, **(by_site | options))  # type: ignore[arg-type]


def test_labels_may_be_texts_in_an_order_that_is_public(tmp_path: Path) -> None:
    federation = loaded(tmp_path, FACTS)
    assert federation.num_classes == 2
    assert int(federation.pooled_train().labels.sum()) == 15
    turned = loaded(
        tmp_path, PublicFacts(label="ill", classes=("yes", "no", "maybe"), ranges={"age": (20, 60)})
    )
    assert turned.num_classes == 3
    assert sorted(set(turned.pooled_train().labels.tolist())) == [0, 1]


def test_a_whole_number_with_empty_decimals_is_its_class(tmp_path: Path) -> None:
    rows = [row.replace(",no", ",0.0").replace(",yes", ",1.0") for row in ROWS]
    federation = loaded(tmp_path, PublicFacts(label="ill", ranges={"age": (20, 60)}), rows)
    assert len(federation.pooled_train()) == 30


def test_the_number_of_classes_must_agree_with_their_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="number of classes, 2; got 3"):
        loaded(
            tmp_path, PublicFacts(label="ill", classes=("no", "yes"), num_classes=3, ranges={"age": (0, 1)})
        )
    with pytest.raises(DataError, match="two distinct classes"):
        loaded(tmp_path, replace(FACTS, classes=("no", "no")))


def test_all_columns_are_told_of_at_once_also_where_every_label_is_unknown(tmp_path: Path) -> None:
    facts = PublicFacts(label="ill", ranges={"age": (20, 40)}, categories={"sex": ("female", "male")})
    told = loaded(tmp_path, facts, partition=ColumnSilos("site", ("north", "west"))).warnings
    assert told[0].startswith("t.csv, column 'ill': NOT ONE CELL CAN BE USED")
    assert "THESE RECORDS ARE LEFT OUT. To accept them: name every class by its text, as in" in told[0]
    assert "column 'age': 9 of 30 cells are outside [20, 40] and are clipped to it" in told[1]
    assert 'ranges = { "age" = [LOW, HIGH] }' in told[1]
    assert "column 'sex': NOT ONE CELL CAN BE USED" in told[2]
    assert 'categories = { "sex" = ["female", "male", "TEXT"] }' in told[2]
    assert told[3] == "t.csv: columns that nothing uses: patient."
    assert [line.split(":")[0] for line in told[4:]] == ["silo 'north'", "silo 'west'"]
    # Without a list of silos there is none, and the answer holds every problem as well.
    with pytest.raises(DataError) as caught:
        loaded(tmp_path, facts)
    assert str(caught.value) == "t.csv: no record can be used, so there is no silo to train."
    assert caught.value.__notes__ == list(told[:4])


def test_labels_outside_the_classes_are_counted_and_an_absent_class_is_named(tmp_path: Path) -> None:
    rows = [row.replace(",no", ",1").replace(",yes", ",2") for row in ROWS]
    told = loaded(tmp_path, PublicFacts(label="ill", ranges={"age": (20, 60)}), rows).warnings
    assert "15 of 30 cells are none of the classes 0, 1; THESE RECORDS ARE LEFT OUT" in told[0]
    assert "or raise num_classes" in told[0]
    assert told[1] == "t.csv, column 'ill': no record is of class 0."


def test_values_at_the_ends_of_a_range_are_not_clipped(tmp_path: Path) -> None:
    told = loaded(
        tmp_path, PublicFacts(label="ill", classes=("no", "yes"), ranges={"age": (20, 49)})
    ).warnings
    assert not any("clipped" in line for line in told)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _: "", "30 of 30 cells are blank; these records count as one person's"),
        (lambda _: "x", "its cells hold 1 different texts"),
        (lambda cells: cells[-1], "its cells hold 2 different texts"),
    ],
    ids=["blank", "constant", "equal to the label"],
)
def test_an_id_that_identifies_nobody_is_told_of(tmp_path: Path, change: object, words: str) -> None:
    rows = []
    for row in ROWS:
        cells = row.split(",")
        cells[3] = change(cells)  # type: ignore[operator]
        rows.append(",".join(cells))
    facts = PublicFacts(label="ill", id="patient", classes=("no", "yes"), ranges={"age": (20, 60)})
    assert any(words in line for line in loaded(tmp_path, facts, rows).warnings)
    assert not any("id column" in line for line in loaded(tmp_path, facts).warnings)


def test_silo_names_that_are_not_utf_8_are_refused_and_not_merged(tmp_path: Path) -> None:
    text = "\n".join([HEADER, *ROWS]).replace("north", "s\xfcd").replace("south", "s\xf6d")
    (tmp_path / "t.csv").write_bytes(text.encode("latin-1"))
    source = f"csv:{tmp_path / 't.csv'}"
    with pytest.raises(DataError, match="'site', must be UTF-8; 30 of 30 cells are not"):
        load_federation(source, partition=ColumnSilos("site"), facts=FACTS)
    # Where the names are the user's own list, one spoilt cell decides about its own record only.
    named = load_federation(source, partition=ColumnSilos("site", ("north",)), facts=FACTS)
    assert any("30 of 30 records are of no silo" in line for line in named.warnings)


def test_a_silo_knows_how_many_records_its_capacity_left_out(tmp_path: Path) -> None:
    federation = loaded(tmp_path, FACTS, partition=OneSilo("all"), record_capacity=12)
    assert [silo.surplus for silo in federation.silos] == [18]
    assert [silo.surplus for silo in loaded(tmp_path, FACTS, record_capacity=30).silos] == [0, 0]


def test_bundled_data_give_nobody_anything_to_mend() -> None:
    assert heart_disease().notes == ()


def test_what_is_remarked_of_many_columns_is_said_once_for_each_file_and_kind() -> None:
    notes = [
        f"{file}.csv, column 'c{n}': {n + 1} of 9 cells {what}"
        for file in "ab"
        for n in range(480)
        for what in (f'are outside [{n}, {n + 1}]; ranges = {{ "c{n}" = [LOW, HIGH] }}.', "are blank.")
    ]
    found = grouped([*notes, "a.csv: columns that nothing uses: patient."])
    assert len(found) == 5
    assert found[1] == (
        "a.csv, column 'c479': 480 of 9 cells are blank. Likewise 479 more columns, none worse: 'c0', 'c1', "
        "'c2' and 476 more."
    )
    assert found[-1] == "a.csv: columns that nothing uses: patient."
    absent = [f"a.csv, column 'c{n}': no record is of class yes." for n in range(4)]
    assert grouped(absent) == [f"{absent[0]} Likewise 3 more columns: 'c1', 'c2', 'c3'."]
    few = [note for note in notes if note.startswith("a.csv, column 'c1'")]
    assert grouped(few) == few
