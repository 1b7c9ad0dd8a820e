"""Exported models give our own scores, and know what they are of, where this package is not installed."""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from discreet.config import load_config
from discreet.data import TableRules
from discreet.data.columns import Days, Numeric
from discreet.data.frames import table_of
from discreet.data.projection import Projection, hashed
from discreet.data.standard import Place, Standard
from discreet.data.table import Table
from discreet.engines.local import run as run_config
from discreet.errors import ConfigurationError
from discreet.models import load_flat
from discreet.models.convexity import LinearHead
from discreet.privacy.ledger import Spending
from discreet.released import Model, build_network, load_model, onnx_program, sklearn_file, torch_program
from discreet.released.scorer import Numbers, numeric_columns, text_columns
from discreet.rounds import origin_of
from discreet.session import Arrays, Frames, Run, Target, plan_training, train
from tests.unit.released.conftest import ROWS, Said

# Rows hold texts that no plan knows, of which a warning tells.
pytestmark = pytest.mark.filterwarnings("ignore:the records, column")

ROOT = Path(__file__).parents[3]


def assert_close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def as_numbers(table: Table, column: Numbers) -> np.ndarray:
    """A column as programs take it: a date is the number that its library gives."""
    if not isinstance(column, Days):
        return table.numbers(column.column)
    cells = table.column(column.column)
    return np.array([date.fromisoformat(cell).toordinal() if cell else np.nan for cell in cells])


