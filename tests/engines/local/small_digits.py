"""Small federations of handwritten digits for the local engine, one for each way to train."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.config import parse_config
from discreet.engines.local import Prepared, prepare
from discreet.models import flatten
from discreet.rounds import initial_state

KINDS: dict[str, dict[str, Any]] = {
    "linear": {
        "model": {"name": "logistic"},
        "training": {"rounds": 3, "local": {"kind": "stable-steps", "learning_rate": 0.01, "steps": 8}},
        "privacy": {"epsilon": 3.0, "delta": 1e-5},
    },
    "clipped": {
        "model": {"name": "mlp"},
        "training": {
            "rounds": 3,
            "local": {"kind": "single-step"},
            "sampling": {"kind": "poisson", "probability": 0.5},
        },
        "privacy": {"epsilon": 3.0, "delta": 1e-5, "clip_norm": 1.0},
    },
    "noisy": {
        "model": {"name": "logistic"},
        "training": {
            "rounds": 3,
            "local": {"kind": "noisy-steps", "learning_rate": 0.01, "steps": 2},
            "sampling": {"kind": "poisson", "probability": 0.25},
        },
        "privacy": {"epsilon": 20.0, "delta": 1e-5, "clip_norm": 1.0},
    },
    "quantile": {
        "model": {"name": "mlp"},
        "training": {"rounds": 3, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 3.0, "delta": 1e-5, "clip_norm": {"quantile": 0.5, "initial": 1.0}},
    },
    "local-sgd": {
        "model": {"name": "mlp"},
        "training": {"rounds": 3, "local": {"kind": "clipped-update", "learning_rate": 0.5}},
        "privacy": {"unit": "client", "epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0},
    },
}


def announced(made: Prepared, shift: float = 0.0) -> npt.NDArray[np.float64]:
    """What a round from the initial weights starts from, every weight moved by ``shift``."""
    return initial_state(made.plan, flatten(made.model) + shift).announced()


def prepared(kind: str, **tables: dict[str, Any]) -> Prepared:
    """Three unequal silos of digits, seeded, ready to train."""
    base = {
        "name": "digits",
        "data": {
            "source": "digits",
            "record_capacity": 1200,
            "partition": {"kind": "dirichlet", "silos": 3, "alpha": 1.0},
        },
        "aggregation": {"protocol": "ideal", "min_survivors": 3},
        "run": {"seed": 5, "evaluate": False},
    }
    return prepare(parse_config(base | KINDS[kind] | tables, source="test"))
