"""A model of levels is predicted, measured, exported, described and verified as any classifier is."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from discreet.errors import ConfigurationError
from discreet.quality.levels import assess_levels
from discreet.released import load_model, onnx_program, sklearn_file, torch_program
from discreet.session import Frames, Run, Target, plan_training, train
from tests.unit.released.conftest import Said, told
from tests.unit.released.test_export import cells, onnx_feeds

LEVELS = ("mild", "moderate", "severe", "critical")


def table(count: int, seed: int) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    age, weight = draw.uniform(20, 90, count), draw.normal(75, 12, count).clip(41, 119)
    score = (age - 55) / 10 + (weight - 75) / 15 + draw.normal(0, 0.5, count)
    return {
        "age": age,
        "weight": weight,
        "sex": draw.choice(["f", "m"], count),
        "severity": np.array(LEVELS)[np.digitize(score, [-2, 0, 2])],
    }


@pytest.fixture(scope="session")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Run:
    tables = {name: table(200, seed) for seed, name in enumerate(("west", "north", "east"))}
    frames = Frames(tables, label="severity", classes=LEVELS, ranges={"age": (20, 90), "weight": (40, 120)},
                    categories={"sex": ("f", "m")})  # fmt: skip
    plan = plan_training(frames.public(capacity=220), target=Target(8.0), model="ordinal")
    return train(plan, frames, out=tmp_path_factory.mktemp("levels") / "run", seed=3, compare=True)


ROWS = {name: values.tolist() for name, values in table(40, 9).items()}


def test_it_learns_and_says_how_many_levels_it_is_off(levels: Run) -> None:
    last = levels.metrics[-1]
    assert last["accuracy"] > last["base_rate"] + 0.1
    assert last["level_error"] < 0.6 * last["constant_level_error"]


def test_the_shares_of_the_levels_are_probabilities(levels: Run) -> None:
    found = levels.predict_proba(ROWS)
    assert found.shape == (40, 4)
    assert (found > 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-6)
    assert levels.predict(ROWS).tolist() == np.array(LEVELS)[found.argmax(axis=1)].tolist()
    assert load_model(levels.path).predict_proba(ROWS).tolist() == found.tolist()


def test_torch_and_onnx_give_our_probabilities(levels: Run) -> None:
    model = load_model(levels.path)
    with pytest.raises(ConfigurationError, match="it has none for levels in an order"):
        sklearn_file(model)
    program = torch.export.load(io.BytesIO(torch_program(model)))
    found = program.module()(*map(torch.from_numpy, cells(model, ROWS)))
    np.testing.assert_allclose(found.detach().numpy(), model.predict_proba(ROWS), atol=1e-5)
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(onnx_program(model))
    (shares, label) = session.run(["probabilities", "label"], onnx_feeds(model, ROWS))
    np.testing.assert_allclose(shares, model.predict_proba(ROWS), atol=1e-5)
    assert label.tolist() == model.predict(ROWS).tolist()


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    lines = [",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)]
    path = tmp_path / "labelled.csv"
    path.write_text("\n".join([",".join(ROWS), *lines]) + "\n")
    return path


def test_evaluate_counts_levels(levels: Run, labelled: Path, discreet: Callable[..., Said]) -> None:
    found = json.loads(discreet("evaluate", levels.path, labelled, "--json").out)
    named = levels.predict_proba(ROWS).argmax(axis=1)
    expected = assess_levels(named, np.array([LEVELS.index(text) for text in ROWS["severity"]]))
    assert found["levels"]["error"][0] == pytest.approx(expected.error.value)
    assert found["levels"]["kappa"] == pytest.approx(expected.kappa)
    text = discreet("evaluate", levels.path, labelled).out
    assert "levels off, mean" in text
    assert "agreement beyond chance (weighted kappa)" in text


def test_card_report_and_verification_speak_of_levels(
    levels: Run, tmp_path: Path, discreet: Callable[..., Said]
) -> None:
    card, page, quality = told(levels, discreet, tmp_path)
    assert "Model *ordinal regression*" in card
    assert "| Levels off, always the median |" in card
    assert "Levels off, mean" in page
    assert "Agreement beyond chance (weighted kappa)" in page
    assert quality.levels is not None
    assert quality.levels.error.value == pytest.approx(levels.metrics[-1]["level_error"])
