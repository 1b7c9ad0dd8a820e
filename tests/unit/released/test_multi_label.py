"""A model of several labels is predicted, measured, exported, described and verified as any classifier is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ConfigurationError
from discreet.released import load_model, onnx_program, score_file, sklearn_file
from discreet.released.programs import _one_line
from discreet.session import Frames, Run, Target, plan_training, train
from tests.unit.released.conftest import Said, told
from tests.unit.released.test_export import onnx_feeds

# Rows hold texts that no plan knows, of which a warning tells.
pytestmark = pytest.mark.filterwarnings("ignore:the records, column")

LABELS = ("diabetes", "stroke")


def table(count: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    age, weight = draw.uniform(20, 90, count), draw.normal(75, 12, count).clip(41, 119)
    noise = draw.normal(0, 0.5, (2, count))
    return {
        "age": age,
        "weight": weight,
        "sex": draw.choice(["f", "m"], count),
        "diabetes": np.where((weight - 75) / 12 + noise[0] > 0, "yes", "no"),
        "stroke": np.where((age - 65) / 15 + noise[1] > 0, "yes", "no"),
    }


@pytest.fixture(scope="session")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Run:
    tables = {name: table(200, seed) for seed, name in enumerate(("west", "north", "east"))}
    frames = Frames(
        tables,
        label=LABELS,
        classes=("no", "yes"),
        ranges={"age": (20, 90), "weight": (40, 120)},
        categories={"sex": ("f", "m")},
    )
    plan = plan_training(frames.public(capacity=220), target=Target(8.0))
    return train(plan, frames, out=tmp_path_factory.mktemp("labels") / "run", seed=3, compare=True)


ROWS = {name: values.tolist() for name, values in table(40, 9).items()}


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    lines = [",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)]
    path = tmp_path / "labelled.csv"
    path.write_text("\n".join([",".join(ROWS), *lines]) + "\n")
    return path


def test_it_learns_every_label(labels: Run) -> None:
    last = labels.metrics[-1]
    assert last["label_accuracy"] > last["label_base_rate"] + 0.15
    assert last["auc"] > 0.85
    assert last["accuracy"] > last["base_rate"] + 0.15


def test_every_label_has_a_probability_and_a_text(labels: Run, labelled: Path) -> None:
    found = labels.predict_proba(ROWS)
    assert found.shape == (40, 2)
    named = np.where(found > 0.5, "yes", "no")
    assert labels.predict(ROWS).tolist() == named.tolist()
    with pytest.raises(ConfigurationError, match="'threshold' must be left out"):
        score_file(load_model(labels.path), labelled, threshold=0.1)
    written = score_file(load_model(labels.path), labelled).as_csv().splitlines()
    assert written[0] == "row,diabetes,stroke,probability of diabetes = yes,probability of stroke = yes"
    assert written[1].split(",")[1:3] == named[0].tolist()
    assert [float(cell) for cell in written[1].split(",")[3:]] == found[0].tolist()


def test_onnx_gives_our_probabilities(labels: Run) -> None:
    model = load_model(labels.path)
    with pytest.raises(ConfigurationError, match="must predict one label; this model has 2"):
        sklearn_file(model)
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(onnx_program(model))
    (shares, named) = session.run(["probabilities", "labels"], onnx_feeds(model, ROWS))
    np.testing.assert_allclose(shares, model.predict_proba(ROWS), atol=1e-5)
    assert named.tolist() == model.predict(ROWS).tolist()


def test_what_cannot_be_exported_is_one_line_that_names_the_cause() -> None:
    def fail() -> None:
        try:
            raise ValueError("\n\x1b[31mno function for aten.foo\x1b[0m.\nmore")
        except ValueError as error:
            raise RuntimeError("an advice of the exporter's") from error

    with pytest.raises(ConfigurationError) as refused, _one_line("ONNX cannot express the network"):
        fail()
    assert str(refused.value) == (
        "ONNX cannot express the network: ValueError: no function for aten.foo. "
        "Load it with discreet.load_model instead."
    )


def test_evaluate_measures_each_label_by_itself(
    labels: Run, labelled: Path, discreet: Callable[..., Said]
) -> None:
    found = json.loads(discreet("evaluate", labels.path, labelled, "--json").out)
    named, right = labels.predict(ROWS), np.stack([ROWS[name] for name in LABELS], axis=1)
    for place, own in enumerate(found["labels"]):
        yes = right[:, place] == "yes"
        assert own["accuracy"][0] == pytest.approx((named[:, place] == right[:, place]).mean())
        assert own["second"]["name"] == LABELS[place]
        assert own["second"]["records"] == yes.sum()
        assert own["second"]["recall"][0] == pytest.approx((named[yes, place] == "yes").mean())
    assert found["accuracy"][0] == pytest.approx((named == right).all(axis=1).mean())
    assert "each label" in discreet("evaluate", labels.path, labelled).out


def test_card_report_and_verification_speak_of_each_label(
    labels: Run, tmp_path: Path, discreet: Callable[..., Said]
) -> None:
    card, page, quality = told(labels, discreet, tmp_path)
    assert "Model *logistic, 2 labels*" in card
    assert "| Label stroke: base rate |" in card
    assert "Label by label" in page
    assert "stroke = yes" in page
    assert quality.labels is not None
    assert np.mean([own.accuracy.value for own in quality.labels]) == pytest.approx(
        labels.metrics[-1]["label_accuracy"]
    )
