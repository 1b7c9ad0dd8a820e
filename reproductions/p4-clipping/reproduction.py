"""Clip each record, each of some groups, or a whole silo: accuracy over the number of groups at equal ε."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import subsets
from discreet.config import Config, load_config
from discreet.engines.local import run
from discreet.plan import normaliser
from reproducing import (
    Cell,
    Chart,
    Computed,
    Context,
    Curve,
    Deferred,
    Row,
    Scale,
    changed,
    curves_over_cells,
)

IMAGES = "mnist.npz"
EVERY = 5  # of MNIST's images
GROUPS = {Scale.SMALL: (1, 16, 64), Scale.FULL: (1, 4, 16, 64, 256, 1024)}
EPSILONS = {Scale.SMALL: (8.0,), Scale.FULL: (1.0, 3.0, 8.0)}
SEPARATOR = " groups: "


@dataclass(frozen=True)
class Method:
    """What is clipped, and the settings that suit it."""

    name: str
    changes: dict[str, Any]


def methods(context: Context) -> Iterator[Method]:
    """Mixed clipping of every number of groups, then the kinds that bound each record's share."""
    config = load_config(context.folder / _file(context.scale))
    for groups in GROUPS[context.scale]:
        local = config.training.local.model_dump(exclude_none=True) | {"groups": groups}
        yield Method(f"{groups}{SEPARATOR}{{}}", {"training.local": local})
    yield Method("single-step: {}", SINGLE[context.scale])
    yield Method("tangent-steps: {}", TANGENT[context.scale])


TANGENT_STEPS = {"kind": "tangent-steps", "residual_cap": 0.5}
POISSON = {"kind": "poisson", "probability": 0.25}
SINGLE: dict[Scale, dict[str, Any]] = {
    Scale.SMALL: {
        "training.rounds": 20,
        "training.local": {"kind": "single-step"},
        "training.server": {"kind": "momentum", "learning_rate": 3.0, "momentum": 0.5},
        "training.sampling": POISSON,
        "privacy.clip_norm": 0.5,
    },
    Scale.FULL: {
        "training.rounds": 20,
        "training.local": {"kind": "single-step"},
        "training.server": {"kind": "momentum", "learning_rate": 2.0, "momentum": 0.6},
        "training.sampling": POISSON,
        "privacy.clip_norm": 0.5,
    },
}
TANGENT: dict[Scale, dict[str, Any]] = {
    Scale.SMALL: {
        "training.local": TANGENT_STEPS | {"learning_rate": 0.02, "steps": 80},
        "training.server": {"kind": "averaging"},
        "privacy.clip_norm": 2.0,
    },
    Scale.FULL: {
        "training.rounds": 10,
        "training.local": {
            "kind": "tangent-steps",
            "learning_rate": 6.7e-4,
            "steps": 150,
            "residual_cap": 0.5,
        },
        "training.server": {"kind": "momentum", "learning_rate": 0.9, "momentum": 0.6},
        "training.sampling": POISSON,
        "privacy.clip_norm": 16.0,
    },
}


def _file(scale: Scale) -> str:
    return "digits.toml" if scale is Scale.SMALL else "images.toml"


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """The network on the bundled digits at small scale; the CNN on a fifth of MNIST at full scale."""
    for epsilon in EPSILONS[context.scale]:
        for method in methods(context):
            name = method.name.format(f"ε = {epsilon:g}")
            changes = method.changes | {"privacy.epsilon": epsilon}
            if context.scale is Scale.SMALL:
                yield computed(name, changed(load_config(context.folder / "digits.toml"), changes))
            else:
                yield context.from_file(name, IMAGES, partial(with_images, name, context, changes))


def with_images(name: str, context: Context, changes: dict[str, Any], source: Path) -> Computed:
    """Trains on every fifth image, ten silos of 1,200."""
    with tempfile.TemporaryDirectory() as folder:
        file = subsets.images(source, Path(folder), EVERY)
        config = load_config(context.folder / "images.toml")
        return computed(name, changed(config, changes | {"data.source": f"npz:{file}"}))


def computed(name: str, config: Config) -> Computed:
    """The accuracy of the last model; the note has the signal of agreeing gradients over the noise."""
    with tempfile.TemporaryDirectory() as folder:
        result = run(config, Path(folder) / "run")
    plan, note = result.plan, ""
    if config.training.local.kind != "tangent-steps":
        units = normaliser(plan, plan.facts.silos)
        note = f"{units:g} clipped a round, {units / plan.noise_multiplier:.0f} over the noise"
    accuracy = 100.0 * result.metrics["accuracy"]
    # Mixed clipping is the paper's own method, whose accuracies it does not print.
    return Computed.by(name, accuracy, papers=SEPARATOR in name, note=note)


def chart(rows: Sequence[Row]) -> Chart:
    """Mixed clipping over the number of groups; the others as levels."""
    mixed = [row for row in rows if SEPARATOR in row.cell.name]
    found = curves_over_cells(mixed, "groups a silo", separator=SEPARATOR)
    ends = [x for curve in found.curves for x, _ in curve.points]
    levels = [
        Curve(row.cell.name, tuple((x, row.cell.value) for x in (min(ends), max(ends))))
        for row in rows
        if SEPARATOR not in row.cell.name and isinstance(row.cell, Computed) and row.cell.value and ends
    ]
    return Chart(found.x_label, (*found.curves, *levels))
