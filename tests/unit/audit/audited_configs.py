"""Configs that several audit tests start from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.config import parse_config
from discreet.engines.local import Prepared, prepare

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"

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


def noisy_steps(epsilon: float, *accepted: str, steps: int = 5) -> Prepared:
    """Noisy local steps of 30 silos, at the local guarantee or, by opt-in, at the published claim."""
    data = DIGITS["data"] | {"record_capacity": 60, "partition": {"kind": "iid", "silos": 30}}
    training = {"rounds": 2, "local": {"kind": "noisy-steps", "learning_rate": 0.01, "steps": steps}}
    privacy = {
        "epsilon": epsilon,
        "delta": 1e-5,
        "clip_norm": 1.0,
        "accept_assumptions": list(accepted),
        # The published claim counts every share of noise.
        "against": "outsiders",
    }
    aggregation = {"protocol": "ideal"}
    changed = {"data": data, "training": training, "privacy": privacy, "aggregation": aggregation}
    return prepare(parse_config(DIGITS | changed, source="test"))
