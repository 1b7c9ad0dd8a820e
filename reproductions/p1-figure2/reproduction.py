"""Heikkilä (2025), Figure 2: a linear layer on frozen CIFAR-10 features, one local step against many."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subsets

from discreet.config import load_config
from discreet.reproduction import Cell, Computed, Context, Scale, Skipped, accuracy, changed

FEATURES = "cifar10_resnet56_feat256.npz"


@dataclass(frozen=True)
class Size:
    """How large the federation is, and the settings that suit it.

    Fewer records get a larger ε in proportion, so that noise and signal stay alike.
    """

    every: int
    epsilon: float
    capacity: int
    # Rounds, learning rate and steps of stable-steps, server rate of a single step.
    rounds: tuple[tuple[int, float, int, float], ...]


SIZES = {
    Scale.SMALL: Size(10, 10.0, 520, ((10, 0.15, 180, 100.0),)),
    Scale.FULL: Size(1, 1.0, 5100, ((10, 0.07, 352, 200.0), (20, 0.03, 176, 150.0))),
}


def cells(context: Context) -> Iterator[Cell]:
    """Three methods at each number of rounds, at the same (ε, δ), rounds and silos."""
    size, source = SIZES[context.scale], context.file(FEATURES)
    for rounds, rate, steps, server_rate in size.rounds:
        methods = {
            "single-step, PROVEN": single_step(server_rate),
            "noisy-steps, CONDITIONAL": noisy_steps(size),
            "stable-steps, PROVEN": stable_steps(rate, steps),
        }
        for method, changes in methods.items():
            name = f"{rounds} rounds: {method}"
            if source is None:
                yield Skipped(name, f"{FEATURES} is not in the data folder")
                continue
            score = trained(context, source, size, {"training.rounds": rounds} | changes)
            conditional = method.endswith("CONDITIONAL")
            yield Computed(name, reproduced=score) if conditional else Computed(name, ours=score)


def trained(context: Context, source: Path, size: Size, changes: dict[str, Any]) -> float:
    """Trains the config on the features and returns the test accuracy."""
    with tempfile.TemporaryDirectory() as folder:
        file = subsets.cifar_features(source, Path(folder), size.every)
        federation = {"data.source": f"npz:{file}", "data.record_capacity": size.capacity}
        config = load_config(context.folder / "cifar10.toml")
        return accuracy(changed(config, federation | {"privacy.epsilon": size.epsilon} | changes))


def single_step(server_rate: float) -> dict[str, Any]:
    """One clipped gradient sum a round over all records."""
    return {
        "training.local": {"kind": "single-step"},
        "training.server": {"kind": "momentum", "learning_rate": server_rate, "momentum": 0.5},
        "privacy.clip_norm": 0.5,
    }


def noisy_steps(size: Size) -> dict[str, Any]:
    """The paper's own method: 19 noisy steps of about 6 % of the records, calibrated to its claim."""
    return {
        "training.local": {"kind": "noisy-steps", "learning_rate": 300.0 / size.capacity, "steps": 19},
        "training.sampling": {"kind": "poisson", "probability": 0.064},
        "training.server": {"kind": "averaging"},
        "privacy.clip_norm": 0.5,
        "privacy.accept_assumptions": ["independent-local-state"],
    }


def stable_steps(rate: float, steps: int) -> dict[str, Any]:
    """Our method: non-expansive local steps, noise once."""
    return {
        "training.local": {"kind": "stable-steps", "learning_rate": rate, "steps": steps},
        "training.server.momentum": 0.7,
    }
