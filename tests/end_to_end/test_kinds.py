"""Every local kind and unit of the ground slice, on the real data, through the whole walk."""

from pathlib import Path

import pytest

from discreet.config import Config
from discreet.config.sections import (
    ClippedUpdateConfig,
    LocalConfig,
    PoissonConfig,
    SamplingConfig,
    SingleStepConfig,
)
from discreet.config.sections import NoSamplingConfig as Everyone
from discreet.engines.local import run
from discreet.privacy.units import Unit


def variant(heart: Config, local: LocalConfig, sampling: SamplingConfig, **privacy: object) -> Config:
    return heart.model_copy(
        update={
            "training": heart.training.model_copy(update={"local": local, "sampling": sampling}),
            "privacy": heart.privacy.model_copy(update=privacy),
        }
    )


@pytest.mark.parametrize("sampling", [Everyone(), PoissonConfig(kind="poisson", probability=0.5)])
def test_single_step_learns(heart: Config, tmp_path: Path, sampling: SamplingConfig) -> None:
    config = variant(heart, SingleStepConfig(kind="single-step"), sampling, clip_norm=1.0)
    fast = config.training.model_copy(
        update={"server": config.training.server.model_copy(update={"learning_rate": 4.0})}
    )
    result = run(config.model_copy(update={"training": fast}), tmp_path / "run")
    assert result.plan.spent(result.plan.rounds).epsilon <= 1.0
    assert result.metrics["auc"] > 0.75


def test_clipped_update_protects_whole_silos_and_says_so(heart: Config, tmp_path: Path) -> None:
    local = ClippedUpdateConfig(kind="clipped-update", learning_rate=0.5, epochs=2)
    config = variant(heart, local, Everyone(), unit="client", clip_norm=1.0, epsilon=20.0)
    result = run(config, tmp_path / "run")
    assert all(row.unit is Unit.CLIENT for row in result.plan.guarantees)
    assert 19.0 < result.plan.spent(result.plan.rounds).epsilon <= 20.0
    assert result.metrics["auc"] > 0.6


def test_a_run_without_a_seed_is_secure_and_never_repeats(heart: Config, tmp_path: Path) -> None:
    config = heart.model_copy(update={"run": heart.run.model_copy(update={"seed": None})})
    first, second = (run(config, tmp_path / name) for name in ("first", "second"))
    assert not first.seeded
    assert first.directory.model.read_bytes() != second.directory.model.read_bytes()


def test_a_seeded_run_repeats(heart: Config, tmp_path: Path) -> None:
    first, second = (run(heart, tmp_path / name) for name in ("first", "second"))
    assert first.seeded
    assert first.directory.model.read_bytes() == second.directory.model.read_bytes()


def test_a_rotated_ring_is_not_wider_and_gives_nearly_the_same_model(heart: Config, tmp_path: Path) -> None:
    single = SingleStepConfig(kind="single-step")
    plain = variant(heart, single, Everyone(), clip_norm=1.0, epsilon=20.0)
    rotated = plain.model_copy(
        update={"aggregation": plain.aggregation.model_copy(update={"rotation": True})}
    )
    flat, spread = run(plain, tmp_path / "flat"), run(rotated, tmp_path / "spread")
    assert spread.plan.grid.rotated
    assert spread.plan.grid.bits <= flat.plan.grid.bits
    assert spread.metrics["auc"] == pytest.approx(flat.metrics["auc"], abs=0.03)
