"""A silo's own records: the same in a rehearsal and from its own file, checked against the plan."""

from __future__ import annotations

import csv
import dataclasses
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from discreet.cli.check import check
from discreet.config import parse_config
from discreet.data import Federation, Records, Silo
from discreet.data.function_source import OwnCodeFailed
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.local import Prepared, prepare
from discreet.errors import ConfigurationError, DataError, PrivacyRefusal, UnusableRecords
from discreet.models import LinearHead
from discreet.plan import FederationFacts, Plan
from discreet.silo import check as silo_check
from discreet.silo.policy import load_policy
from discreet.silo.records import load_records
from discreet.silo.requests import Joined, Propose, Refused
from tests.engines.conftest import SmallConsortium

SILOS = ("north", "south", "west")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Writes one table with a silo column, and one table for each silo in the same order."""
    generator = np.random.default_rng(5)
    header = ["age", "smoker", "sick"]
    rows: dict[str, list[Any]] = {name: [] for name in SILOS}
    for number in range(90):
        row = [f"{generator.uniform(20, 80):.1f}", ["no", "yes"][number % 2], str(number % 3 % 2)]
        rows[SILOS[number % 3]].append(row)
    with (tmp_path / "all.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*header, "site"])
        writer.writerows([*row, name] for name in SILOS for row in rows[name])
    for name in SILOS:
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows[name])
    return tmp_path


@pytest.fixture
def prepared(tables: Path) -> Prepared:
    return prepare(
        parse_config(
            {
                "data": {
                    "source": f"csv:{tables / 'all.csv'}",
                    "label": "sick",
                    "ranges": {"age": [0.0, 120.0]},
                    "categories": {"smoker": ["no", "yes"]},
                    "record_capacity": 40,
                    "partition": {"kind": "column", "column": "site"},
                },
                "training": {
                    "rounds": 2,
                    "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
                },
                "privacy": {"epsilon": 3.0, "delta": 1e-5},
            }
        )
    )


@pytest.mark.parametrize("name", SILOS)
def test_a_silos_own_file_gives_the_records_of_the_simulation(
    prepared: Prepared, tables: Path, name: str
) -> None:
    own = load_records(f"csv:{tables / name}.csv", prepared.plan, name)
    simulated = prepared.federation.silo(name).train
    np.testing.assert_array_equal(own.features, simulated.features)
    np.testing.assert_array_equal(own.labels, simulated.labels)


def test_the_plans_own_source_is_for_rehearsals(prepared: Prepared) -> None:
    rehearsed = load_records("plan", prepared.plan, "north")
    np.testing.assert_array_equal(rehearsed.features, prepared.federation.silo("north").train.features)


def test_a_missing_column_is_named(prepared: Prepared, tables: Path) -> None:
    text = (tables / "north.csv").read_text().replace("smoker", "smokes")
    (tables / "north.csv").write_text(text)
    with pytest.raises(DataError, match="'smoker'"):
        load_records(f"csv:{tables / 'north.csv'}", prepared.plan, "north")


def test_surplus_records_are_left_out_and_the_owner_is_told(prepared: Prepared, tables: Path) -> None:
    lines = (tables / "north.csv").read_text().splitlines(keepends=True)
    (tables / "north.csv").write_text("".join(lines + lines[1:] + lines[1:]))
    notes: list[Any] = []
    assert len(load_records(f"csv:{tables / 'north.csv'}", prepared.plan, "north", note=notes.append)) == 40
    assert any("more than its record_capacity of 40" in note for note in notes)


def training_rows(records: Records) -> list[tuple[bytes, int]]:
    return [
        (features.tobytes(), int(label))
        for features, label in zip(records.features, records.labels, strict=True)
    ]


@pytest.mark.parametrize("place", range(30))
def test_a_row_that_is_withdrawn_takes_nobody_along(prepared: Prepared, tables: Path, place: int) -> None:
    """The attack of a server that knows the public coins: labels that follow the coins of shifted rows."""
    source = f"csv:{tables / 'north.csv'}"
    lines = (tables / "north.csv").read_text().splitlines(keepends=True)
    before = training_rows(load_records(source, prepared.plan, "north"))
    (tables / "north.csv").write_text("".join(lines[: place + 1] + lines[place + 2 :]))
    after = training_rows(load_records(source, prepared.plan, "north"))
    gone = [place for place in range(len(before)) if before[:place] + before[place + 1 :] == after]
    assert before == after or gone


def test_with_nothing_held_out_a_silo_trains_on_everything(prepared: Prepared, tables: Path) -> None:
    data = prepared.config.data.model_copy(update={"test_fraction": 0.0})
    plan = dataclasses.replace(prepared.plan, config=prepared.config.model_copy(update={"data": data}))
    assert len(load_records(f"csv:{tables / 'north.csv'}", plan, "north")) == 30


@pytest.mark.parametrize(("name", "bound"), [("unbounded", None), ("unbounded", 9.0), ("plancsv", 9.0)])
def test_a_source_that_promises_less_than_the_plan_needs_is_refused(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch, name: str, bound: float | None
) -> None:
    module = types.ModuleType(name)

    def records(**_: Any) -> Federation:
        whole = Records(np.full((2, 4), 4.5, np.float32), np.zeros(2, np.int64))
        return Federation(
            "own", (Silo("north", whole, whole),), num_classes=2, feature_shape=(4,), feature_norm_bound=bound
        )

    module.__dict__["records"] = records
    monkeypatch.setitem(sys.modules, name, module)
    said = r"L2 norm at most 1\.0, as the plan says; .* promises " + str(bound)
    with pytest.raises(OwnCodeFailed, match=said):
        load_records(f"{name}:records", prepared.plan, "north")


@pytest.mark.parametrize("source", ["module:records", "npz:own.npz", "plan:npz:own.npz"])
def test_records_without_columns_are_not_asked_how_they_are_prepared(
    prepared: Prepared, tables: Path, source: str
) -> None:
    """Their numbers need not be where the plan says; no record is read for this."""
    standardise = {"kind": "private", "share": 0.1}
    data = prepared.config.data.model_dump(exclude_none=True) | {"standardise": standardise}
    stated = prepared.config.model_dump(exclude_none=True) | {"data": data}
    plan = prepare(parse_config(stated, source="test")).plan
    with pytest.raises(DataError, match="must be rows of a table") as refused:
        load_records(source, plan, "north")
    assert "\n" not in str(refused.value)
    assert len(load_records(f"csv:{tables / 'north.csv'}", plan, "north"))


def test_parquet_gives_the_same_records_or_says_what_to_install(prepared: Prepared, tables: Path) -> None:
    try:
        import pyarrow.csv
        import pyarrow.parquet
    except ModuleNotFoundError:
        with pytest.raises(DataError, match=r"discreet\[parquet\]"):
            load_records(f"parquet:{tables / 'north.parquet'}", prepared.plan, "north")
        return
    table = pyarrow.csv.read_csv(tables / "north.csv")
    pyarrow.parquet.write_table(table, tables / "north.parquet")
    own = load_records(f"parquet:{tables / 'north.parquet'}", prepared.plan, "north")
    np.testing.assert_array_equal(own.features, prepared.federation.silo("north").train.features)


def write_parquet(tables: Path, change: Callable[..., Any]) -> str:
    """Writes north's table with a change, as a data warehouse would export it: typed columns, not text."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with (tables / "north.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = {
        "age": [float(row["age"]) for row in rows],
        "smoker": arrow.array([row["smoker"] for row in rows]).dictionary_encode(),
        "sick": [row["sick"] == "1" for row in rows],
        "unused": ["x"] * len(rows),
    }
    parquet.write_table(arrow.table(change(columns)), tables / "north.parquet")
    return f"parquet:{tables / 'north.parquet'}"


