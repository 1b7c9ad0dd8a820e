"""Every local kind and unit of the ground slice, on the real data, through the whole walk."""

from pathlib import Path
from typing import Any

import pytest

from discreet.config import Config
from discreet.engines.local import Opening, run
from discreet.errors import UnsupportedAnalysisError
from discreet.kinds import (
    AdaptiveConfig,
    ClippedUpdateConfig,
    LocalConfig,
    MomentumConfig,
    MuonConfig,
    NoisyStepsConfig,
    PoissonConfig,
    SamplingConfig,
    ServerConfig,
    ShardedConfig,
    SingleStepConfig,
    SmoothingConfig,
    TangentStepsConfig,
)
from discreet.kinds import NoSamplingConfig as Everyone
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.events import SampledChange
from discreet.privacy.units import Status, Unit


def variant(heart: Config, local: LocalConfig, sampling: SamplingConfig, **privacy: Any) -> Config:
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


def test_sharded_trains_a_network_with_a_proven_guarantee(heart: Config, tmp_path: Path) -> None:
    local = ShardedConfig(kind="sharded", groups=20, learning_rate=0.5, epochs=2)
    config = variant(heart, local, Everyone(), clip_norm=0.5, epsilon=8.0)
    config = config.model_copy(update={"model": config.model.model_copy(update={"name": "mlp"})})
    result = run(config, tmp_path / "run")
    spent = result.plan.spent(result.plan.rounds)
    assert spent.status is Status.PROVEN
    assert 7.8 < spent.epsilon <= 8.0
    assert result.plan.release.change is SampledChange.REPLACED


@pytest.mark.parametrize("accepted", [(), ("independent-local-state",)])
def test_noisy_steps_are_proven_locally_and_conditional_at_the_sum(
    heart: Config, tmp_path: Path, accepted: tuple[str, ...]
) -> None:
    local = NoisyStepsConfig(kind="noisy-steps", learning_rate=0.01, steps=3, momentum=0.5)
    config = variant(
        heart, local, PoissonConfig(kind="poisson", probability=0.5),
        clip_norm=1.0, epsilon=2.0, accept_assumptions=accepted,
    )  # fmt: skip
    result = run(config, tmp_path / "run")
    plan = result.plan
    spent = plan.spent(plan.rounds)
    local_rows = [row for row in plan.guarantees if isinstance(row.adversary, WithoutSecureAggregation)]
    assert 1.95 < spent.epsilon <= 2.0
    assert all(row.status is Status.PROVEN for row in local_rows)
    if accepted:
        assert spent.status is Status.CONDITIONAL
        assert any("unreleased state" in text for text in spent.assumptions)
        assert all(row.epsilon > 2.2 for row in local_rows)
    else:
        assert spent.status is Status.PROVEN
        assert all(row.epsilon == pytest.approx(spent.epsilon) for row in local_rows)
    assert result.metrics["auc"] > 0.6


@pytest.mark.parametrize("protocol", ["ideal", "bonawitz"])
def test_the_weighted_integers_of_noisy_steps_survive_secure_aggregation(
    heart: Config, tmp_path: Path, protocol: str
) -> None:
    local = NoisyStepsConfig(kind="noisy-steps", learning_rate=0.01, steps=2, momentum=0.5)
    config = variant(heart, local, Everyone(), clip_norm=1.0, epsilon=200.0)
    config = config.model_copy(
        update={"aggregation": config.aggregation.model_copy(update={"protocol": protocol})}
    )
    result = run(config, tmp_path / "run")
    assert result.metrics["auc"] > 0.8


def test_an_assumption_that_nothing_needs_is_refused(heart: Config, tmp_path: Path) -> None:
    config = heart.model_copy(
        update={
            "privacy": heart.privacy.model_copy(update={"accept_assumptions": ("independent-local-state",)})
        }
    )
    with pytest.raises(UnsupportedAnalysisError, match="accept_assumptions"):
        run(config, tmp_path / "run")


@pytest.mark.parametrize(
    "server",
    [
        AdaptiveConfig(kind="adam", learning_rate=0.3, adaptivity=0.05),
        MomentumConfig(kind="momentum", momentum=0.5, decay=0.9, smoothing=SmoothingConfig(sigma=0.5)),
        MuonConfig(kind="muon", learning_rate=0.2, momentum=0.5, decay=0.8, shapes=((1, 16),)),
    ],
    ids=lambda server: server.kind,
)
def test_server_rules_are_free_and_survive_a_resume(
    heart: Config, tmp_path: Path, server: ServerConfig
) -> None:
    config = heart.model_copy(update={"training": heart.training.model_copy(update={"server": server})})
    result = run(config, tmp_path / "run")
    assert [row.epsilon for row in result.plan.guarantees] == pytest.approx(
        [row.epsilon for row in run(heart, tmp_path / "plain").plan.guarantees]
    )
    assert result.metrics["auc"] > 0.7
    again = run(config, tmp_path / "run", opening=Opening.RESUME)
    assert again.metrics == result.metrics


def test_tangent_steps_train_a_network_with_a_proven_guarantee(heart: Config, tmp_path: Path) -> None:
    local = TangentStepsConfig(kind="tangent-steps", learning_rate=0.004, steps=4)
    config = variant(heart, local, Everyone(), clip_norm=2.0, epsilon=8.0)
    config = config.model_copy(update={"model": config.model.model_copy(update={"name": "mlp"})})
    result = run(config, tmp_path / "run")
    plan = result.plan
    spent = plan.spent(plan.rounds)
    assert spent.status is Status.PROVEN
    assert 7.8 < spent.epsilon <= 8.0
    assert plan.release.change is SampledChange.ADDED_OR_REMOVED
    # γ·√2·C, twice the logits of a network for two classes; the rest is rounding to the grid
    assert plan.release.l2_sensitivity / plan.grid.scale == pytest.approx(0.004 * 2**0.5 * 2.0, rel=0.1)
    assert result.metrics["auc"] > 0.7
