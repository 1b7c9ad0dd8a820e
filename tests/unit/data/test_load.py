import re
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.data import (
    ColumnSilos,
    DirichletSilos,
    Federation,
    IidSilos,
    OneSilo,
    PublicFacts,
    load_federation,
)
from discreet.data.bundled import heart_disease
from discreet.data.function_source import OwnCodeFailed
from discreet.data.norm import largest_norm
from discreet.errors import DataError


def sizes(federation: Federation) -> dict[str, int]:
    return {silo.name: len(silo.train) + len(silo.test) for silo in federation.silos}


def test_heart_disease_is_the_four_hospitals() -> None:
    federation = load_federation("heart-disease", split_seed=1)
    assert sizes(federation) == {"cleveland": 303, "hungary": 261, "long_beach_va": 130, "switzerland": 46}
    labels = np.concatenate([federation.pooled_train().labels, federation.pooled_test().labels])
    # 139 + 98 + 106 + 40: the positives among complete records, counted in the published files.
    assert int(labels.sum()) == 383
    assert federation.num_classes == 2
    assert federation.feature_shape == (len(federation.feature_names),) == (16,)
    assert federation.feature_names[-1] == "constant"
    assert "CC BY 4.0" in federation.attribution


def test_heart_disease_records_meet_the_public_bound() -> None:
    federation = load_federation("heart-disease")
    assert federation.feature_norm_bound == 1.0
    for silo in federation.silos:
        assert largest_norm(silo.train.features) <= 1.0
        assert (silo.train.features[:, -1] > 0).all()


def test_the_first_patient_by_hand() -> None:
    # Cleveland, row 1 of the published file: 63, male, typical angina (1), 145 mmHg, 233 mg/dl, fasting
    # sugar high, hypertrophy (2), 150/min, no angina on exercise, ST depression 2.3.
    raw = {
        "age": (63 - 52.5) / 22.5,
        "trestbps": (145 - 135) / 45,
        "chol": (233 - 250) / 150,
        "thalach": (150 - 130) / 60,
        "oldpeak": (2.3 - 1.5) / 1.5,
        "cp = 1": 1.0,
        "restecg = 2": 1.0,
        "sex = 1": 1.0,
        "fbs = 1": 1.0,
        "exang = 1": -1.0,
        "constant": 1.0,
    }
    pool = heart_disease()
    expected = np.array([raw.get(name, 0.0) for name in pool.feature_names])
    got = pool.records.features[0]
    assert np.allclose(got, expected / np.linalg.norm(expected), atol=1e-6)
    assert pool.records.labels[0] == 0


def test_cholesterol_that_was_not_measured_is_marked() -> None:
    pool = heart_disease()
    column = pool.feature_names.index("chol not measured")
    marked = pool.records.features[:, column] > 0
    assert int(marked.sum()) == 79
    assert marked[np.array(pool.groups["hospital"]) == "switzerland"].all()
    assert not pool.records.features[marked][:, pool.feature_names.index("chol")].any()