def test_typed_parquet_columns_give_the_records_of_the_text(prepared: Prepared, tables: Path) -> None:
    """Booleans as labels, dictionaries as categories, and columns that the plan does not use."""
    own = load_records(write_parquet(tables, lambda columns: columns), prepared.plan, "north")
    simulated = prepared.federation.silo("north").train
    np.testing.assert_array_equal(own.features, simulated.features)
    np.testing.assert_array_equal(own.labels, simulated.labels)


def without_age(columns: Any) -> Any:
    return {name: values for name, values in columns.items() if name != "age"}


def test_parquet_that_lacks_a_column_is_refused(prepared: Prepared, tables: Path) -> None:
    source = write_parquet(tables, without_age)
    with pytest.raises(DataError, match="'age'"):
        load_records(source, prepared.plan, "north")


def test_parquet_cells_that_cannot_be_used_count_as_nothing(prepared: Prepared, tables: Path) -> None:
    arrow = pytest.importorskip("pyarrow")

    def gaps(columns: Any) -> Any:
        bad = arrow.py_buffer(b"no\xff")
        offsets = arrow.py_buffer(np.array([0, 3], np.int32).tobytes())
        spoilt = arrow.StringArray.from_buffers(1, offsets, bad)
        rest = arrow.array(columns["smoker"].to_pylist()[1:])
        return {
            **columns,
            "age": [None, *columns["age"][1:]],
            "smoker": arrow.chunked_array([spoilt, rest]),
        }

    notes: list[Any] = []
    source = write_parquet(tables, gaps)
    assert len(load_records(source, prepared.plan, "north", note=notes.append)) > 0
    told = [note.split("; ")[0] for note in notes]
    assert "north.parquet, column 'age': 1 of 30 cells hold no finite number" in told
    assert "north.parquet, column 'smoker': 1 of 30 cells are none of no, yes" in told


