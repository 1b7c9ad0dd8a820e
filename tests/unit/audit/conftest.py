"""Small federations for audits, summed by the oracle, and their plans."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config, parse_config
from discreet.engines.local import Prepared, prepare

sys.path.insert(0, str(Path(__file__).parent))

HEART = Path(__file__).parents[3] / "examples" / "heart.toml"

DIGITS: dict[str, Any] = {
    "name": "digits",
    "data": {"source": "digits", "record_capacity": 420, "partition": {"kind": "iid", "silos": 4}},
    "training": {
        "rounds": 3,
        "local": {"kind": "stable-steps", "learning_rate": 0.05, "records_per_step": 20},
    },
    "privacy": {"epsilon": 3.0, "delta": 1e-5},
    "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
}


@pytest.fixture(scope="session")
def heart() -> Prepared:
    config = load_config(HEART)
    oracle = config.aggregation.model_copy(update={"protocol": "ideal"})
    return prepare(config.model_copy(update={"aggregation": oracle}))


@pytest.fixture(scope="session")
def digits() -> Prepared:
    return prepare(parse_config(DIGITS, source="test"))


@pytest.fixture(scope="session")
def sampled() -> Prepared:
    """Single-step on a small network, records sampled."""
    training = {
        "rounds": 2,
        "local": {"kind": "single-step"},
        "sampling": {"kind": "poisson", "probability": 0.25},
    }
    privacy = {"epsilon": 4.0, "delta": 1e-5, "clip_norm": 1.0}
    model = {"name": "small_network:network"}
    return prepare(
        parse_config(DIGITS | {"training": training, "privacy": privacy, "model": model}, source="test")
    )


@pytest.fixture(scope="session")
def clients() -> Prepared:
    training = {"rounds": 2, "local": {"kind": "clipped-update", "learning_rate": 0.5}}
    privacy = {"unit": "client", "epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0}
    return prepare(parse_config(DIGITS | {"training": training, "privacy": privacy}, source="test"))


@pytest.fixture(scope="session")
def sharded() -> Prepared:
    training = {
        "rounds": 2,
        "local": {"kind": "sharded", "learning_rate": 0.5, "num_shards": 20, "batch_size": 4},
        "sampling": {"kind": "poisson", "probability": 0.5},
    }
    privacy = {"epsilon": 5.0, "delta": 1e-5, "clip_norm": 1.0}
    return prepare(parse_config(DIGITS | {"training": training, "privacy": privacy}, source="test"))


@pytest.fixture(scope="session")
def quantile() -> Prepared:
    """Single-step whose clipping norm follows a quantile, noise before rounding."""
    training = {
        "rounds": 2,
        "local": {"kind": "single-step"},
        "sampling": {"kind": "poisson", "probability": 0.25},
    }
    privacy = {"epsilon": 4.0, "delta": 1e-5, "clip_norm": {"quantile": 0.5, "initial": 1.0}}
    aggregation = DIGITS["aggregation"] | {"noise_first": True}
    changed = {"training": training, "privacy": privacy, "aggregation": aggregation}
    return prepare(parse_config(DIGITS | changed, source="test"))


@pytest.fixture(scope="session")
def noise_first() -> Prepared:
    """The digits' plan on the coarse grid of noise that is added before rounding."""
    aggregation = DIGITS["aggregation"] | {"noise_first": True}
    return prepare(parse_config(DIGITS | {"aggregation": aggregation}, source="test"))


def noisy_steps(epsilon: float, *accepted: str) -> Prepared:
    """Five noisy local steps of 30 silos, at the local guarantee or, by opt-in, at the published claim."""
    data = DIGITS["data"] | {"record_capacity": 60, "partition": {"kind": "iid", "silos": 30}}
    training = {"rounds": 2, "local": {"kind": "noisy-steps", "learning_rate": 0.01, "steps": 5}}
    privacy = {"epsilon": epsilon, "delta": 1e-5, "clip_norm": 1.0, "accept_assumptions": list(accepted)}
    aggregation = {"protocol": "ideal"}
    changed = {"data": data, "training": training, "privacy": privacy, "aggregation": aggregation}
    return prepare(parse_config(DIGITS | changed, source="test"))
