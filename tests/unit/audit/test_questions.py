"""Questions are attacked as trainings are: crafted units in and out, and noise too small is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.audit import EVALUATION, TRAINING, AuditSettings, CanaryFinding, NoiseFinding, audit, sides
from discreet.audit.canaries import record_canaries
from discreet.cli.app import app
from discreet.config import parse_config
from discreet.engines.local import Prepared, prepare
from discreet.privacy.adversary import ReleasedAnswers
from discreet.randomness import SeededRandom
from discreet.rounds import train_silo
from tests.unit.audit.test_planted_bugs import plant_half_the_noise

SETTINGS = AuditSettings(canaries=1200, trials=8, seed=3)
TABLE: dict[str, Any] = {"kind": "table", "of": ["sex", "cp", "exang"]}
REGRESSION: dict[str, Any] = {"kind": "linear-regression", "outcome": "thalach", "on": ["age", "cp"]}


def asked(questions: list[dict[str, Any]], mechanism: str, epsilon: float) -> Prepared:
    tables = {
        "data": {"source": "heart-disease", "record_capacity": 320},
        "ask": questions,
        "privacy": {"epsilon": epsilon, "delta": 1e-5, "mechanism": mechanism},
        "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
    }
    return prepare(parse_config(tables, source="test"))


def of_persons(folder: Path) -> Prepared:
    """Six visits at most of each person, at four silos."""
    for silo, first in (("north", 0), ("south", 60), ("east", 120), ("west", 180)):
        rows = [f"p{first + row // 3},{row % 2},{20 + row % 50}" for row in range(90)]
        (folder / f"{silo}.csv").write_text("\n".join(["person,smokes,age", *rows]) + "\n")
    tables = {
        "data": {
            "source": f"csv:{folder}/",
            "ranges": {"age": [20, 70]},
            "categories": {"smokes": ["0", "1"]},
            "person": {"column": "person", "capacity": 80, "most_records": 6},
        },
        "ask": [{"kind": "quantiles", "of": "age"}],
        "privacy": {"unit": "person", "epsilon": 3.0, "delta": 1e-5},
        "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
    }
    return prepare(parse_config(tables, source="test"))


@pytest.fixture(scope="module", params=["laplace", "gaussian", "persons"])
def questions(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    if request.param == "persons":
        return of_persons(tmp_path_factory.mktemp("persons"))
    if request.param == "laplace":
        return asked([TABLE], "discrete-laplace", 2.0)
    return asked([TABLE, REGRESSION], "rounded-gaussian", 3.0)


def test_crafted_units_move_the_sum_as_far_as_is_claimed(questions: Prepared) -> None:
    plan = questions.plan
    canaries = record_canaries(plan, questions.model, 4, SeededRandom(1))
    (longest, *_) = sorted(
        (
            float(
                np.linalg.norm(
                    train_silo(
                        plan,
                        canaries.owner,
                        1,
                        model=questions.model,
                        parameters=np.zeros(plan.facts.dimension),
                        records=canaries.unit(number),
                        randomness=SeededRandom(0),
                    ).vector
                )
            )
            for number in range(canaries.count)
        ),
        reverse=True,
    )
    assert canaries.count == 4
    claimed = plan.silo_training(canaries.owner).l2_sensitivity()
    assert 0.99 * claimed < longest <= claimed


def test_an_honest_query_passes_and_too_little_noise_is_found(
    questions: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = audit(questions, SETTINGS)
    assert not [finding for finding in honest if finding.exceeded]
    guessed = [finding for finding in honest if isinstance(finding, CanaryFinding)]
    assert {finding.canaries for finding in guessed} == {"gradient-space", "input-space"}
    assert ReleasedAnswers() in {finding.claim.adversary for finding in guessed}
    plant_half_the_noise(monkeypatch)
    failed = [finding for finding in audit(questions, SETTINGS) if finding.exceeded]
    assert any(isinstance(finding, NoiseFinding) for finding in failed)
    found = {finding.canaries for finding in failed if isinstance(finding, CanaryFinding)}
    assert "gradient-space" in found
    # Where records are in cells, one against all others; sums of products overlap.
    assert questions.plan.privacy.mechanism != "discrete-laplace" or "input-space" in found


def test_evaluations_are_attacked_beside_their_training() -> None:
    tables = {
        "data": {"source": "heart-disease", "record_capacity": 260, "test_fraction": 0.25},
        "training": {"rounds": 2, "local": {"kind": "stable-steps", "learning_rate": 0.03, "steps": 4}},
        "privacy": {"epsilon": 2.0, "delta": 1e-5},
        "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
        "evaluate": {"every": 2, "epsilon": 3.0, "bins": 4},
    }
    prepared = prepare(parse_config(tables, source="test"))
    found = sides(prepared, SeededRandom(0))
    assert list(found) == [TRAINING, EVALUATION]
    claims = {side: one.plan.guarantees[-1].epsilon for side, one in found.items()}
    assert claims[TRAINING] < prepared.plan.guarantees[-1].epsilon == claims[EVALUATION]
    held_out = found[EVALUATION].federation
    assert sum(len(silo.train) for silo in held_out.silos) < 260
    findings = audit(found[EVALUATION], SETTINGS)
    assert not [finding for finding in findings if finding.exceeded]


def test_the_command_attacks_a_file_of_questions(tmp_path: Path) -> None:
    path = tmp_path / "ask.toml"
    path.write_text(
        '[data]\nsource = "heart-disease"\nrecord_capacity = 320\n\n'
        '[[ask]]\nkind = "table"\nof = ["sex", "cp"]\n\n[privacy]\nepsilon = 1.0\ndelta = 1e-5\n'
    )
    few = ["--canaries", "64", "--trials", "8", "--quiet", "--json"]
    result = CliRunner().invoke(app, ["audit", str(path), *few])
    assert result.exit_code == 0, result.output
    kinds = {finding["kind"] for finding in json.loads(result.output)["findings"]}
    assert kinds == {"CanaryFinding", "NoiseFinding", "PostProcessingFinding", "SensitivityFinding"}


def test_the_command_attacks_a_training_that_is_evaluated_more_than_once(tmp_path: Path) -> None:
    path = tmp_path / "evaluated.toml"
    path.write_text(
        '[data]\nsource = "heart-disease"\nrecord_capacity = 260\ntest_fraction = 0.25\n\n'
        '[training]\nrounds = 2\nlocal = { kind = "stable-steps", learning_rate = 0.03, steps = 4 }\n\n'
        "[privacy]\nepsilon = 2.0\ndelta = 1e-5\n\n[evaluate]\nevery = 1\nepsilon = 3.0\nbins = 2\n"
    )
    few = ["--canaries", "64", "--trials", "8", "--quiet"]
    result = CliRunner().invoke(app, ["audit", str(path), *few], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    training, evaluations = result.output.split("audit of the evaluations of")
    table, _, lines = evaluations.partition("ε ≥:")
    assert "interrupted" in training
    assert "noise law" in table
    assert "interrupted" not in table
    assert "An interruption was attacked in the rounds of the training alone" in lines