def cells(model: Model, rows: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """What a torch program takes: numbers, and the number of each text."""
    rules = model.require_rules()
    columns = rules.schema.columns
    table = table_of(rows, rules.used, name="rows")
    numbers = [as_numbers(table, column) for column in numeric_columns(columns)]
    codes = [
        [(*texts.texts, cell).index(cell) for cell in table.column(texts.column)]
        for texts in text_columns(columns)
    ]
    return (
        np.array(numbers, dtype=np.float64).reshape(-1, len(table)).T,
        np.array(codes, dtype=np.int64).reshape(-1, len(table)).T,
    )


def onnx_scores(program: bytes, feeds: dict[str, Any]) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    found: list[np.ndarray] = runtime.InferenceSession(program).run(["label", "probabilities"], feeds)
    return found


def onnx_feeds(model: Model, rows: dict[str, Any]) -> dict[str, Any]:
    rules: TableRules = model.require_rules()
    table = table_of(rows, rules.used, name="rows")
    numeric = {column.column: column for column in numeric_columns(rules.schema.columns)}
    return {
        name: as_numbers(table, numeric[name])[:, None]
        if name in numeric
        else np.array(table.column(name))[:, None]
        for name in rules.used
    }


@pytest.fixture(scope="session")
def heart(tmp_path_factory: pytest.TempPathFactory) -> tuple[Model, dict[str, Any]]:
    """The bundled table: codes for what was not measured, baselines and contrasts; and odd rows of it."""
    out = tmp_path_factory.mktemp("heart") / "run"
    config = load_config(ROOT / "examples" / "heart.toml")
    run_config(config.model_copy(update={"run": config.run.model_copy(update={"seed": 1})}), out)
    rows = {
        "age": [63, 20, 50, 99, ""], "trestbps": [145, "", 130, 300, 120], "chol": [0, 233, "", 999, 0],
        "thalach": [150, 108, "", 60, 90], "oldpeak": [2.3, "", 0, 9, 1], "cp": ["1", "4", "9", "2", "3"],
        "restecg": ["0", "1", "2", "", "0"], "fbs": ["1", "0", "?", "1", "0"],
        "sex": ["0", "1", "", "1", "0"], "exang": ["1", "0", "1", "?", "0"],
    }  # fmt: skip
    return load_model(out), rows


def untrained(model: str, classes: tuple[str, ...], **columns: Any) -> Model:
    """A model with random weights, of a plan that nobody carried out."""
    rules = (columns.get(kind, {}) for kind in ("ranges", "categories", "dates"))
    empty = dict.fromkeys(("ill", *(name for rule in rules for name in rule)), ())
    frames = Frames(dict.fromkeys("abc", empty), label="ill", classes=classes, **columns)
    step: dict[str, Any] = {"local": {"kind": "single-step"}, "privacy": {"clip_norm": 1.0}}
    plan = plan_training(frames.public(capacity=50), target=Target(8.0), model=model, **step)
    network = build_network(plan, own_code=False)
    load_flat(network, np.random.default_rng(4).normal(0, 5, plan.facts.dimension))
    nothing = Spending(completed=(), lost=(), pending=None, aborted=0)
    return Model(origin_of(plan, nothing, (), seeded=False), network.eval())


def standardised(model: Model) -> Model:
    """The same model, if its plan had prepared records."""
    columns = model.require_rules().schema.columns
    firsts = np.cumsum([0, *(len(column.names) for column in columns)]).tolist()
    found = tuple(
        Place(first, first + 1 if len(column.names) > 1 else None)
        for column, first in zip(columns, firsts, strict=False)
        if isinstance(column, Numeric | Days)
    )
    announced = np.array([np.linspace(-0.6, 0.5, len(found)), np.linspace(0.2, 0.9, len(found))])
    standard = Standard.announced(found, announced, floor=0.02, norm_bound=model.require_rules().norm_bound)
    return dataclasses.replace(model, prepares=standard)


def projected(model: Model) -> Model:
    """The same model, if its plan had projected records onto as many directions as its weights are for."""
    rules = model.require_rules()
    features = sum(len(column.names) for column in rules.schema.columns) + 1
    network = LinearHead(3, model.plan.facts.outputs)
    load_flat(network, np.random.default_rng(5).normal(0, 5, 3 * model.plan.facts.outputs))
    projection = Projection(np.array([0.2, -0.1]), rules.norm_bound, hashed((2, features))[:, :-1])
    return dataclasses.replace(model, network=network.eval(), prepares=projection)


def centred(model: Model) -> Model:
    """The same model, if its plan had centred records."""
    features = sum(len(column.names) for column in model.require_rules().schema.columns)
    center = np.linspace(-0.2, 0.3, features)
    return dataclasses.replace(model, prepares=Projection(center, model.require_rules().norm_bound))


NUMBERS, TEXTS = (
    {"ranges": {"age": (20, 90), "weight": (40, 120)}},
    {"categories": {"sex": ("f", "m"), "ward": ("7", "8")}},
)
TABLES: dict[str, Callable[[], Model]] = {
    "only numbers": lambda: untrained("logistic", ("no", "yes"), **NUMBERS),
    "only texts": lambda: untrained("logistic", ("no", "yes"), **TEXTS),
    "several classes": lambda: untrained("logistic", ("no", "yes", "perhaps"), **NUMBERS, **TEXTS),
    "blanks marked": lambda: untrained(
        "logistic",
        ("no", "yes"),
        **NUMBERS,
        categories={"sex": ("f", "m"), "note": ("a", "b")},
        dates={
            "born": {"from": "1930-01-01", "to": "2010-12-31"},
            "seen": {"from": "2020-01-01", "to": "2021-01-01"},
        },
        missing={"weight": "indicator", "born": "indicator", "note": "indicator"},
    ),
    "bins": lambda: untrained(
        "logistic",
        ("no", "yes"),
        ranges={"age": (20, 90), "weight": (40, 120)},
        bins={"age": 7, "weight": (60.0, 72.5)},
        **TEXTS,
    ),
    "bins among others, blanks marked": lambda: untrained(
        "logistic",
        ("no", "yes", "perhaps"),
        ranges={"weight": (40, 120), "age": (20, 90)},
        bins={"age": (20, 50, 65)},
        dates={"born": {"from": "1930-01-01", "to": "2010-12-31"}},
        missing={"age": "indicator", "weight": "indicator"},
    ),
    "another norm": lambda: untrained("logistic", ("no", "yes"), feature_norm_bound=3.0, **NUMBERS),
}
TABLES |= {
    f"{name}, standardised": lambda name=name: standardised(TABLES[name]())  # type: ignore[misc]
    for name in ("another norm", "blanks marked", "bins among others, blanks marked")
}
TABLES["bins among others, projected"] = lambda: projected(TABLES["bins among others, blanks marked"]())
TABLES["blanks marked, centred"] = lambda: centred(TABLES["blanks marked"]())


BUNDLED: dict[str, Callable[[Model], Model]] = {
    "bundled": lambda model: model,
    "bundled, standardised": standardised,
    "bundled, projected": projected,
}


@pytest.fixture(scope="session", params=["trained", *BUNDLED, *TABLES])
def tabular(
    request: pytest.FixtureRequest, run: Run, heart: tuple[Model, dict[str, Any]]
) -> tuple[Model, dict[str, Any]]:
    if request.param in BUNDLED:
        model, rows = heart
        return BUNDLED[request.param](model), rows
    return run.released if request.param == "trained" else TABLES[request.param](), ROWS


def test_torch_gives_our_scores(tabular: tuple[Model, dict[str, Any]]) -> None:
    model, rows = tabular
    program = torch.export.load(io.BytesIO(torch_program(model)))
    found = program.module()(*map(torch.from_numpy, cells(model, rows)))
    assert_close(found.detach().numpy(), model.predict_proba(rows))


def test_onnx_gives_our_scores_from_raw_columns(tabular: tuple[Model, dict[str, Any]]) -> None:
    pytest.importorskip("onnxscript")
    model, rows = tabular
    program = onnx_program(model)
    label, probabilities = onnx_scores(program, onnx_feeds(model, rows))
    assert_close(probabilities, model.predict_proba(rows))
    assert label.tolist() == model.predict(rows).tolist()
    onnx = pytest.importorskip("onnx").load_from_string(program)
    entries = {entry.key: entry.value for entry in onnx.metadata_props}
    assert entries.get("probabilities", "") == model.caveat
    told = json.loads(entries["columns"])
    assert [entry["name"] for entry in told] == [entry.name for entry in onnx.graph.input]
    dates = {column.column for column in model.require_rules().schema.columns if isinstance(column, Days)}
    assert {entry["name"] for entry in told if "toordinal" in entry["holds"]} == dates


@pytest.mark.parametrize("hole", [np.nan, None, ""], ids=["NaN", "None", "blank"])
def test_scikit_learn_gives_our_scores(tabular: tuple[Model, dict[str, Any]], hole: object) -> None:
    import joblib

    model, rows = tabular
    pipeline = joblib.load(io.BytesIO(sklearn_file(model)))
    assert pipeline.columns_ == tuple(pipeline.feature_names_in_) == model.require_rules().used
    rules = model.require_rules()
    read = table_of(rows, rules.used, name="rows")
    numeric = {column.column: column for column in numeric_columns(rules.schema.columns)}
    raw = [
        as_numbers(read, numeric[name]).astype(object) if name in numeric else rows[name]
        for name in pipeline.columns_
    ]
    table = np.array(raw, dtype=object).T
    # Whatever a frame holds where there is nothing, in columns of texts too.
    table[[[cell in {"", "nan"} for cell in row] for row in table.astype(str)]] = hole
    assert_close(pipeline.predict_proba(table), model.predict_proba(rows))
    assert pipeline.predict(table).tolist() == model.predict(rows).tolist()
    assert json.loads(pipeline.discreet_)["plan"]["digest"] == model.plan.digest()
    assert getattr(pipeline, "probabilities_", "") == model.caveat


def test_scikit_learn_reads_frames_by_name(run: Run) -> None:
    pandas = pytest.importorskip("pandas")
    import joblib

    pipeline = joblib.load(io.BytesIO(sklearn_file(run.released)))
    frame = pandas.DataFrame({name: ROWS[name] for name in pipeline.columns_})
    frame = frame[frame.columns[::-1]].assign(further=1.0)
    assert_close(pipeline.predict_proba(frame), run.predict_proba(ROWS))
    with pytest.raises(ValueError, match=r"columns are missing: \{'age'\}"):
        pipeline.predict_proba(frame.rename(columns={"age": "years"}))


@pytest.mark.parametrize("absent", [float("nan"), None])
@pytest.mark.parametrize(
    "name", ["only texts", "several classes", "blanks marked", "blanks marked, standardised"]
)
def test_scikit_learn_reads_what_is_missing_as_an_empty_cell(name: str, absent: float | None) -> None:
    import joblib

    model = TABLES[name]()
    used = model.require_rules().used
    pipeline = joblib.load(io.BytesIO(sklearn_file(model)))
    dated = {"born": datetime.date(1960, 5, 1), "seen": datetime.date(2020, 5, 1)}
    filled = {"age": 44.0, "weight": 71.0, "sex": "f", "ward": "8", "note": "b"} | dated
    rows = [[filled[column] if column != blank else None for column in used] for blank in ("", *used)]
    texts = {
        column: ["" if row[at] is None else str(row[at]) for row in rows] for at, column in enumerate(used)
    }
    raw = [
        [
            absent if cell is None else cell.toordinal() if isinstance(cell, datetime.date) else cell
            for cell in row
        ]
        for row in rows
    ]
    assert_close(pipeline.predict_proba(np.array(raw, dtype=object)), model.predict_proba(texts))


ALONE = """
import sys
sys.modules["discreet"] = None
import joblib, torch
program = torch.export.load("m.pt2")
print(program.module()(torch.tensor([[25.0, 70.5]], dtype=torch.float64), torch.tensor([[0]])).tolist()[0][1])
pipeline = joblib.load("m.joblib")
print(pipeline.predict_proba([[25.0, 70.5, "f"]])[0][1])
"""


def test_exports_load_without_this_package(
    run: Run, tmp_path: Path, discreet: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = discreet("export", run.path, "--torch", "m.pt2", "--sklearn", "m.joblib")
    assert said.out.split() == ["m.pt2", "m.joblib"]
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALONE], capture_output=True, check=True, text=True
    )
    expected = run.predict_proba({"age": [25], "weight": [70.5], "sex": ["f"]})[0, 1]
    assert_close([float(line) for line in ended.stdout.split()], [expected] * 2)
    with zipfile.ZipFile("m.pt2") as archive:
        extra = {
            name.rsplit("/", 1)[-1]: archive.read(name) for name in archive.namelist() if "/extra/" in name
        }
    assert json.loads(extra["discreet"])["plan"]["digest"] == run.plan.digest()
    assert extra["probabilities"].decode() == run.released.caveat != ""