def test_a_file_that_is_no_parquet_is_refused(prepared: Prepared, tables: Path) -> None:
    pytest.importorskip("pyarrow")
    (tables / "north.parquet").write_text("age,smoker,sick\n")
    with pytest.raises(DataError, match="readable Parquet file"):
        load_records(f"parquet:{tables / 'north.parquet'}", prepared.plan, "north")


def test_a_silo_may_hold_several_files_written_in_its_own_way(prepared: Prepared, tables: Path) -> None:
    whole = load_records(f"csv:{tables / 'north.csv'}", prepared.plan, "north")
    header, *rows = (tables / "north.csv").read_text().splitlines()
    (tables / "parts").mkdir()
    for name, part in (("a", rows[:11]), ("b", rows[11:])):
        (tables / "parts" / f"{name}.csv").write_text("\n".join([header, *part]).replace(",", ";"))
    own = load_records(f"csv:{tables}/parts/", prepared.plan, "north", written={"separator": ";"})
    assert np.array_equal(own.features, whole.features)
    assert np.array_equal(own.labels, whole.labels)


@pytest.mark.parametrize("separator", [";", {"north": ";", "south": "\t"}], ids=["alike", "by silo"])
def test_silos_that_rehearse_over_a_file_each_read_what_the_simulation_reads(
    prepared: Prepared, tables: Path, separator: str | dict[str, str]
) -> None:
    for name in SILOS:
        own = tables / f"{name}.csv"
        between = separator if isinstance(separator, str) else separator.get(name, ",")
        own.write_text(own.read_text().replace(",", between))
    by_name = {name: f"csv:{tables / name}.csv" for name in SILOS}
    update = {"source": by_name, "separator": separator, "partition": None}
    data = prepared.plan.config.data.model_copy(update=update)
    config = prepared.plan.config.model_copy(update={"data": data})
    plan = rehearse(config, tables / "consortium")
    simulated = prepare(config).federation
    for name in SILOS:
        policy = load_policy(ConsortiumFolder(tables / "consortium").policy(name))
        own_records = load_records(policy.data.source, plan, name, written=policy.data.written)
        assert np.array_equal(own_records.features, simulated.silo(name).train.features)


def test_a_plan_does_not_say_how_a_silos_own_file_is_written(prepared: Prepared, tables: Path) -> None:
    """By another separator, a quotation mark within one record's text could open a cell that never ends."""
    data = prepared.plan.config.data.model_copy(
        update={"separator": "o", "encoding": "cp1252", "decimal": ","}
    )
    config = prepared.plan.config.model_copy(update={"data": data})
    plan = dataclasses.replace(prepared.plan, config=config)
    source = f"csv:{tables / 'north.csv'}"
    own, told = load_records(source, plan, "north"), load_records(source, prepared.plan, "north")
    assert np.array_equal(own.features, told.features)


def test_a_file_of_another_shape_is_refused(prepared: Prepared, tables: Path) -> None:
    np.savez(tables / "x.npz", x=np.zeros((5, 9)), y=np.zeros(5, np.int64), classes=np.array(["a", "b"]))
    with pytest.raises(DataError):
        load_records(f"npz:{tables / 'x.npz'}", prepared.plan, "north")