def test_the_same_seed_gives_the_same_federation_and_another_gives_another() -> None:
    first, again, other = (load_federation("heart-disease", split_seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.pooled_test().features, again.pooled_test().features)
    assert not np.array_equal(first.silos[0].test.labels, other.silos[0].test.labels)


def test_hospitals_can_be_shuffled_for_comparison() -> None:
    federation = load_federation("heart-disease", partition=IidSilos(5))
    assert sizes(federation) == {f"silo-{n}": 148 for n in range(1, 6)}


def test_digits_need_a_partition() -> None:
    with pytest.raises(DataError, match=r"Give a partition: by column, iid or dirichlet\."):
        load_federation("digits")
    federation = load_federation("digits", partition=DirichletSilos(4, 1.0))
    assert sum(sizes(federation).values()) == 1797
    counts = np.bincount(np.concatenate([federation.pooled_train().labels, federation.pooled_test().labels]))
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert federation.feature_shape == (65,)
    assert largest_norm(federation.pooled_train().features) <= 1.0


def test_unknown_sources_name_the_nearest() -> None:
    with pytest.raises(DataError, match=r"got 'heart-diseas'\. Did you mean 'heart-disease'\?"):
        load_federation("heart-diseas")
    with pytest.raises(DataError, match="bundled data knows its label"):
        load_federation("heart-disease", facts=PublicFacts(label="label"))


# --- csv ---------------------------------------------------------------------------------------------------

CSV = "site,age,smoker,ill\n" + "".join(
    f"{'north' if n % 3 else 'south'},{20 + n},{'yes' if n % 2 else 'no'},{n % 2}\n" for n in range(30)
)
FACTS = PublicFacts(label="ill", ranges={"age": (20, 60)}, categories={"smoker": ("no", "yes")})


def csv_source(tmp_path: Path, text: str = CSV) -> str:
    path = tmp_path / "patients.csv"
    path.write_text(text)
    return f"csv:{path}"


def test_csv_with_public_ranges(tmp_path: Path) -> None:
    federation = load_federation(
        csv_source(tmp_path), partition=ColumnSilos("site"), facts=FACTS, test_fraction=0
    )
    assert sizes(federation) == {"north": 20, "south": 10}
    assert federation.feature_names == ("age", "smoker = no", "smoker = yes", "constant")
    first_south = np.array([-1.0, 1.0, 0.0, 1.0])
    got = federation.silo("south").train.features[0]
    assert np.allclose(got, first_south / np.linalg.norm(first_south), atol=1e-6)


def test_csv_errors_name_file_and_column(tmp_path: Path) -> None:
    by_site = ColumnSilos("site")
    with pytest.raises(DataError, match=r"patients\.csv: there is no column 'aged'\. Did you mean 'age'\?"):
        load_federation(
            csv_source(tmp_path), partition=by_site, facts=PublicFacts(label="ill", ranges={"aged": (0, 1)})
        )
    with pytest.raises(DataError, match="label column must be named"):
        load_federation(csv_source(tmp_path), partition=by_site)
    with pytest.raises(DataError, match="at least one feature column"):
        load_federation(csv_source(tmp_path), partition=by_site, facts=PublicFacts(label="ill"))
    with pytest.raises(DataError, match="must not be a feature as well"):
        load_federation(
            csv_source(tmp_path), partition=by_site, facts=PublicFacts(label="ill", ranges={"ill": (0, 1)})
        )
    with pytest.raises(DataError, match="norm bound must be from"):
        load_federation(
            csv_source(tmp_path),
            partition=by_site,
            facts=PublicFacts(label="ill", ranges={"age": (0, 1)}, feature_norm_bound=0.0),
        )
    with pytest.raises(DataError, match="two distinct classes"):
        load_federation(
            csv_source(tmp_path),
            partition=by_site,
            facts=PublicFacts(label="ill", ranges={"age": (0, 1)}, num_classes=0),
        )
    with pytest.raises(DataError, match="the source does not say"):
        load_federation(csv_source(tmp_path), facts=FACTS)


def loaded(tmp_path: Path, text: str, **options: Any) -> Federation:
    by_site = {"partition": ColumnSilos("site"), "facts": FACTS, "test_fraction": 0.0}
    return load_federation(csv_source(tmp_path, text), **(by_site | options))  # type: ignore[arg-type]


def test_cells_that_cannot_be_used_count_as_nothing_and_the_owner_is_told(tmp_path: Path) -> None:
    text = CSV.replace("21,yes,1", "?,perhaps,1").replace("22,no,0", "22,no,2").replace("23,yes,1", "23,yes")
    federation = loaded(tmp_path, text + "north,1e999,no,0\n")
    assert sizes(federation) == {"north": 20, "south": 9}
    assert federation.silo("north").train.features[0].tolist()[:3] == [0.0, 0.0, 0.0]
    assert federation.warnings == (
        "patients.csv: 1 of 31 rows have another number of cells than the header; they are left out.",
        "patients.csv, column 'ill': 1 of 30 cells are none of the classes 0, 1; THESE RECORDS ARE LEFT "
        'OUT. To accept them: name every class by its text, as in classes = ["no", "yes"], or raise '
        "num_classes.",
        "patients.csv, column 'age': 2 of 30 cells hold no finite number; they count as the middle of the "
        'range. To accept them: cells that are blank or hold a text such as NA need missing = { "age" = '
        '"indicator" }, or a number in their place.',
        "patients.csv, column 'smoker': 1 of 30 cells are none of no, yes; they count as none of them. To "
        'accept them: name every text, categories = { "smoker" = ["no", "yes", "TEXT"] }.',
    )


def test_a_column_of_which_nothing_fits_is_said_loudly(tmp_path: Path) -> None:
    facts = PublicFacts(label="ill", categories={"smoker": ("never", "ever")})
    assert "NOT ONE CELL CAN BE USED" in loaded(tmp_path, CSV, facts=facts).warnings[0]


def test_bytes_that_are_no_text_spoil_their_own_cell_only(tmp_path: Path) -> None:
    path = tmp_path / "patients.csv"
    path.write_bytes(CSV.replace("21,yes", "21,y\xe9s").encode("latin-1"))
    federation = load_federation(f"csv:{path}", partition=ColumnSilos("site"), facts=FACTS, test_fraction=0.0)
    assert sizes(federation) == {"north": 20, "south": 10}
    encoding, note = federation.warnings
    assert encoding.startswith("patients.csv: 1 cells hold bytes of another encoding than the stated one.")
    assert note.startswith(
        "patients.csv, column 'smoker': 1 of 30 cells are none of no, yes; they count as none of them."
    )


@pytest.mark.parametrize("cell", ["x" * 200_000, '"a\rb"', "a\rb", '"a,b"', "a\x00b"])
def test_no_cell_stops_the_others(tmp_path: Path, cell: str) -> None:
    federation = loaded(tmp_path, CSV + f"north,30,{cell},1\n")
    assert sizes(federation)["south"] == 10
    assert 20 <= sizes(federation)["north"] <= 21
    assert federation.warnings


def test_a_file_without_rows_is_an_empty_silo(tmp_path: Path) -> None:
    empty = loaded(tmp_path, CSV.splitlines()[0], partition=OneSilo("north"))
    assert sizes(empty) == {"north": 0}
    assert empty.feature_shape == (4,)
    assert empty.silo("north").train.features.shape == (0, 4)


def test_silos_that_are_named_are_there_without_records(tmp_path: Path) -> None:
    federation = loaded(tmp_path, CSV, partition=ColumnSilos("site", ("west", "south")))
    assert sizes(federation) == {"south": 10, "west": 0}
    assert federation.warnings == (
        "patients.csv: 20 of 30 records are of no silo of the federation; they are left out.",
        "silo 'west': NO TRAINING RECORD is its own; it takes part with its noise only.",
    )
    # A blank cell names no silo.
    assert sizes(loaded(tmp_path, CSV + ",30,no,1\n")) == {"north": 20, "south": 10}


def test_surplus_records_are_left_out(tmp_path: Path) -> None:
    federation = loaded(tmp_path, CSV, record_capacity={"north": 15, "south": 10})
    assert sizes(federation) == {"north": 15, "south": 10}
    assert federation.warnings[0].startswith("silo 'north': 5 of 20 training records are more than")
    assert sizes(loaded(tmp_path, CSV, record_capacity=10)) == {"north": 10, "south": 10}


# --- npz ---------------------------------------------------------------------------------------------------


def npz_source(tmp_path: Path, **arrays: Any) -> str:
    path = tmp_path / "arrays.npz"
    np.savez(path, **arrays)
    return f"npz:{path}"


def test_npz_images_keep_their_shape_without_a_bound(tmp_path: Path) -> None:
    source = npz_source(
        tmp_path,
        x_train=np.full((12, 3, 3), 51, np.uint8),
        y_train=np.arange(12) % 3,
        x_test=np.zeros((6, 3, 3), np.uint8),
        y_test=np.zeros(6, np.uint8),
    )
    federation = load_federation(source, partition=IidSilos(2), facts=PublicFacts(num_classes=3))
    assert federation.feature_shape == (3, 3)
    assert federation.feature_norm_bound is None
    assert [(len(s.train), len(s.test)) for s in federation.silos] == [(6, 3), (6, 3)]
    assert federation.pooled_train().features[0, 0, 0] == np.float32(0.2)


def test_npz_with_its_own_silos_classes_and_a_bound(tmp_path: Path) -> None:
    source = npz_source(
        tmp_path,
        x=np.ones((8, 3)),
        y=np.arange(8) % 2,
        silo=np.array([5, 5, 9, 9, 5, 5, 9, 9]),
        classes=np.array(["no", "yes"]),
    )
    federation = load_federation(source, facts=PublicFacts(feature_norm_bound=2.0), test_fraction=0.0)
    assert federation.silo_names == ("5", "9")
    assert federation.num_classes == 2
    assert np.allclose(federation.pooled_train().features, 1.0, rtol=1e-6)
    assert federation.feature_shape == (4,)


def test_npz_errors(tmp_path: Path) -> None:
    iid, two = IidSilos(2), PublicFacts(num_classes=2)
    x, y = np.ones((4, 2)), np.array([0, 1, 0, 1])
    with pytest.raises(DataError, match=r"missing\.npz: No such file"):
        load_federation(f"npz:{tmp_path}/missing.npz", partition=iid, facts=two)
    with pytest.raises(DataError, match=r"there is no array 'y'"):
        load_federation(npz_source(tmp_path, x=x), partition=iid, facts=two)
    with pytest.raises(DataError, match="without looking at the records"):
        load_federation(npz_source(tmp_path, x=x, y=y), partition=iid)
    with pytest.raises(DataError, match="labels whole numbers"):
        load_federation(npz_source(tmp_path, x=x, y=y.astype("U1")), partition=iid, facts=two)
    with pytest.raises(DataError, match="plain arrays"):
        load_federation(
            npz_source(tmp_path, x=np.array([{}, []], dtype=object), y=y), partition=iid, facts=two
        )
    with pytest.raises(DataError, match="one entry for each of 4 records"):
        load_federation(npz_source(tmp_path, x=x, y=y, silo=np.zeros(3)), facts=two)
    with pytest.raises(DataError, match=r"label must be left out, .*csv and parquet.*norm_bound"):
        load_federation(npz_source(tmp_path, x=x, y=y), partition=iid, facts=PublicFacts(label="y"))
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(DataError, match=r"text\.npz"):
        load_federation(f"npz:{tmp_path}/text.npz", partition=iid, facts=two)


def test_npz_records_that_cannot_be_used(tmp_path: Path) -> None:
    x = np.ones((6, 2))
    x[1, 0], x[2, 1], x[3, 0] = np.nan, 1e300, -np.inf
    y = np.array([0, 1, 0, 1, 2, -5])
    federation = load_federation(
        npz_source(tmp_path, x=x, y=y),
        partition=OneSilo("a"),
        facts=PublicFacts(num_classes=2),
        test_fraction=0.0,
    )
    assert federation.silo("a").train.features.tolist() == [[1, 1], [0, 1], [1, 0], [0, 1]]
    assert federation.silo("a").train.labels.tolist() == [0, 1, 0, 1]
    assert federation.warnings == (
        "arrays.npz, arrays 'x' and 'y': 3 of 6 records hold NaN or Inf, which count as 0.",
        "arrays.npz, arrays 'x' and 'y': 2 of 6 labels are not in [0, 2); these records are left out.",
    )


def test_npz_ids_keep_the_records_of_one_person_together(tmp_path: Path) -> None:
    x, y = np.arange(40.0)[:, None], np.arange(40) % 2
    facts = PublicFacts(num_classes=2)
    source = npz_source(tmp_path, x=x, y=y, id=np.arange(40) // 2)
    silo = load_federation(source, partition=OneSilo("a"), facts=facts, test_fraction=0.5).silo("a")
    assert set(silo.train.features[:, 0] // 2).isdisjoint(silo.test.features[:, 0] // 2)
    assert len(silo.train)
    assert len(silo.test)
    with pytest.raises(DataError, match="no array 'who'"):
        load_federation(source, partition=OneSilo("a"), facts=PublicFacts(num_classes=2, id="who"))


# --- module:function ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("nowhere", "nowhere"),
        ("hospital.nowhere.deep", "hospital.nowhere"),
        ("hospital.", "hospital."),
        (".x", ""),
    ],
)
def test_a_module_that_is_not_there_is_refused_before_any_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, missing: str
) -> None:
    """A silo that took a misspelt name for a function that fails would take part without records."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hospital" / "readers").mkdir(parents=True)
    (tmp_path / "hospital" / "__init__.py").write_text("raise ValueError('ran')")
    (tmp_path / "hospital" / "readers" / "heart.py").write_text("")
    with pytest.raises(DataError, match=f"there is none named {re.escape(repr(missing))}") as caught:
        load_federation(f"{module}:records")
    assert not isinstance(caught.value, OwnCodeFailed)
    with pytest.raises(OwnCodeFailed, match="it raised ValueError: ran"):
        load_federation("hospital.readers.heart:records")


def test_a_function_makes_the_federation(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_records")
    seen: dict[str, float] = {}

    def build(*, test_fraction: float, split_seed: int) -> Federation:
        seen.update(test_fraction=test_fraction, split_seed=split_seed)
        return load_federation("heart-disease")

    module.build = build  # type: ignore[attr-defined]
    module.wrong = lambda **_: 7  # type: ignore[attr-defined]

    def failing(**_: float) -> Federation:
        raise KeyError("patient 7")

    def lacking(**_: float) -> Federation:
        raise ModuleNotFoundError("patient 7", name="my_records")

    module.failing = failing  # type: ignore[attr-defined]
    module.lacking = lacking  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_records", module)
    assert load_federation("my_records:build", test_fraction=0.1, split_seed=9).name == "heart-disease"
    assert seen == {"test_fraction": 0.1, "split_seed": 9}
    with pytest.raises(DataError, match="must return a Federation; got int"):
        load_federation("my_records:wrong")
    with pytest.raises(OwnCodeFailed, match="whatever its records hold; it raised KeyError"):
        load_federation("my_records:failing")
    with pytest.raises(OwnCodeFailed, match="it raised ModuleNotFoundError: patient 7"):
        load_federation("my_records:lacking")
    assert all(len(s.train) <= 50 for s in load_federation("my_records:build", record_capacity=50).silos)
    with pytest.raises(DataError, match=r"it is none\. Did you mean 'build'\?"):
        load_federation("my_records:buld")
    with pytest.raises(DataError, match="none named 'no_such_module'"):
        load_federation("no_such_module:build")
    with pytest.raises(DataError, match="makes its own silos"):
        load_federation("my_records:build", partition=IidSilos(2))


def test_a_sources_own_test_records_can_join_the_pool(tmp_path: Path) -> None:
    x = np.arange(40 * 2, dtype=np.float32).reshape(40, 2)
    y = np.arange(40) % 2
    np.savez(tmp_path / "set.npz", x_train=x[:30], y_train=y[:30], x_test=x[30:], y_test=y[30:])
    source, facts = f"npz:{tmp_path / 'set.npz'}", PublicFacts(num_classes=2)
    kept = load_federation(source, partition=IidSilos(2), facts=facts)
    merged = load_federation(
        source, partition=IidSilos(2), facts=facts, keep_test_set=False, test_fraction=0.5
    )
    assert sum(len(silo.test) for silo in kept.silos) == 10
    everything = np.concatenate([merged.pooled_train().features, merged.pooled_test().features])
    np.testing.assert_array_equal(np.sort(everything[:, 0]), x[:, 0])
    assert 8 <= sum(len(silo.test) for silo in merged.silos) <= 32


def test_parts_that_join_are_each_read_for_what_they_are(tmp_path: Path) -> None:
    """Bytes are images, other numbers are taken as they are; labels stay with their own part's records."""
    pixels, ones = np.full((6, 3), 51, dtype=np.uint8), np.ones((4, 3))
    labels = {"y_train": np.zeros(6, np.int64), "y_test": np.ones(4, np.int64)}

    def joined(**arrays: Any) -> Federation:
        return load_federation(
            npz_source(tmp_path, **{**labels, **arrays}),
            partition=IidSilos(1),
            facts=PublicFacts(num_classes=2),
            keep_test_set=False,
            test_fraction=0.0,
        )

    records = joined(x_train=pixels, x_test=ones).pooled_train()
    np.testing.assert_array_equal(np.unique(records.features[records.labels == 0]), [np.float32(0.2)])
    np.testing.assert_array_equal(np.unique(records.features[records.labels == 1]), [1.0])
    with pytest.raises(
        DataError, match=r"'x_train' and 'y_train': .*one label; got shapes \(5, 3\) and \(6,"
    ):
        joined(x_train=pixels[:5], x_test=np.ones((5, 3)))
    with pytest.raises(DataError, match=r"one shape; got \[\(2,\), \(3,\)\]"):
        joined(x_train=pixels, x_test=ones[:, :2])
    with pytest.raises(DataError, match="keep_test_set must be true"):
        joined(x_train=pixels, x_test=ones, silo=np.zeros(6))
