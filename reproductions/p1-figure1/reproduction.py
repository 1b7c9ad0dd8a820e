"""Heikkilä (2025), Figure 1: Fashion-MNIST over ten silos, one local step a round against many."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subsets

from discreet.config import load_config
from discreet.reproduction import Cell, Computed, Context, Scale, Skipped, accuracy, changed

IMAGES = "fashion_mnist.npz"


@dataclass(frozen=True)
class Size:
    """How large the federation is; fewer records get a larger ε in proportion."""

    every: int
    epsilon: float
    capacity: int
    steps: int
    rate: float


SIZES = {Scale.SMALL: Size(10, 10.0, 600, 150, 0.12), Scale.FULL: Size(1, 1.0, 5800, 176, 0.045)}


def cells(context: Context) -> Iterator[Cell]:
    """Linear heads by all three methods; at full scale also scattering features, our best."""
    source, size = context.file(IMAGES), SIZES[context.scale]
    methods: dict[str, dict[str, Any]] = {
        "pixels, single-step, PROVEN": single_step(),
        "pixels, noisy-steps, CONDITIONAL": noisy_steps(size),
        "pixels, stable-steps, PROVEN": stable_steps(size),
    }
    if context.scale is Scale.FULL:
        methods["scattering, stable-steps, PROVEN"] = stable_steps(size) | {"data.transform": "scattering"}
    for name, changes in methods.items():
        if source is None:
            yield Skipped(name, f"{IMAGES} is not in the data folder")
            continue
        score = trained(context, source, size, changes)
        yield Computed(name, reproduced=score) if "CONDITIONAL" in name else Computed(name, ours=score)


def trained(context: Context, source: Path, size: Size, changes: dict[str, Any]) -> float:
    """Trains the config and returns the accuracy on the held-out images."""
    with tempfile.TemporaryDirectory() as folder:
        file = subsets.images(source, Path(folder), size.every)
        federation = {
            "data.source": f"npz:{file}", "data.num_classes": 10, "data.record_capacity": size.capacity,
            "privacy.epsilon": size.epsilon,
        }  # fmt: skip
        return accuracy(changed(load_config(context.folder / "fashion.toml"), federation | changes))


def single_step() -> dict[str, Any]:
    """One clipped gradient sum a round over all records."""
    return {
        "training.local": {"kind": "single-step"},
        "training.server": {"kind": "momentum", "learning_rate": 40.0, "momentum": 0.5},
        "privacy.clip_norm": 0.5,
    }


def noisy_steps(size: Size) -> dict[str, Any]:
    """One epoch of 11 noisy steps a round, calibrated to the paper's claim."""
    return {
        "training.local": {"kind": "noisy-steps", "learning_rate": 100.0 / size.capacity, "steps": 11},
        "training.sampling": {"kind": "poisson", "probability": 0.09},
        "training.server": {"kind": "averaging"},
        "privacy.clip_norm": 0.5,
        "privacy.accept_assumptions": ["independent-local-state"],
    }


def stable_steps(size: Size) -> dict[str, Any]:
    """Our method: non-expansive local steps, noise once."""
    return {"training.local": {"kind": "stable-steps", "learning_rate": size.rate, "steps": size.steps}}