def test_a_function_that_makes_no_silo_without_records_gives_an_empty_one(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes the silos that have records, so one record decides whether this one is among them."""
    whole = prepared.federation

    def others(**_: Any) -> Federation:
        return dataclasses.replace(whole, silos=tuple(silo for silo in whole.silos if silo.name != "north"))

    monkeypatch.setitem(sys.modules, "makes_silos", types.SimpleNamespace(others=others))
    told: list[Any] = []
    assert len(load_records("makes_silos:others", prepared.plan, "north", note=told.append)) == 0
    assert told == ["the source gives no records for north, which takes part without any"]


def test_records_that_cannot_be_used_are_no_answer(
    consortium: SmallConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No loader leaves any; if one did, the silo takes part without records and says so in its log only."""

    def unusable(*_: Plan | str, **__: Any) -> None:
        raise UnusableRecords("every feature must be a finite number")

    monkeypatch.setattr("discreet.silo.silo.load_records", unusable)
    server = consortium.folder.server.path
    reply = consortium.silos[consortium.node("hungary")].handle(
        Propose(1, bytes(32), (server / "plan.json").read_bytes(), (server / "allow-list.json").read_bytes())
    )
    assert isinstance(reply, Joined)


@pytest.mark.parametrize("bound", [3.5e38, 1e39, 2.0**41, 2.0**-41, 1e-45])
def test_no_norm_bound_is_so_extreme_that_some_records_would_break_it(bound: float) -> None:
    """A coordinator chose such bounds, and read a table record by record out of refusals."""
    with pytest.raises(ConfigurationError, match="feature_norm_bound"):
        parse_config(
            {
                "data": {"source": "csv:own.csv", "record_capacity": 9, "feature_norm_bound": bound},
                "training": {"rounds": 1, "local": {"kind": "single-step"}},
                "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
            }
        )
    with pytest.raises(ConfigurationError, match="feature_norm_bound"):
        FederationFacts(("a", "b", "c"), (3,), 2, bound, 6, "0" * 64, 2, linear=True)


def test_a_machine_whose_rows_are_not_alike_offers_no_keys(
    consortium: SmallConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(plan: Plan, model: LinearHead, silos: list[str]) -> None:
        raise PrivacyRefusal(f"{silos} must be alike for {plan.digest()[:4]} and {type(model).__name__}")

    monkeypatch.setattr("discreet.silo.silo.require_rows_alike_for", refuse)
    server = consortium.folder.server.path
    reply = consortium.silos[consortium.node("hungary")].handle(
        Propose(1, bytes(32), (server / "plan.json").read_bytes(), (server / "allow-list.json").read_bytes())
    )
    assert reply == Refused("hungary", "internal", "it could not answer; its own log says why.")


def test_the_server_learns_that_records_do_not_fit_and_nothing_else(
    consortium: SmallConsortium, tmp_path: Path
) -> None:
    (tmp_path / "bad.csv").write_text("age,sick\n41,0\nsecret-cell,1\n")
    consortium.edit_policy("hungary", 'source = "plan"', f'source = "csv:{tmp_path / "bad.csv"}"')
    server = consortium.folder.server.path
    reply = consortium.silos[consortium.node("hungary")].handle(
        Propose(1, bytes(32), (server / "plan.json").read_bytes(), (server / "allow-list.json").read_bytes())
    )
    assert reply == Refused(
        "hungary", "data", "its source of records must fit the plan; it does not. Its own log says why."
    )


@pytest.mark.parametrize(
    ("records", "said", "code"), [(0, "WITHOUT ANY RECORD", 2), (9, "would take part.", 0)]
)
@pytest.mark.parametrize("as_json", [False, True])
def test_the_owners_dry_run_says_when_no_record_would_take_part(  # noqa: PLR0917
    consortium: SmallConsortium,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    records: int,
    said: str,
    code: int,
    as_json: bool,
) -> None:
    honest = silo_check.dry_run
    monkeypatch.setattr(
        silo_check,
        "dry_run",
        lambda *given, **more: dataclasses.replace(honest(*given, **more), records=records),
    )
    ended = 0
    try:
        check(
            consortium.folder.policy("hungary"), consortium.folder.server.path / "plan.json", as_json=as_json
        )
    except typer.Exit as end:
        ended = end.exit_code
    assert ended == code
    assert (f'"records": {records}' if as_json else said) in capsys.readouterr().out


def test_a_width_that_the_plan_does_not_state_is_refused_before_a_file_is_opened(
    consortium: SmallConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where memory for it runs out depends on how many rows there are, and so would the answer."""
    monkeypatch.setattr("discreet.silo.records.federation_of", pytest.fail)
    plan = consortium.plan
    wide = {"label": "ill", "categories": {"sex": tuple(map(str, range(15_000)))}}
    data = plan.config.data.model_copy(update={"source": "csv:x.csv", **wide})
    lying = dataclasses.replace(plan, config=plan.config.model_copy(update={"data": data}))
    with pytest.raises(DataError, match=r"must make records of its shape .* they make \(15001, 2\)"):
        load_records("csv:x.csv", lying, "hungary")
