"""A network trains where a silo has no records, and where a draw takes none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet.session import Frames, Target, plan_training, train


def test_a_silo_without_records_and_empty_draws_train_a_network(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    tables = {
        name: {"age": draw.uniform(20, 90, count), "ill": np.resize(["no", "yes"], count)}
        for name, count in (("west", 10), ("north", 0), ("east", 10))
    }
    frames = Frames(tables, label="ill", classes=("no", "yes"), ranges={"age": (20, 90)})
    plan = plan_training(
        frames.public(capacity=12),
        target=Target(8.0),
        model="mlp",
        local={"kind": "single-step"},
        privacy={"clip_norm": 1.0},
        sampling={"kind": "poisson", "probability": 0.01},
        rounds=2,
    )
    with pytest.warns(UserWarning, match="'north': NO TRAINING RECORD"):
        run = train(plan, frames, out=tmp_path / "run", seed=3)
    assert run.metrics[-1]["training_loss"] == 0.0, "of this seed the last round draws nobody"
    assert run.verify()
