"""Small federations for audits, summed by the oracle, and their plans."""

from __future__ import annotations

import pytest

from discreet.config import load_config, parse_config
from discreet.engines.local import Prepared, prepare
from tests.unit.audit.audited_configs import DIGITS, HEART


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
    model = {"name": "tests.unit.audit.small_network:network"}
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
        "local": {"kind": "sharded", "learning_rate": 0.5, "groups": 20, "batch_size": 4},
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
def fixed_size(sampled: Prepared) -> Prepared:
    """`sampled`, but the same number of records takes part in every round; their numbers are public."""
    records = {silo.name: len(silo.train) for silo in sampled.federation.silos}
    config = sampled.config.model_dump(mode="json", exclude_none=True)
    config["data"]["record_capacity"] = records
    config["training"]["sampling"] = {"kind": "fixed-size", "fraction": 0.25}
    return prepare(parse_config(config, source="test"))


@pytest.fixture(scope="session")
def noise_first() -> Prepared:
    """The digits' plan on the coarse grid of noise that is added before rounding."""
    aggregation = DIGITS["aggregation"] | {"noise_first": True}
    return prepare(parse_config(DIGITS | {"aggregation": aggregation}, source="test"))
