"""One record less in the source, at any place, is one record less in one silo, and changes nothing else."""

import sys
import types
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from discreet.data import (
    ColumnSilos,
    DirichletSilos,
    Federation,
    IidSilos,
    OneSilo,
    PublicFacts,
    Records,
    Silo,
    held_out,
    load_federation,
)

FACTS = PublicFacts(label="ill", ranges={"age": (0, 100), "dose": (-1, 3)}, categories={"sex": ("f", "m")})
HEADER = ("site", "age", "dose", "sex", "ill", "who")
COUNT = 23

Row = tuple[str, str, str, str, str, str]
Load = Callable[[list[Row]], Federation]


def table() -> list[Row]:
    """Rows that differ in the last bits too, with a duplicate and cells that cannot be used."""
    generator = np.random.default_rng(2)
    rows = [
        (
            "xy"[n % 2],
            str(generator.uniform(-20, 120)),
            repr(generator.normal()),
            "fm"[n % 3 % 2],
            str(n % 2),
            f"p{n}",
        )
        for n in range(COUNT)
    ]
    rows[7] = rows[3]
    rows[11] = ("x", "none", "1e999", "?", "1", "p11")
    rows[15] = ("y", "50", "1", "f", "perhaps", "p15")
    return rows


def test_a_gap_that_gives_its_column_decimals_changes_no_other_record(tmp_path: Path) -> None:
    """Tools write a column of whole numbers as 0.0 and 1.0 as soon as one of its cells is missing."""
    generator = np.random.default_rng(4)
    ages, ill = generator.integers(0, 100, COUNT), generator.integers(0, 2, COUNT)
    facts = PublicFacts(label="ill", ranges={"age": (0, 100)}, categories={"ward": ("1", "2")}, id="who")

    def of_table(decimals: str, *, gap: bool) -> Federation:
        rows = [
            f"{age},{1 + label}{decimals},{label}{decimals},{100 + n}{decimals}\n"
            for n, (age, label) in enumerate(zip(ages, ill, strict=True))
        ]
        rows[5] = rows[5] if not gap else f"{ages[5]},,,\n"
        path = tmp_path / "gap.csv"
        path.write_text("age,ward,ill,who\n" + "".join(rows))
        return load_federation(f"csv:{path}", partition=OneSilo("x"), facts=facts)

    def of_arrays(*, gap: bool) -> Federation:
        labels, ids = ill.astype(object), (100 + np.arange(COUNT)).astype(object)
        if gap:
            labels[5], ids[5] = np.nan, np.nan
        kind = float if gap else int
        path = tmp_path / "gap.npz"
        np.savez(path, x=ages[:, None] / 100.0, y=labels.astype(kind), id=ids.astype(kind))
        return load_federation(f"npz:{path}", partition=OneSilo("x"), facts=PublicFacts(num_classes=2))

    for whole, gap in (
        (of_table("", gap=False), of_table(".0", gap=True)),
        (of_arrays(gap=False), of_arrays(gap=True)),
    ):
        before, after = whole.silo("x"), gap.silo("x")
        for one, other in ((before.train, after.train), (before.test, after.test)):
            rows = Counter(row.tobytes() for row in one.features)
            assert len(one) - len(other) in (0, 1)
            assert sum((Counter(row.tobytes() for row in other.features) - rows).values()) == 0
        assert len(before.train) + len(before.test) == len(after.train) + len(after.test) + 1


def written(path: Path, rows: list[Row]) -> Path:
    path.write_text("".join(",".join(row) + "\n" for row in (HEADER, *rows)))
    return path


def of_csv(folder: Path, rows: list[Row], **options: Any) -> Federation:
    source = f"csv:{written(folder / 't.csv', rows)}"
    return load_federation(
        source,
        **cast(Any, {"partition": ColumnSilos("site"), "facts": FACTS, "test_fraction": 0.4} | options),
    )


def of_parquet(folder: Path, rows: list[Row]) -> Federation:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(HEADER)}
    parquet.write_table(arrow.table(columns), folder / "t.parquet")
    source = f"parquet:{folder / 't.parquet'}"
    return load_federation(source, partition=ColumnSilos("site"), facts=FACTS, test_fraction=0.4)


def arrays(rows: list[Row]) -> dict[str, np.ndarray]:
    x = np.array([[float(row[2]), len(row[1]), np.nan if row[3] == "?" else 1.0] for row in rows])
    y = np.array([int(row[4]) if row[4].isdigit() else 9 for row in rows], dtype=np.int64)
    return {"x": x.reshape(len(rows), 3), "y": y, "silo": np.array([row[0] for row in rows])}


def of_npz(folder: Path, rows: list[Row]) -> Federation:
    np.savez(folder / "t.npz", **cast(Any, arrays(rows)))
    facts = PublicFacts(num_classes=2, feature_norm_bound=1.0)
    return load_federation(f"npz:{folder / 't.npz'}", facts=facts, test_fraction=0.4)


def of_function(folder: Path, rows: list[Row]) -> Federation:
    def records(*, test_fraction: float, split_seed: int) -> Federation:
        found, silos = arrays(rows), []
        for name in ("x", "y"):
            own = (found["silo"] == name) & (found["y"] < 2)
            x, y = np.nan_to_num(found["x"][own], posinf=0.0), found["y"][own]
            test = held_out(x, y, test_fraction=test_fraction, split_seed=split_seed, silo=name)
            whole = Records(x.astype(np.float32), y)
            silos.append(Silo(name, train=whole.take(~test), test=whole.take(test)))
        return Federation("own", tuple(silos), num_classes=2, feature_shape=(3,))

    module = types.ModuleType("own_records")
    module.records = records  # type: ignore[attr-defined]
    sys.modules["own_records"] = module
    try:
        return load_federation("own_records:records", test_fraction=0.4)
    finally:
        del sys.modules["own_records"]