def test_a_network_over_a_table_is_exported_with_its_columns() -> None:
    model = untrained("mlp", ("no", "yes"), **NUMBERS, **TEXTS)
    program = torch.export.load(io.BytesIO(torch_program(model)))
    found = program.module()(*map(torch.from_numpy, cells(model, ROWS)))
    assert_close(found.detach().numpy(), model.predict_proba(ROWS))
    with pytest.raises(ConfigurationError, match=r"of a linear model; got 'mlp'.*--onnx"):
        sklearn_file(model)
    pytest.importorskip("onnxscript")
    label, probabilities = onnx_scores(onnx_program(model), onnx_feeds(model, ROWS))
    assert_close(probabilities, model.predict_proba(ROWS))
    assert label.tolist() == model.predict(ROWS).tolist()


class Branching(torch.nn.Module):
    """Looks at a number that is known when it runs only."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features[:, :1] if float(features.sum()) > 0 else -features[:, :1]


def test_a_network_that_torch_cannot_trace_is_one_line(run: Run) -> None:
    with pytest.raises(ConfigurationError, match="torch cannot trace the network") as caught:
        torch_program(dataclasses.replace(run.released, network=Branching().eval()))
    assert "\n" not in str(caught.value)


def test_nothing_is_written_unless_all_can_be(
    run: Run, tmp_path: Path, discreet: Callable[..., Said]
) -> None:
    (tmp_path / "there.joblib").touch()
    options = ("--torch", tmp_path / "m.pt2", "--sklearn", tmp_path / "there.joblib")
    assert "--sklearn must be a new file" in discreet("export", run.path, *options, expect=2).err
    assert (
        "Give --onnx, --torch, --weights, --sklearn or --card" in discreet("export", run.path, expect=2).err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["there.joblib"]


def test_onnx_without_its_packages_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ConfigurationError, match=r"package onnx.*discreet\[export\]"):
        onnx_program(run.released)


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A network over arrays, scaled to a norm."""
    draw = np.random.default_rng(1)
    silos = {
        name: (draw.normal(size=(40, 2, 3)).astype(np.float32), draw.integers(0, 3, 40)) for name in "abc"
    }
    arrays = Arrays(silos, num_classes=3, norm_bound=2.0, pixels=True)
    local, privacy = {"kind": "single-step"}, {"clip_norm": 1.0}
    plan = plan_training(
        arrays.public(capacity=50), target=Target(8.0), rounds=1, model="mlp", local=local, privacy=privacy
    )
    return train(plan, arrays, out=tmp_path_factory.mktemp("network") / "run", seed=1)


def test_a_network_over_arrays_is_exported_too(network: Run) -> None:
    records = np.random.default_rng(2).uniform(size=(5, 2, 3)).astype(np.float32)
    records[0, 0, 0] = np.nan
    expected = network.predict_proba(records)
    program = torch.export.load(io.BytesIO(torch_program(network.released)))
    found = program.module()(torch.from_numpy(records)).detach().numpy()
    assert_close(found, expected)
    with pytest.raises(ConfigurationError, match="trained on tables"):
        sklearn_file(network.released)
    pytest.importorskip("onnxscript")
    made = onnx_program(network.released)
    label, probabilities = onnx_scores(made, {"features": records})
    assert_close(probabilities, expected)
    assert label.tolist() == expected.argmax(axis=1).tolist()
    parsed = pytest.importorskip("onnx").load_from_string(made)
    told = {one.key: one.value for one in parsed.metadata_props}
    assert "pixels as numbers of 0 to 1" in json.loads(told["columns"])[0]["holds"]
