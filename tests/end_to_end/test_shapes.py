"""The band in the report against trainings that are repeated with other noise, on the bundled hospitals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.config import Config, load_config
from discreet.engines.local import run
from discreet.kinds import StableStepsConfig
from discreet.plan.weight_noise import weight_noise
from discreet.report.shapes import NORMAL_95
from discreet.rounds import read_record
from discreet.session import open_run

ROOT = Path(__file__).parents[2]
ADDITIVE = "examples/heart_additive.toml"
SEEDS = 40


def repeated(name: str, seed: int) -> Config:
    """A config with sums that are not masked, which changes nothing in them, and noise from a seed."""
    config = load_config(ROOT / name)
    aggregation = config.aggregation.model_copy(update={"protocol": "ideal", "mode": "semi-honest"})
    speed = config.run.model_copy(update={"seed": seed, "compare": False})
    return config.model_copy(update={"aggregation": aggregation, "run": speed})


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", [ADDITIVE, "tests/support/tuned_heart.toml"])
def test_trainings_with_other_noise_lie_within_the_band_and_use_it(tmp_path: Path, name: str) -> None:
    """Seeds draw the order of records too, whose effect is small beside noise; the second has momentum."""
    ends = []
    for seed in range(SEEDS):
        record = read_record(run(repeated(name, seed), tmp_path / str(seed)).directory.path)
        ends.append(record.directory.load_state().arrays["parameters"])
    noise = weight_noise(record.plan, {done.release: done.survivors for done in record.spending.completed})
    assert noise is not None
    weights = np.array(ends)
    away = np.abs(weights - np.median(weights, axis=0))
    assert (away <= NORMAL_95 * noise.stddev).mean() >= 0.95
    spread = weights.std(axis=0, ddof=1) / noise.stddev
    # A band three times as wide as the noise would hide what the model has learned.
    assert spread.min() >= 1 / 3
    assert 0.5 <= np.median(spread) <= 1.0


@pytest.mark.statistical
def test_where_training_hardly_reacts_the_band_is_exact(tmp_path: Path) -> None:
    """12 trainings of 344 weights: the mean square is off by more than 12 % once in 10^6, if all is right."""
    bins = {"age": 45, "trestbps": 45, "chol": 80, "thalach": 120, "oldpeak": 30}
    steps = StableStepsConfig(kind="stable-steps", learning_rate=1e-4, steps="each")
    ends = []
    for seed in range(12):
        config = repeated(ADDITIVE, seed)
        training = config.training.model_copy(update={"rounds": 3, "local": steps})
        data = config.data.model_copy(update={"bins": bins})
        config = config.model_copy(update={"training": training, "data": data})
        record = read_record(run(config, tmp_path / str(seed)).directory.path)
        ends.append(record.directory.load_state().arrays["parameters"])
    noise = weight_noise(record.plan, {done.release: done.survivors for done in record.spending.completed})
    assert noise is not None
    assert np.var(ends, axis=0, ddof=1).mean() == pytest.approx(noise.stddev**2, rel=0.12)


def test_a_program_reads_the_curves(tmp_path: Path) -> None:
    run(repeated(ADDITIVE, 1), tmp_path / "run")
    shapes = open_run(tmp_path / "run").shapes()
    assert shapes.factors == (1.0, 1.0)
    assert shapes.proven
    assert len(shapes.of("1")) == 10
