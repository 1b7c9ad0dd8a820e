"""A regression is predicted, measured, exported and described as a classifier is, in the label's own unit."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from discreet.data.frames import table_of
from discreet.data.labels import Outcome
from discreet.errors import ConfigurationError
from discreet.models import load_flat
from discreet.privacy.ledger import Spending
from discreet.released import Model, build_network, load_model, onnx_program, sklearn_file, torch_program
from discreet.released.scorer import numeric_columns
from discreet.rounds import origin_of
from discreet.session import Frames, Run, Target, plan_training, train
from tests.unit.released.conftest import ROWS, Said
from tests.unit.released.test_export import as_numbers, cells, onnx_feeds

# Rows hold texts that no plan knows, of which a warning tells.
pytestmark = pytest.mark.filterwarnings("ignore:the records, column")

STAY: dict[str, Any] = {"label": "stay", "label_range": (0.0, 60.0)}
SHAPES: dict[str, dict[str, Any]] = {
    "numbers": {"ranges": {"age": (20, 90), "weight": (40, 120)}},
    "bins, texts, blanks": {
        "ranges": {"age": (20, 90), "weight": (40, 120)},
        "bins": {"age": 7},
        "categories": {"sex": ("f", "m")},
        "missing": "indicator",
    },
}


def assert_close(found: Any, expected: Any) -> None:
    """Networks compute in float32, and half the range is 30."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def table(count: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    age = draw.uniform(20, 90, count)
    return {
        "age": age,
        "weight": draw.normal(75, 12, count).clip(41, 119),
        "sex": draw.choice(["f", "m"], count),
        "stay": 0.5 * age + draw.normal(0, 3, count),
    }


@pytest.fixture(scope="session")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Run:
    tables = {name: table(200, seed) for seed, name in enumerate(("west", "north", "east"))}
    frames = Frames(tables, **STAY, ranges={"age": (20, 90), "weight": (40, 120)},
                    categories={"sex": ("f", "m")})  # fmt: skip
    plan = plan_training(frames.public(capacity=220), target=Target(8.0))
    return train(plan, frames, out=tmp_path_factory.mktemp("stays") / "run", seed=3, compare=True)


@pytest.fixture(scope="session", params=SHAPES)
def model(request: pytest.FixtureRequest) -> Model:
    """A model with random weights, of a plan that nobody carried out."""
    frames = Frames(dict.fromkeys("abc", table(0, 0)), **STAY, **SHAPES[request.param])
    plan = plan_training(frames.public(capacity=50), target=Target(8.0))
    network = build_network(plan, own_code=False)
    load_flat(network, np.random.default_rng(4).normal(0, 1, plan.facts.dimension))
    nothing = Spending(completed=(), lost=(), pending=None, aborted=0)
    return Model(origin_of(plan, nothing, (), seeded=False), network.eval())


def test_it_learns_and_says_how_far_off_it_is(stays: Run) -> None:
    last = stays.metrics[-1]
    assert last["mae"] < 0.6 * last["constant_mae"]
    assert {"mae/west", "mae/north", "mae/east", "loss"} <= last.keys()
    assert "accuracy" not in last


def test_predictions_are_in_the_unit_of_the_label(stays: Run) -> None:
    rows = table(300, 9)
    found = stays.predict(rows)
    assert found.shape == (300,)
    assert np.abs(found - rows["stay"]).mean() < 8.0
    assert found.tolist() == load_model(stays.path).predict(rows).tolist()
    with pytest.raises(ConfigurationError, match="must be a classifier to give probabilities"):
        stays.predict_proba(rows)


def test_a_number_is_its_place_in_the_range_turned_back(model: Model) -> None:
    features, _ = model.require_rules().features(table_of(ROWS, model.require_rules().used, name="rows"))
    (weight,) = model.network.parameters()
    by_hand = 30.0 * (features.astype(np.float64) @ weight.detach().double().numpy()[0]) + 30.0
    assert_close(model.predict(ROWS), by_hand)
    assert (model.outcome, model.classes) == (Outcome(0.0, 60.0), ())


