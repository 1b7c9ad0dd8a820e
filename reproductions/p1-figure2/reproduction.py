"""Heikkilä (2025), Figure 2: a linear layer on frozen CIFAR-10 features, one local step against many."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import subsets
from discreet.config import load_config
from reproducing import (
    Cell,
    Chart,
    Computed,
    Context,
    Deferred,
    Row,
    Scale,
    changed,
    curves_over_cells,
    score,
)

FEATURES = "cifar10_resnet56_feat256.npz"
CAPACITY = 5000


@dataclass(frozen=True)
class Settings:
    """What suits a number of rounds, chosen on validation records (README.md).

    Rates of single-step and noisy-steps follow a mean gradient; that of stable-steps is per record, its
    loss is capped, and the server follows its updates at a rate and with a momentum of its own.
    """

    rounds: int
    single_rate: float
    noisy_rate: float
    stable_rate: float
    stable_steps: int
    stable_cap: float
    server_rate: float
    server_momentum: float


# At small scale every tenth record at ten times the ε, so that noise and signal stay alike.
EVERY = {Scale.SMALL: 10, Scale.FULL: 1}
SEEDS = {Scale.SMALL: (1,), Scale.FULL: (1, 2, 3)}
SETTINGS = {
    Scale.SMALL: (Settings(10, 250.0, 400.0, 0.2, 500, 0.5, 3.0, 0.5),),
    Scale.FULL: (
        Settings(10, 400.0, 700.0, 0.12, 1000, 0.5, 1.5, 0.5),
        Settings(20, 250.0, 400.0, 0.05, 352, 0.5, 1.0, 0.7),
        Settings(40, 160.0, 300.0, 0.04, 352, 0.25, 1.6, 0.7),
        Settings(80, 80.0, 150.0, 0.02, 352, 0.15, 4.0, 0.7),
        Settings(160, 40.0, 75.0, 0.01, 352, 0.15, 4.0, 0.7),
    ),
}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Three methods at each number of rounds, at the same (ε, δ), rounds and silos."""
    for settings in SETTINGS[context.scale]:
        methods = {
            "single-step, PROVEN": single_step(settings),
            "noisy-steps, CONDITIONAL": noisy_steps(settings, CAPACITY // EVERY[context.scale]),
            "stable-steps, PROVEN": stable_steps(settings),
        }
        for method, changes in methods.items():
            name = f"{settings.rounds} rounds: {method}"
            yield context.from_file(name, FEATURES, partial(trained, name, context, settings, changes))


def chart(rows: Sequence[Row]) -> Chart:
    """Accuracy against the number of rounds, a curve for each method."""
    return curves_over_cells(rows, "rounds", separator=" rounds: ")


def trained(
    name: str, context: Context, settings: Settings, changes: dict[str, Any], source: Path
) -> Computed:
    """Trains the config under each seed, which also deals the records to the silos."""
    every, config = EVERY[context.scale], load_config(context.folder / "cifar10.toml")
    with TemporaryDirectory() as folder:
        federation = {
            "data.source": f"npz:{subsets.cifar_features(source, Path(folder), every)}",
            "data.record_capacity": CAPACITY // every,
            "privacy.epsilon": float(every),
            "training.rounds": settings.rounds,
        }
        result = score(
            changed(config, federation | changes | {"run.seed": seed, "data.split_seed": seed})
            for seed in SEEDS[context.scale]
        )
    return Computed.by(name, result.mean, papers=name.endswith("CONDITIONAL"), note=result.note)


def single_step(settings: Settings) -> dict[str, Any]:
    """One clipped gradient sum a round over all records."""
    return {
        "training.local": {"kind": "single-step"},
        "training.server.learning_rate": settings.single_rate,
        "privacy.clip_norm": 0.5,
    }


def noisy_steps(settings: Settings, capacity: int) -> dict[str, Any]:
    """The paper's own method: 19 noisy steps of about 6 % of the records, calibrated to its claim."""
    rate = settings.noisy_rate / capacity
    return {
        "training.local": {"kind": "noisy-steps", "learning_rate": rate, "steps": 19},
        "training.sampling": {"kind": "poisson", "probability": 0.064},
        "training.server.momentum": 0.5,
        "privacy.clip_norm": 0.5,
        "privacy.accept_assumptions": ["independent-local-state"],
    }


def stable_steps(settings: Settings) -> dict[str, Any]:
    """Our method: non-expansive local steps, noise once."""
    return {
        "training.local.learning_rate": settings.stable_rate,
        "training.local.steps": settings.stable_steps,
        "training.local.residual_cap": settings.stable_cap,
        "training.server.learning_rate": settings.server_rate,
        "training.server.momentum": settings.server_momentum,
    }
