"""An additive model from tables in memory: it learns what no line can, and keeps to the plan's bins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.errors import ConfigurationError
from discreet.session import Frames, Target, plan_training, train


def table(rows: int, seed: int) -> dict[str, Any]:
    """Who is of middle age is ill: the two ends of the line are alike."""
    ages = np.random.default_rng(seed).uniform(20, 90, rows)
    return {"age": ages.tolist(), "ill": (np.abs(ages - 55) < 17.5).astype(int).tolist()}


def frames(**stated: Any) -> Frames:
    tables = {name: table(400, place) for place, name in enumerate("abc")}
    return Frames(tables, label="ill", ranges={"age": (20, 90)}, **stated)


def test_bins_learn_a_hump_and_other_bins_than_the_plans_are_refused(tmp_path: Path) -> None:
    records, fresh = frames(bins={"age": 8}), table(1000, 9)
    plan = plan_training(records.public(capacity=500), target=Target(4.0))
    run = train(plan, records, out=tmp_path / "run", seed=1)
    assert (np.asarray(run.predict(fresh)) == np.array(fresh["ill"])).mean() > 0.7
    with pytest.raises(ConfigurationError, match="'bins' of the records must be the plan's"):
        train(plan, frames(), out=tmp_path / "other", seed=1)
