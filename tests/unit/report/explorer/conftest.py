"""An exploration around the bundled example."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.config import load_config
from discreet.engines.local import Prepared, prepare
from discreet.report.exploration import Exploration, explore

HEART = Path(__file__).parents[3] / "support" / "tuned_heart.toml"


@pytest.fixture(scope="session")
def prepared() -> Prepared:
    """The example, planned."""
    return prepare(load_config(HEART))


@pytest.fixture(scope="session")
def exploration(prepared: Prepared) -> Exploration:
    """What the explorer shows for the example."""
    return explore(prepared.config, prepared.plan)
