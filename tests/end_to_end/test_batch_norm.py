"""A network with batch norm through the whole walk: the same bits, verified, and used by its statistics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from discreet.config import Config, load_config
from discreet.engines.local import LocalEngine, Opening, RunResult, run
from discreet.kinds import ClippedUpdateConfig, ShardedConfig
from discreet.kinds.model_facts import LEAST_VARIANCE
from discreet.privacy.units import Status
from discreet.released import load_model, torch_program
from discreet.rounds import RoundOrder, RoundSum
from discreet.session import open_run
from discreet.session.finish import finish

CHANNELS = 4
HEART = Path(__file__).parents[1] / "support" / "tuned_heart.toml"


def normalised(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    (features,) = feature_shape
    layers = (
        nn.Linear(features, CHANNELS),
        nn.BatchNorm1d(CHANNELS),
        nn.ReLU(),
        nn.Linear(CHANNELS, num_classes),
    )
    return nn.Sequential(*layers)


def config(heart: Config, *, workers: int = 1) -> Config:
    """Three rounds of a network with batch norm in random groups."""
    local = ShardedConfig(kind="sharded", groups=10, learning_rate=0.5, epochs=2)
    return heart.model_copy(
        update={
            "model": heart.model.model_copy(update={"name": f"{__name__}:normalised"}),
            "training": heart.training.model_copy(update={"local": local, "rounds": 3}),
            "privacy": heart.privacy.model_copy(update={"clip_norm": 1.0, "epsilon": 8.0}),
            "speed": heart.speed.model_copy(update={"workers": workers}),
            "run": heart.run.model_copy(update={"seed": 11, "compare": False, "dropouts": ()}),
        }
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return run(config(load_config(HEART)), tmp_path_factory.mktemp("batch-norm") / "run")


def test_its_statistics_are_released_with_its_weights(finished: RunResult) -> None:
    plan, model = finished.plan, load_model(finished.directory.model, own_code=True)
    assert plan.facts.batch_norm_channels == CHANNELS
    assert plan.spent(plan.rounds).status is Status.PROVEN
    assert isinstance(model.network, nn.Sequential)
    layer = model.network[1]
    assert isinstance(layer, nn.BatchNorm1d)
    assert layer.running_mean is not None
    assert layer.running_var is not None
    # Noise alone moves every one of them.
    assert (layer.running_mean != 0).all()
    assert (layer.running_var != 1).all()
    assert (layer.running_var >= np.float32(LEAST_VARIANCE)).all()


def test_it_answers_each_record_by_itself(finished: RunResult) -> None:
    model = load_model(finished.directory.model, own_code=True)
    rows = torch.randn(5, *finished.plan.facts.feature_shape)
    with torch.no_grad():
        together = model.network(rows)
        alone = torch.cat([model.network(row[None]) for row in rows])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert b"running_mean" in torch_program(model)


def test_it_is_verified_from_its_files(finished: RunResult) -> None:
    finish(finished, None)
    run_files = open_run(finished.directory.path, own_code=True)
    found = {finding.subject: finding.basis.value for finding in run_files.verify()}
    assert found["model, state"] == "recomputed", found


def test_workers_give_the_same_bits(finished: RunResult, heart: Config, tmp_path: Path) -> None:
    shared = run(config(heart, workers=2), tmp_path / "run")
    assert shared.directory.model.read_bytes() == finished.directory.model.read_bytes()


def test_an_interrupted_training_ends_as_it_would_have(
    finished: RunResult, heart: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = LocalEngine.sum_round

    def interrupted(self: LocalEngine, order: RoundOrder) -> RoundSum:
        if order.release == 3:
            raise KeyboardInterrupt
        return honest(self, order)

    monkeypatch.setattr(LocalEngine, "sum_round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(config(heart), tmp_path / "run")
    monkeypatch.setattr(LocalEngine, "sum_round", honest)
    resumed = run(config(heart), tmp_path / "run", opening=Opening.RESUME)
    # The interrupted round is charged, and what came before it is what the other run released.
    assert resumed.spending.charged == 3
    assert [made.release for made in resumed.spending.completed] == [1, 2]
    assert np.isfinite(list(resumed.metrics.values())).all()


def test_a_client_may_have_it_too(heart: Config, tmp_path: Path) -> None:
    base = config(heart)
    local = ClippedUpdateConfig(kind="clipped-update", learning_rate=0.5)
    training = base.training.model_copy(update={"local": local, "rounds": 1})
    privacy = base.privacy.model_copy(update={"unit": "client", "epsilon": 20.0})
    result = run(base.model_copy(update={"training": training, "privacy": privacy}), tmp_path / "run")
    assert result.plan.facts.batch_norm_channels == CHANNELS
    assert result.plan.spent(1).status is Status.PROVEN
