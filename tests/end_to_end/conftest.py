"""The bundled federation with a small, seeded config: real data, real keys, few rounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.config import Config, load_config

HEART = Path(__file__).parents[1] / "support" / "tuned_heart.toml"


@pytest.fixture
def heart() -> Config:
    """The demo's hospitals with few rounds, seeded, without the comparison models."""
    config = load_config(HEART)
    return config.model_copy(update={"run": config.run.model_copy(update={"seed": 11, "compare": False})})


def with_protocol(config: Config, protocol: str) -> Config:
    """Returns ``config`` summed by another protocol."""
    return config.model_copy(
        update={"aggregation": config.aggregation.model_copy(update={"protocol": protocol})}
    )
