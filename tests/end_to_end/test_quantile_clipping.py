"""A clipping norm that follows a quantile, through the whole walk on bundled data."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import Config, parse_config
from discreet.engines.local import Opening, RunResult, prepare, run
from discreet.kinds import ClippedUpdate
from discreet.learning import counted_update
from discreet.randomness import SeededRandom
from discreet.report import collect
from discreet.rounds import RunDirectory, train_silo
from discreet.session.finish import finish
from discreet.verify import verify

Kept = tuple[Config, RunResult]

TRAINING: dict[str, Any] = {
    "record": {
        "data": {
            "source": "heart-disease",
            "record_capacity": {"cleveland": 240, "hungary": 210, "switzerland": 50, "long_beach_va": 110},
        },
        "training": {"rounds": 60, "local": {"kind": "single-step"}},
        "privacy": {
            "noise_multiplier": 5.0,
            "delta": 1e-5,
            "clip_norm": {"quantile": 0.5, "initial": 20.0, "learning_rate": 0.3},
        },
    },
    "client": {
        "data": {
            "source": "digits",
            "record_capacity": 60,
            "partition": {"kind": "iid", "silos": 60},
        },
        "training": {
            "rounds": 40,
            "local": {"kind": "clipped-update", "learning_rate": 0.1, "batch_size": 8},
            "sampling": {"kind": "poisson", "probability": 0.8},
        },
        "privacy": {
            "unit": "client",
            "noise_multiplier": 1.0,
            "delta": 1e-3,
            "clip_norm": {"quantile": 0.5, "initial": 0.005, "learning_rate": 0.5, "weight": 1.0},
        },
    },
}


def configured(unit: str, **aggregation: Any) -> Config:
    common = {
        "aggregation": {"protocol": "ideal", **aggregation},
        "run": {"seed": 3, "evaluate": False},
        "speed": {"workers": 1},  # to start more takes longer than all rounds
    }
    return parse_config({**TRAINING[unit], **common})


def norms(result: RunResult) -> list[float]:
    return [line["clip_norm"] for line in result.directory.read_metrics()]


def share_within(config: Config, directory: RunDirectory, norm: float) -> float:
    """Which share of all units would not be clipped at ``norm`` by the released model, without noise."""
    prepared = prepare(config)
    weights, within, units = directory.load_state().arrays["parameters"], 0, 0
    for silo in prepared.federation.silos:
        training = prepared.plan.silo_training(silo.name)
        kind = training.at(norm).kind
        if isinstance(kind, ClippedUpdate):
            kind = dataclasses.replace(kind, sampling_prob=1.0)
        counted = counted_update(kind, prepared.model, weights, silo.train, SeededRandom(1))
        within, units = within + counted.within, units + counted.update.batch
    return within / units


@pytest.fixture(scope="module")
def record_run(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    config = configured("record")
    return config, run(config, tmp_path_factory.mktemp("record") / "run")


def test_the_norm_finds_the_median_of_the_records(record_run: Kept) -> None:
    """From twenty times too far away; the noise on one share is 0.02, so 0.1 are many standard errors."""
    config, result = record_run
    assert norms(result)[0] == 20.0
    assert norms(result)[-1] < 4.0
    late = float(np.exp(np.mean(np.log(norms(result)[-10:]))))
    assert share_within(config, result.directory, late) == pytest.approx(0.5, abs=0.1)


def test_the_norm_finds_the_median_of_the_clients(tmp_path: Path) -> None:
    config = configured("client")
    result = run(config, tmp_path / "run")
    late = float(np.exp(np.mean(np.log(norms(result)[-10:]))))
    assert late > 5 * norms(result)[0]
    assert share_within(config, result.directory, late) == pytest.approx(0.5, abs=0.15)


def test_the_run_can_be_verified_and_its_report_shows_the_norm(record_run: Kept) -> None:
    _, result = record_run
    finish(result, None)
    assert "model, state" in [finding.subject for finding in verify(result.directory.path)]
    shown = collect(result.directory.path)
    assert [outcome.clip_norm for outcome in shown.completed] == norms(result)
    fact = next(fact for fact in shown.facts if fact.label == "Clipping")
    assert "0.5 quantile of what one record contributes" in fact.value
    assert any("andrew2021" in citation.bibtex for citation in shown.citations)


def short(**aggregation: Any) -> Config:
    config = configured("record", **aggregation)
    return config.model_copy(update={"training": config.training.model_copy(update={"rounds": 4})})


@pytest.mark.parametrize(
    "aggregation", [{"rotation": True}, {"noise_first": True}, {"protocol": "bonawitz"}], ids=str
)
def test_every_way_to_aggregate_carries_the_count(tmp_path: Path, aggregation: dict[str, Any]) -> None:
    """Far above all norms nearly every record is within, so the norm falls at nearly its full rate."""
    found = norms(run(short(**aggregation), tmp_path / "run"))
    steps = np.diff(np.log(found))
    assert np.all(np.abs(steps + 0.3 * 0.5) < 0.05)


def test_an_interrupted_run_goes_on_with_the_norm_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = short()
    whole = run(config, tmp_path / "whole")
    real = RunDirectory.append_metrics

    def stops(self: RunDirectory, line: dict[str, object]) -> None:
        real(self, line)
        if line["release"] == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunDirectory, "append_metrics", stops)
        with pytest.raises(KeyboardInterrupt):
            run(config, tmp_path / "parts")
    resumed = run(config, tmp_path / "parts", opening=Opening.RESUME)
    assert norms(resumed)[:3] == norms(whole)[:3]
    assert len(norms(resumed)) == 4


def test_a_silo_trains_at_the_norm_that_follows_the_weights() -> None:
    prepared = prepare(short())
    weights = np.zeros(prepared.plan.facts.dimension)
    vectors = [
        train_silo(
            prepared.plan,
            "cleveland",
            1,
            model=prepared.model,
            parameters=np.append(weights, norm),
            records=prepared.federation.silo("cleveland").train,
            randomness=SeededRandom(2),
        ).vector
        for norm in (0.2, 20.0)
    ]
    assert len(vectors[0]) == prepared.plan.grid.dimension
    assert vectors[0][-1] < vectors[1][-1]
    assert np.linalg.norm(vectors[0][:-1]) > 5 * np.linalg.norm(vectors[1][:-1])
