"""What a proven guarantee costs: Fashion-MNIST, 10 silos of 5,600 records, 20 rounds, (1, 1e-5)."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import subsets
from discreet.config import load_config
from local_dp import scattered
from reproducing import Cell, Computed, Context, Deferred, Scale, changed, score

IMAGES = "fashion_mnist.npz"
# Every tenth record at ten times the ε, so that noise and signal stay alike.
EVERY, SMALL_CAPACITY, SMALL_STEPS, SMALL_RATE = 10, 560, 560, 0.2
# Of single-step: rate per mean gradient, momentum and clipping norm, chosen on validation records.
SINGLE_STEP = {
    "scattering": (200.0, 0.7, 0.5),
    "centred-pixels": (130.0, 0.8, 0.5),
    "pixels": (50.0, 0.8, 1.0),
}
SEEDS = {Scale.SMALL: (1,), Scale.FULL: (1, 2, 3, 4, 5)}
# Each at its own best reach on validation records.
UNCAPPED = {"training.local.residual_cap": 1.0, "training.local.learning_rate": 0.045}
TABLE = {
    Scale.SMALL: ("centred-pixels", "pixels"),
    Scale.FULL: ("scattering", "centred-pixels", "pixels"),
}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """For each kind of features: several local steps, one step, and what the cap brings on pixels."""
    for features in TABLE[context.scale]:
        methods: dict[str, dict[str, Any]] = {"stable-steps": {}, "single-step": single_step(features)}
        if features != "scattering":
            methods["stable-steps, uncapped"] = UNCAPPED
        for method, changes in methods.items():
            name = f"{features}, {method}"
            yield context.from_file(name, IMAGES, partial(trained, name, features, context, changes))


def trained(name: str, features: str, context: Context, changes: dict[str, Any], source: Path) -> Computed:
    """Trains the config of ``features`` under every seed; a seed also deals the records to the silos."""
    config, small = load_config(context.folder / f"{features}.toml"), context.scale is Scale.SMALL
    if small:
        changes = changes | fewer_records(local_steps="stable-steps" in name)
    with TemporaryDirectory() as folder:
        whole = scattered(source, context.cache) if features == "scattering" else source
        file = subsets.held_out(whole, Path(folder), EVERY if small else 1)
        result = score(
            changed(
                config,
                changes | {"data.source": f"npz:{file}", "run.seed": seed, "data.split_seed": seed},
            )
            for seed in SEEDS[context.scale]
        )
    return Computed(name, ours=result.mean, note=result.note)


def fewer_records(*, local_steps: bool) -> dict[str, Any]:
    """What a tenth of the records needs: a larger ε, and longer steps as far as the guard allows."""
    federation = {"data.record_capacity": SMALL_CAPACITY, "privacy.epsilon": float(EVERY)}
    steps = {"training.local.steps": SMALL_STEPS, "training.local.learning_rate": SMALL_RATE}
    return federation | steps if local_steps else federation


def single_step(features: str) -> dict[str, Any]:
    """One clipped gradient sum a round over all records."""
    rate, momentum, clip_norm = SINGLE_STEP[features]
    return {
        "training.local": {"kind": "single-step"},
        "training.server": {"kind": "momentum", "learning_rate": rate, "momentum": momentum},
        "privacy.clip_norm": clip_norm,
    }
