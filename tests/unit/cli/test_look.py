"""``discreet look``: a draft for the owner that no plan accepts as it is, and one that does when edited."""

from __future__ import annotations

import gzip
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config import parse_data
from discreet.config.federation import federation_of
from discreet.data.look import guessed_file
from discreet.errors import ConfigurationError, DataError

HEADER = ["patient", "alter", "tag", "wert", "größe", "notiz", "krank"]


def write(
    path: Path, count: int, *, separator: str = ";", encoding: str = "cp1252", decimal: str = ","
) -> None:
    lines = [separator.join(HEADER)]
    for n in range(count):
        value = f"{n / 7:.3f}".replace(".", decimal)
        cells = [f"p{n}", str(20 + n % 50), f"{1 + n % 28}.3.2015", value, ["groß", "klein", ""][n % 3]]
        lines.append(separator.join([*cells, f"note {n % 60}", ["nein", "ja"][n % 2]]))
    path.write_bytes("\n".join(lines).encode(encoding))


def look(*arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["look", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    assert all(line.startswith("# ") for line in result.output.split("\n\n")[0].splitlines())
    data: dict[str, Any] = tomllib.loads(result.output)["data"]
    return data


def test_a_draft_names_how_the_files_are_written_and_marks_all_that_records_say(tmp_path: Path) -> None:
    for name in ("north", "south"):
        write(tmp_path / f"{name}.csv", 100)
    data = look(tmp_path / "north.csv", tmp_path / "south.csv", "--label", "krank")
    assert data["source"] == {name: f"csv:{tmp_path}/{name}.csv" for name in ("north", "south")}
    assert look(tmp_path, "--label", "krank") == data
    assert (data["separator"], data["encoding"], data["decimal"]) == (
        ";", "draft: cp1252; replace by public knowledge", "draft: ,; replace by public knowledge",
    )  # fmt: skip
    assert (data["label"], data["id"], data["missing"], data["drop"]) == (
        "krank", "draft: patient; replace by public knowledge", "indicator", ["notiz"],
    )  # fmt: skip
    assert data["classes"] == "draft: ja, nein; replace by public knowledge"
    assert data["ranges"] == {
        "alter": "draft: 20 to 69; replace by public knowledge",
        "wert": "draft: 0 to 14.143; replace by public knowledge",
    }
    assert data["dates"]["tag"].startswith("draft: 2015-03-01 to 2015-03-28, order dmy;")
    assert data["categories"] == {"größe": "draft: groß, klein; replace by public knowledge"}
    with pytest.raises(ConfigurationError) as caught:
        parse_data(data)
    drafts = {"encoding", "decimal", "id", "classes", "record_capacity", "ranges.alter", "ranges.wert",
              "dates.tag", "categories.größe"}  # fmt: skip
    assert set(str(caught.value).removesuffix(".").split("public knowledge: ")[-1].split(", ")) == drafts
    data |= {
        "encoding": "cp1252",
        "decimal": ",",
        "id": "patient",
        "classes": ["nein", "ja"],
        "record_capacity": 500,
        "ranges": {"alter": [18, 90], "wert": [0, 20]},
    }
    data["dates"] = {"tag": {"from": "2010-01-01", "to": "2020-12-31", "order": "dmy"}}
    data["categories"] = {"größe": ["groß", "klein"]}
    found = federation_of(parse_data(data))
    assert found.silo_names == ("north", "south")
    assert found.warnings == ()


def test_a_plain_table_needs_no_dialect_and_its_label_is_guessed(tmp_path: Path) -> None:
    write(tmp_path / "one.csv", 60, separator=",", encoding="utf-8", decimal=".")
    data = look(tmp_path / "one.csv", "--silo", "größe")
    assert data["source"] == f"csv:{tmp_path}/one.csv"
    assert data["partition"] == {"kind": "column", "column": "größe"}
    assert data["label"] == "krank"
    assert not {"separator", "encoding", "decimal"} & set(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.csv"], r"the tables must be files that are there; there is no absent\.csv\."),
        (["empty"], r"the folder empty must hold tables .*; it holds none"),
        (["one.csv", "--label", "zzz"], "there is no column 'zzz'"),
        (["one.csv", "sub/one.csv"], "must be a silo of its own name"),
        (["wide.csv"], "it is UTF-16"),
    ],
)
def test_what_cannot_be_drafted_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("empty").mkdir()
    write(Path("one.csv"), 9)
    write(Path("sub/one.csv"), 9)
    Path("wide.csv").write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(DataError, match=message):
        CliRunner().invoke(app, ["look", *arguments], catch_exceptions=False)


def test_files_that_are_written_differently_are_said_to_be_by_silo(tmp_path: Path) -> None:
    write(tmp_path / "north.csv", 100)
    write(tmp_path / "south.csv", 100, separator=",", encoding="utf-8", decimal=".")
    write(tmp_path / "east.csv", 100, separator="\t", encoding="utf-8")
    data = look(*(tmp_path / f"{silo}.csv" for silo in ("north", "south", "east")), "--label", "krank")
    comma, latin = (f"draft: {one}; replace by public knowledge" for one in (",", "cp1252"))
    assert data["separator"] == {"north": ";", "east": "\t"}
    assert data["encoding"] == {"north": latin}
    assert data["decimal"] == {"north": comma, "east": comma}
    data |= {
        "encoding": {"north": "cp1252"},
        "decimal": {"north": ",", "east": ","},
        "classes": ["nein", "ja"],
    }
    data |= {"id": "patient", "record_capacity": 500, "ranges": {"alter": [18, 90], "wert": [0, 20]}}
    data |= {"categories": {"größe": ["groß", "klein"]}}
    data["dates"] = {"tag": {"from": "2010-01-01", "to": "2020-12-31", "order": "dmy"}}
    found = federation_of(parse_data(data))
    assert found.warnings == ()
    # All hold the same records.
    held = [np.concatenate([silo.train.features, silo.test.features]) for silo in found.silos]
    assert len({np.sort(rows, axis=0).tobytes() for rows in held}) == 1
    with pytest.raises(DataError, match=r"a silo that has one \(east, north, south\); got 'nord'"):
        federation_of(parse_data(data | {"encoding": {"nord": "cp1252"}}))


@pytest.mark.parametrize("label", ["1.0", "1,0", "1"])
def test_the_decimal_sign_is_that_of_the_fractions_and_not_of_a_whole_label(
    tmp_path: Path, label: str
) -> None:
    rows = [f"{n % 60 + 20};{n // 7},{n % 90 + 1};{label.replace('1', str(n % 2))}" for n in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["age;crp;ill", *rows]))
    data = look(tmp_path / "t.csv", "--label", "ill")
    assert data["decimal"].startswith("draft: ,;")
    assert set(data["ranges"]) == {"age", "crp"}
    assert "drop" not in data


