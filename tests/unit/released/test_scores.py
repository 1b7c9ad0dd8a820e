"""``discreet predict`` and ``discreet evaluate``: files in, classes and honest numbers out."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import DataError
from discreet.released import evaluate_file, score_file
from discreet.session import Run
from tests.unit.released.conftest import ROWS, Said

# Rows hold texts that no plan knows, of which a warning tells.
pytestmark = pytest.mark.filterwarnings("ignore:the records, column")

Discreet = Callable[..., Said]
Write = Callable[..., Path]
CAP = 0.35
LABELS = ["no", "yes", "yes", "yes", "no"]


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_predictions_are_the_models_row_by_row(run: Run, csv_file: Write, discreet: Discreet) -> None:
    printed = discreet("predict", run.path, csv_file(), "--id", "patient")
    rows = table(printed.out)
    assert [row["patient"] for row in rows] == ROWS["patient"]
    assert [row["prediction"] for row in rows] == run.predict(ROWS).tolist()
    probabilities = [[float(row[f"probability of {text}"]) for text in ("no", "yes")] for row in rows]
    np.testing.assert_array_equal(probabilities, run.predict_proba(ROWS))
    called = table(discreet("predict", run.path, csv_file(), "--threshold", "0.000001").out)
    assert {row["prediction"] for row in called} == {"yes"}
    assert [list(row.values())[2:] for row in called] == [list(row.values())[2:] for row in rows]
    said = discreet("predict", run.path, csv_file(), "--threshold", "1.5", expect=2)
    assert "'threshold' must be between 0 and 1; got 1.5" in said.err
    assert "called" not in printed.err
    assert f"residual cap {CAP}" in run.plan.training.local.describe()
    assert (
        printed.err.count(f"\nmodel: Probabilities are not calibrated: residuals are capped at {CAP} in") == 1
    )
    for note in ("'age': 1 of 5", "'weight': 1 of 5", "'sex': 1 of 5", "nothing uses: ward"):
        assert note in printed.err


def test_texts_that_no_plan_knows_are_told_and_a_column_of_nothing_else_is_refused(
    run: Run, csv_file: Write, tmp_path: Path, discreet: Discreet
) -> None:
    frame = {**ROWS, "weight": ["70", "NA", "", "61", "75"]}
    with pytest.warns(UserWarning, match=r"column '(sex|weight)'") as told:
        run.predict(frame)
    assert [str(one.message).partition(" cells")[0] for one in told] == [
        "the records, column 'weight': 2 of 5", "the records, column 'sex': 1 of 5",
    ]  # fmt: skip
    out = tmp_path / "scores.csv"
    said = discreet("predict", run.path, csv_file(sex=["F", "M", "", "F", "M"]), "--out", out, expect=2)
    assert "column 'sex': NOT ONE CELL CAN BE USED" in said.err
    assert said.err.count("\n") == 1
    assert not out.exists()
    discreet("predict", run.path, csv_file(sex=[""] * 5))


def test_a_model_file_is_as_good_and_columns_may_stand_anywhere(
    run: Run, csv_file: Write, discreet: Discreet
) -> None:
    other = csv_file("other.csv")
    turned = [list(row) for row in zip(*(ROWS[name] for name in ("age", "sex", "weight")), strict=True)]
    other.write_text("\n".join(map(",".join, [["age", "sex", "weight"], *turned])), encoding="utf-8")
    first = discreet("predict", run.path, csv_file())
    again = discreet("predict", run.path / "model.safetensors", other)
    assert first.out == again.out
    assert [row["row"] for row in table(first.out)] == ["1", "2", "3", "4", "5"]


def test_rows_keep_their_number_where_one_cannot_be_read(
    run: Run, tmp_path: Path, discreet: Discreet
) -> None:
    (tmp_path / "ragged.csv").write_text("age,weight,sex\n25,70,f\n1,2\n60,70,m\n", encoding="utf-8")
    printed = discreet("predict", run.path, tmp_path / "ragged.csv")
    assert [row["row"] for row in table(printed.out)] == ["1", "3"]
    assert "1 of 3 rows" in printed.err


def test_a_file_that_is_there_is_never_replaced(
    run: Run, csv_file: Write, tmp_path: Path, discreet: Discreet
) -> None:
    out = tmp_path / "scores.csv"
    assert discreet("predict", run.path, csv_file(), "--out", out).out == ""
    before = out.read_bytes()
    assert len(table(before.decode())) == 5
    said = discreet("predict", run.path, csv_file(), "--out", out, expect=2)
    assert "error: --out must be a new file" in said.err
    assert out.read_bytes() == before
    discreet("predict", run.path, csv_file(), "--out", tmp_path / "none" / "scores.csv", expect=2)


@pytest.mark.parametrize("option", [(), ("--id", "name")])
def test_a_missing_column_is_one_line(
    run: Run, csv_file: Write, discreet: Discreet, option: tuple[str, ...]
) -> None:
    path = csv_file() if option else csv_file(weight=None)
    said = discreet("predict", run.path, path, *option, expect=2)
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert f"there is no column {option[1] if option else 'weight'!r}" in said.err


def test_parquet_is_read_as_csv_is(run: Run, csv_file: Write, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(ROWS), tmp_path / "new.parquet")
    by_parquet = score_file(run.released, tmp_path / "new.parquet", id_column="patient")
    assert by_parquet.as_csv() == score_file(run.released, csv_file(), id_column="patient").as_csv()


def test_the_numbers_of_an_evaluation_are_scikit_learns(
    run: Run, csv_file: Write, discreet: Discreet
) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    file = csv_file("labelled.csv", ill=LABELS)
    scores = run.predict_proba(ROWS)[:, 1]
    truth = [text == "yes" for text in LABELS]
    found = json.loads(discreet("evaluate", run.path, file, "--json").out)
    assert found["records"] == 5
    assert found["against"]["base_rate"] == 0.6
    assert found["accuracy"][0] == metrics.accuracy_score(truth, scores > 0.5)
    assert found["classes"][1]["auc"][0] == pytest.approx(metrics.roc_auc_score(truth, scores))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(truth, scores), rel=1e-5)
    stated = np.maximum(scores, 1.0 - scores).mean()
    assert found["too_sure_by"][0] == pytest.approx(stated - found["accuracy"][0])
    assert found["calibration_error"] >= abs(found["too_sure_by"][0])
    assert "not private" in found["note"]
    assert found["second_class"] == {
        "name": "yes", "stated": pytest.approx(scores.mean()), "observed": pytest.approx(0.6)
    }  # fmt: skip
    assert found["probabilities"] == run.released.caveat != ""
    assert any("exact functions of labelled.csv, and not private" in line for line in found["warnings"])
    shown = discreet("evaluate", run.path, file, "--by", "sex")
    assert "60.0 %" in shown.out
    assert f"calibration error │ {found['calibration_error']:.3f} (by chance about" in shown.out
    assert "Neither too sure nor not sure enough, as far as these records tell" in shown.out
    assert "cannot be told from" in shown.out
    assert f"model: {run.released.caveat}" in shown.err
    assert [line.split()[:4] for line in shown.out.splitlines() if line.startswith("sex ")] == [
        ["sex", "?", "│", "1"], ["sex", "f", "│", "2"], ["sex", "m", "│", "2"],
    ]  # fmt: skip
    assert "exact functions of labelled.csv, and not private" in shown.out


def test_an_evaluation_at_a_threshold_is_of_what_predict_calls_there(
    run: Run, csv_file: Write, discreet: Discreet
) -> None:
    scores = run.predict_proba(ROWS)[:, 1]
    cut = float(np.sort(scores)[1])
    file = csv_file("labelled.csv", ill=LABELS)
    found = json.loads(discreet("evaluate", run.path, file, "--threshold", cut, "--json").out)
    called = [row["prediction"] for row in table(discreet("predict", run.path, file, "--threshold", cut).out)]
    assert called.count("yes") == 4
    exact = [
        [list(zip(LABELS, called, strict=True)).count((a, b)) for b in ("no", "yes")] for a in ("no", "yes")
    ]
    assert found["confusion"] == exact
    assert found["threshold"] == cut
    assert found["accuracy"][0] == (exact[0][0] + exact[1][1]) / 5
    assert (found["classes"][1]["recall"][0], found["classes"][1]["precision"][0]) == (
        exact[1][1] / 3, exact[1][1] / 4,
    )  # fmt: skip
    usual = json.loads(discreet("evaluate", run.path, file, "--json").out)
    same = ("brier", "calibration", "log_loss", "roc")
    assert [found[name] for name in same] == [usual[name] for name in same]
    shown = discreet("evaluate", run.path, file, "--threshold", cut).out
    assert re.search(rf"^yes called from +│ +{cut:g}$", shown, re.MULTILINE)
    assert "called no ┃ called yes" in shown
    said = discreet("evaluate", run.path, file, "--threshold", "0", expect=2)
    assert "'threshold' must be between 0 and 1; got 0" in said.err


def test_a_file_of_another_dialect_is_guessed_and_told_or_read_as_stated(
    run: Run, csv_file: Write, tmp_path: Path, discreet: Discreet
) -> None:
    usual = csv_file()
    text = usual.read_text(encoding="utf-8").replace(",", ";").replace(".", ",")
    (tmp_path / "german.csv").write_bytes(text.encode("cp1252"))
    expected = discreet("predict", run.path, usual).out
    guessed = discreet("predict", run.path, tmp_path / "german.csv")
    assert guessed.out == expected
    assert "german.csv is read with separator ';'" in guessed.err
    stated = ("--separator", ";", "--decimal", ",", "--encoding", "cp1252")
    said = discreet("predict", run.path, tmp_path / "german.csv", *stated)
    assert said.out == expected
    assert "is read with" not in said.err
    assert "is read with" not in discreet("predict", run.path, usual).err


def test_an_evaluation_groups_by_where_a_number_lies(run: Run, csv_file: Write, discreet: Discreet) -> None:
    file = csv_file("labelled.csv", ill=LABELS)
    found = json.loads(discreet("evaluate", run.path, file, "--by", "weight=60,100", "--json").out)
    weights = [float(one) for one in ROWS["weight"] if one]
    expected = [sum(one < 60 for one in weights), sum(60 <= one < 100 for one in weights)]
    names = {group["name"]: group["records"] for group in found["groups"]}
    assert [names.get("below 60", 0), names.get("60 to 100", 0)] == expected
    parts = ("no number", "below 60", "60 to 100", "100 or more")
    assert list(names) == [name for name in parts if name in names]
    assert sum(names.values()) == found["records"] > len(weights)
    by_text = json.loads(discreet("evaluate", run.path, file, "--by", "note", "--json").out)["groups"]
    assert {group["name"]: group["records"] for group in by_text} == {"a": 2, "b": 1, "blank": 2}
    said = discreet("evaluate", run.path, file, "--by", "weight=100,60", expect=2)
    assert "increasing numbers as in age=40,60" in said.err


def test_rows_without_a_label_are_left_out_and_counted(run: Run, csv_file: Write) -> None:
    labels: list[Any] = ["no", "", "yes", "perhaps", "no"]
    found = evaluate_file(run.released, csv_file("labelled.csv", ill=labels))
    assert found.quality.records == 3
    assert any("2 of 5 cells" in note and "LEFT OUT" in note for note in found.notes)
    with pytest.raises(DataError, match="one row at least must have a label"):
        evaluate_file(run.released, csv_file("none.csv", ill=["?"] * 5))
    with pytest.raises(DataError, match="no column 'ill'"):
        evaluate_file(run.released, csv_file())