def parts(federation: Federation) -> dict[str, list[bytes]]:
    """Every silo's training and test records, to the bit, in order."""
    return {
        f"{silo.name}/{name}": [
            features.tobytes() + int(label).to_bytes(1, "big")
            for features, label in zip(part.features, part.labels, strict=True)
        ]
        for silo in federation.silos
        for name, part in (("train", silo.train), ("test", silo.test))
    }


def is_without_one(longer: list[bytes], shorter: list[bytes]) -> bool:
    """Says whether one entry was taken out and the others stayed as they are, in their order."""
    return any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))


@pytest.mark.parametrize("place", range(COUNT))
@pytest.mark.parametrize("load", [of_csv, of_parquet, of_npz, of_function])
def test_a_removed_record_moves_nobody(
    tmp_path: Path, load: Callable[[Path, list[Row]], Federation], place: int
) -> None:
    rows = table()
    before, after = parts(load(tmp_path, rows)), parts(load(tmp_path, rows[:place] + rows[place + 1 :]))
    changed = [name for name in before if before[name] != after[name]]
    # A row whose label is no class is left out, and then nothing changes at all.
    assert len(changed) == (0 if rows[place][4] == "perhaps" else 1)
    assert all(is_without_one(before[name], after[name]) for name in changed)
    assert all(before[f"{silo}/{part}"] for silo in "xy" for part in ("train", "test"))


@pytest.mark.parametrize("place", range(COUNT))
def test_nor_does_it_in_a_silos_own_file(tmp_path: Path, place: int) -> None:
    rows = table()
    own = {"partition": OneSilo("x")}
    before = parts(of_csv(tmp_path, rows, **own))
    after = parts(of_csv(tmp_path, rows[:place] + rows[place + 1 :], **own))
    assert sum(before[name] != after[name] for name in before) == (rows[place][4] != "perhaps")


def test_a_table_alone_gives_a_record_the_bits_that_it_has_in_company(tmp_path: Path) -> None:
    def found(rows: list[Row]) -> Counter[bytes]:
        own = parts(of_csv(tmp_path, rows, partition=OneSilo("x"))).values()
        return Counter(record for part in own for record in part)

    rows = table()
    assert sum((found([row]) for row in rows), Counter()) == found(rows)


def test_file_formats_and_the_order_of_columns_do_not_matter(tmp_path: Path) -> None:
    rows = table()
    expected = parts(of_csv(tmp_path, rows))
    turned = tmp_path / "turned.csv"
    turned.write_text("".join(",".join(reversed(row)) + "\n" for row in (HEADER, *rows)))
    turned_source = f"csv:{turned}"
    found = load_federation(turned_source, partition=ColumnSilos("site"), facts=FACTS, test_fraction=0.4)
    assert parts(found) == expected


def test_parquet_splits_as_csv_does(tmp_path: Path) -> None:
    assert parts(of_parquet(tmp_path, table())) == parts(of_csv(tmp_path, table()))


def test_records_of_one_person_stay_together(tmp_path: Path) -> None:
    rows = [(*row[:5], f"p{n % 6}") for n, row in enumerate(table())]
    one = {"partition": OneSilo("x"), "facts": PublicFacts(**cast(Any, as_dict(FACTS) | {"id": "who"}))}
    sides: dict[str, set[bool]] = {}
    for row in rows:
        if row[4] != "perhaps":
            alone = of_csv(tmp_path, [row], **one).silos[0]
            sides.setdefault(row[5], set()).add(bool(len(alone.test)))
    assert all(len(side) == 1 for side in sides.values())
    assert set.union(*sides.values()) == {False, True}


def as_dict(facts: PublicFacts) -> dict[str, object]:
    return {name: getattr(facts, name) for name in facts.__slots__}


@pytest.mark.parametrize("place", range(COUNT))
def test_an_exchanged_record_takes_the_place_of_the_other(tmp_path: Path, place: int) -> None:
    """With fixed-size sampling a record may be replaced, also by one that cannot be used; its side stays."""
    rows = table()
    before = parts(of_csv(tmp_path, rows, exchanged=True))
    for new in (
        ("x" if rows[place][0] == "x" else "y", "99", "0.5", "m", "1", "new"),
        ("", "", "", "", "", ""),
    ):
        after = parts(of_csv(tmp_path, [*rows[:place], new, *rows[place + 1 :]], exchanged=True))
        changed = [name for name in before if before[name] != after[name]]
        assert len(changed) <= 1
        assert all(abs(len(before[name]) - len(after[name])) <= 1 for name in changed)
        differing = sum((Counter(before[name]) - Counter(after[name])).total() for name in changed)
        assert differing <= 1


@pytest.mark.parametrize("partition", [IidSilos(2), DirichletSilos(2, 100.0)], ids=str)
def test_a_dealt_simulation_is_stable_when_a_record_is_appended(
    tmp_path: Path, partition: IidSilos | DirichletSilos
) -> None:
    """Dealing is by place, as `data_assumptions` says: only the end of the file can grow."""
    rows = table()
    before, after = (parts(of_csv(tmp_path, some, partition=partition)) for some in (rows[:-1], rows))
    changed = [name for name in before if before[name] != after[name]]
    assert len(changed) == 1
    assert after[changed[0]][:-1] == before[changed[0]]
