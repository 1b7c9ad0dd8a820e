"""Sums that wait for slow silos, and sums that do not: accuracy over simulated time, and staleness."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import subsets
from discreet.config import Config, load_config
from discreet.engines.local import run
from local_dp import scattered
from reproducing import (
    Cell,
    Chart,
    Computed,
    Context,
    Deferred,
    Row,
    Scale,
    Score,
    changed,
    curves_of_cells,
)

IMAGES = "fashion_mnist.npz"
SLOW = "silo-10"
SEEDS = {Scale.SMALL: (1,), Scale.FULL: (1, 2)}
AGES = {Scale.SMALL: (0, 4), Scale.FULL: (0, 2, 4, 8)}


@dataclass(frozen=True)
class Clock:
    """How long a contribution takes each silo, and how many must be ready for a sum."""

    buffer: int
    pace: dict[str, int]
    stale_weight: str = "halving"

    def changes(self) -> dict[str, Any]:
        """The part of a config that says so."""
        own = {"buffer": self.buffer, "pace": self.pace, "stale_weight": self.stale_weight}
        return {"training.schedule": {"kind": "buffered", **own}}


ONE_SLOW = {SLOW: 10}
# Of every two silos one takes 1, 2, … 5 ticks.
MIXED = {f"silo-{number:02}": 1 + (number - 1) // 2 for number in range(1, 11)}


def clocks(scale: Scale) -> dict[str, Clock]:
    """All clocks, by the name of the row."""
    found = {
        "nobody slow, all wait": Clock(10, {}),
        "one 10 times slower, all wait": Clock(10, ONE_SLOW),
        "one 10 times slower, nine are enough": Clock(9, ONE_SLOW),
        "one 10 times slower, nine are enough, equal weights": Clock(9, ONE_SLOW, "equal"),
        "speeds 1 to 5, all wait": Clock(10, MIXED),
        "speeds 1 to 5, eight are enough": Clock(8, MIXED),
    }
    for age in AGES[scale]:
        half = {f"silo-{number:02}": 1 + age for number in range(9, 11)}
        for weight in ("halving", "equal") if age else ("halving",):
            found[f"two silos always {age} sums late, {weight}"] = Clock(8, half, weight)
    return found


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Fashion-MNIST's scattering features at full scale; the bundled digits, which need no file, at small."""
    for name, clock in clocks(context.scale).items():
        if context.scale is Scale.SMALL:
            config = load_config(context.folder / "digits.toml")
            yield computed(name, [changed(config, clock.changes())])
        else:
            yield context.from_file(name, IMAGES, partial(with_scattering, name, context, clock))


def chart(rows: Sequence[Row]) -> Chart:
    """Accuracy over simulated time, but for the rows about staleness."""
    return curves_of_cells([row for row in rows if "late" not in row.cell.name], "tick")


def with_scattering(name: str, context: Context, clock: Clock, source: Path) -> Computed:
    """The records of the utility table; a seed also deals them to the silos."""
    config = load_config(context.folder / "scattering.toml")
    with tempfile.TemporaryDirectory() as folder:
        file = subsets.held_out(scattered(source, context.cache), Path(folder), 1)
        changes = clock.changes() | {"data.source": f"npz:{file}"}
        seeds = ({"run.seed": seed, "data.split_seed": seed} for seed in SEEDS[context.scale])
        return computed(name, [changed(config, changes | seed) for seed in seeds])


def computed(name: str, configs: Sequence[Config]) -> Computed:
    """The accuracy of the last model; the note says when it was made, and the curve how it came about."""
    curves = [curve(config) for config in configs]
    ticks = [tick for tick, _ in curves[0]]
    means = [fmean(value for _, value in at) for at in zip(*curves, strict=True)]
    last = Score(tuple(values[-1][1] for values in curves))
    needed = next(tick for tick, mean in zip(ticks, means, strict=True) if mean >= last.mean - 0.5)
    note = f"{len(ticks)} sums in {ticks[-1]} ticks, within half a point of its end at {needed}; {last.note}"
    return Computed(name, ours=last.mean, note=note, curve=tuple(zip(map(float, ticks), means, strict=True)))


def curve(config: Config) -> list[tuple[int, float]]:
    """Trains as ``config`` says; the tick of each sum, and the accuracy after it, in per cent."""
    with tempfile.TemporaryDirectory() as folder:
        lines = run(config, Path(folder) / "run").directory.read_metrics()
    return [(line["tick"], 100.0 * line["accuracy"]) for line in lines]