def test_a_column_of_another_decimal_sign_is_not_dropped_and_no_plan_takes_it(tmp_path: Path) -> None:
    rows = [f"{n / 7:.2f};{n / 9:.2f};{n / 8:.2f};{n % 2}".replace(".", ",", 2) for n in range(1, 100)]
    (tmp_path / "t.csv").write_text("\n".join(["crp;hb;dose;ill", *rows]))
    data = look(tmp_path / "t.csv", "--label", "ill")
    assert data["ranges"]["dose"].startswith("draft: another decimal sign")
    with pytest.raises(ConfigurationError, match=r"ranges\.dose"):
        parse_data(data)


def test_a_damaged_archive_is_one_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"age,ill\n" + b"51,0\n" * 4000)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "other.csv.gz").write_bytes(b"age,ill\n51,0\n")
    for name, said in (("cut.csv.gz", "cut or damaged"), ("other.csv.gz", "must be a gzip file")):
        with pytest.raises(DataError, match=said):
            guessed_file(tmp_path / name)


def test_a_name_of_any_length_is_a_name(tmp_path: Path) -> None:
    name = "x" * 140_000
    (tmp_path / "long.csv").write_text(f"{name};ill\n1;0\n", encoding="utf-8")
    assert guessed_file(tmp_path / "long.csv").header() == (name, "ill")


@pytest.mark.parametrize("doubled", [0, 2])
def test_a_number_of_a_patient_is_an_identifier_and_no_feature(tmp_path: Path, doubled: int) -> None:
    rows = [f"{100_000 + 7 * max(n, doubled)},{n % 30 + 20},{n * 1.37:.2f},{n % 2}" for n in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["patient,age,dose,ill", *rows]))
    data = look(tmp_path / "t.csv", "--label", "ill")
    assert data["id"] == "draft: patient; replace by public knowledge"
    assert set(data["ranges"]) == {"age", "dose"}
    shown = CliRunner().invoke(app, ["look", str(tmp_path / "t.csv")]).output
    assert '# "patient": nearly all cells differ, as those of an identifier do' in shown
    assert '# "dose": nearly all' not in shown