def test_torch_gives_our_numbers(model: Model) -> None:
    program = torch.export.load(io.BytesIO(torch_program(model)))
    found = program.module()(*map(torch.from_numpy, cells(model, ROWS)))
    assert_close(found.detach().numpy()[:, 0], model.predict(ROWS))


def test_onnx_gives_our_numbers_from_raw_columns(model: Model) -> None:
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(onnx_program(model))
    (found,) = session.run(["prediction"], onnx_feeds(model, ROWS))
    assert_close(found, model.predict(ROWS))


def test_scikit_learn_gives_our_numbers(model: Model) -> None:
    import joblib

    pipeline = joblib.load(io.BytesIO(sklearn_file(model)))
    rules = model.require_rules()
    read = table_of(ROWS, rules.used, name="rows")
    numeric = {column.column: column for column in numeric_columns(rules.schema.columns)}
    raw = [
        as_numbers(read, numeric[name]).astype(object) if name in numeric else ROWS[name]
        for name in pipeline.columns_
    ]
    assert_close(pipeline.predict(np.array(raw, dtype=object).T), model.predict(ROWS))


@pytest.fixture
def labelled(csv_file: Callable[..., Path]) -> Path:
    return csv_file("labelled.csv", stay=["12.5", "", "70", "n/a", "3"])


def test_predict_writes_a_number_for_each_row(
    stays: Run, csv_file: Callable[..., Path], discreet: Callable[..., Said]
) -> None:
    lines = discreet("predict", stays.path, csv_file(), "--id", "patient").out.splitlines()
    assert lines[0] == "patient,prediction"
    assert [line.split(",")[0] for line in lines[1:3]] == ["ann", "bob"]
    found = [float(line.rpartition(",")[2]) for line in lines[1:]]
    assert_close(found, stays.predict(ROWS))


def test_evaluate_compares_with_numbers_and_counts_what_is_none(
    stays: Run, labelled: Path, discreet: Callable[..., Said]
) -> None:
    said = discreet("evaluate", stays.path, labelled, "--by", "sex", "--json")
    found = json.loads(said.out)
    kept = {name: [values[at] for at in (0, 2, 4)] for name, values in ROWS.items()}
    off = np.abs(stays.predict(kept) - np.array([12.5, 60.0, 3.0]))
    assert found["records"] == 3
    assert found["mae"][0] == pytest.approx(off.mean(), rel=1e-6)
    assert "log_loss" not in found
    assert {one["name"] for one in found["groups"]} == {"f", "m"}
    assert "2 of 5 cells hold no finite number" in said.err
    assert "1 of 5 cells are outside [0, 60]" in said.err
    text = discreet("evaluate", stays.path, labelled, "--by", "sex").out
    assert "mean absolute error" in text
    assert "of always naming the median" in text


def test_a_file_without_any_number_is_one_line(
    stays: Run, csv_file: Callable[..., Path], discreet: Callable[..., Said]
) -> None:
    odd = csv_file("odd.csv", stay=["", "x", "?", "nan", "inf"])
    assert (
        "must have a label that is a number; none has" in discreet("evaluate", stays.path, odd, expect=2).err
    )


def test_the_card_speaks_of_numbers(stays: Run, tmp_path: Path, discreet: Callable[..., Said]) -> None:
    discreet("export", stays.path, "--card", tmp_path / "card.md")
    card = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "pipeline_tag: tabular-regression" in card
    assert "Model *linear regression*" in card
    assert "It predicts the number *stay* of each row" in card
    assert "| Mean absolute error of always naming the median |" in card
    assert "model.predict(frame)" in card
    assert "Accuracy" not in card


def test_report_and_verification_are_of_the_same_numbers(stays: Run) -> None:
    page = (stays.path / "report.html").read_text(encoding="utf-8")
    assert "Mean absolute error" in page
    assert "always the median" in page
    assert "Accuracy," not in page
    assert any(one.subject == "evaluation.json" for one in stays.verify())


def test_a_range_that_the_plan_does_not_state_changes_the_plan(stays: Run) -> None:
    plan = stays.plan
    other = plan.data.model_copy(update={"label_range": (0.0, 6.0)})
    changed = dataclasses.replace(plan, config=plan.config.model_copy(update={"data": other}))
    assert changed.digest() != plan.digest()
