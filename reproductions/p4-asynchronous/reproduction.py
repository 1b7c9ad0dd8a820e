"""Sums that wait for slow silos, sums that do not, and silos by themselves: accuracy over simulated time."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
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

NEAR = 0.5
"""Points of accuracy: half a per cent of the held-out records."""

IMAGES = "fashion_mnist.npz"
SLOW = "silo-10"
SEEDS = {Scale.SMALL: (1,), Scale.FULL: (1, 2)}
AGES = {Scale.SMALL: (0, 4), Scale.FULL: (0, 2, 4, 8)}


@dataclass(frozen=True)
class Clock:
    """How long a contribution takes each silo, how many a sum needs, and how many each silo makes at most."""

    buffer: int
    pace: dict[str, int]
    stale_weight: str = "halving"
    contributions: int | None = None

    def changes(self) -> dict[str, Any]:
        """The part of a config that says so."""
        own = {"buffer": self.buffer, "pace": self.pace, "stale_weight": self.stale_weight}
        more = {} if self.contributions is None else {"training.rounds": self.contributions}
        return {"training.schedule": {"kind": "buffered", **own}, **more}


@dataclass(frozen=True)
class Alone:
    """Every silo by itself: no secure sum, all of its own noise."""

    pace: dict[str, int]

    def changes(self) -> dict[str, Any]:
        """The part of a config that says so."""
        return {
            "training.schedule": {"kind": "local", "pace": self.pace},
            "aggregation": {"protocol": "none"},
        }


TOGETHER = Clock(10, {})
"""What the others are compared with: everybody is in every sum, and nobody is slow."""
ONE_SLOW = {SLOW: 10}
# Of every two silos one takes 1, 2, … 5 ticks.
MIXED = {f"silo-{number:02}": 1 + (number - 1) // 2 for number in range(1, 11)}


def clocks(scale: Scale) -> dict[str, Clock | Alone]:
    """All clocks, by the name of the row."""
    found: dict[str, Clock | Alone] = {
        "nobody slow, all wait": TOGETHER,
        "one 10 times slower, all wait": Clock(10, ONE_SLOW),
        "one 10 times slower, nine are enough": Clock(9, ONE_SLOW),
        "one 10 times slower, nine are enough, equal weights": Clock(9, ONE_SLOW, "equal"),
        "one 10 times slower, nine are enough, 26 contributions": Clock(9, ONE_SLOW, contributions=26),
        "nobody slow, each by itself": Alone({}),
        "one 10 times slower, each by itself": Alone(ONE_SLOW),
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
            yield computed(name, [changed(config, one.changes()) for one in (clock, TOGETHER)])
        else:
            yield context.from_file(name, IMAGES, partial(with_scattering, name, context, clock))


def chart(rows: Sequence[Row]) -> Chart:
    """Accuracy over simulated time, but for the rows about staleness."""
    return curves_of_cells([row for row in rows if "late" not in row.cell.name], "tick")


def with_scattering(name: str, context: Context, clock: Clock | Alone, source: Path) -> Computed:
    """The records of the utility table; a seed also deals them to the silos."""
    config = load_config(context.folder / "scattering.toml")
    with tempfile.TemporaryDirectory() as folder:
        file = subsets.held_out(scattered(source, context.cache), Path(folder), 1)
        seeds = ({"run.seed": seed, "data.split_seed": seed} for seed in SEEDS[context.scale])
        return computed(
            name,
            *(
                [
                    changed(config, one.changes() | {"data.source": f"npz:{file}"} | seed)
                    for one in (clock, TOGETHER)
                ]
                for seed in seeds
            ),
        )


def computed(name: str, *configs: Sequence[Config]) -> Computed:
    """The accuracy of the last model, and when the clock comes near the end of the synchronous training.

    Args:
        name: of the row.
        configs: of each seed: the training of the row, and the synchronous one.
    """
    own, together = (mean_curve([pair[place] for pair in configs]) for place in (0, 1))
    last = Score(tuple(curve(pair[0].model_dump_json())[-1][1] for pair in configs))
    wanted = together[-1][1] - NEAR
    reached = next((f"at {tick:g}" for tick, mean in own if mean >= wanted), "never")
    near = f"within {NEAR:g} of the synchronous end {reached}"
    note = f"{len(own)} sums in {own[-1][0]:g} ticks; {near}; {last.note}"
    return Computed(name, ours=last.mean, note=note, curve=own)


def mean_curve(configs: Sequence[Config]) -> tuple[tuple[float, float], ...]:
    """The tick of each sum, and the mean accuracy after it, in per cent."""
    curves = [curve(config.model_dump_json()) for config in configs]
    return tuple((at[0][0], fmean(value for _, value in at)) for at in zip(*curves, strict=True))


@cache
def curve(config: str) -> tuple[tuple[float, float], ...]:
    """Trains as a config says; the tick of each sum, and the accuracy after it, in per cent."""
    with tempfile.TemporaryDirectory() as folder:
        lines = run(read(config), Path(folder) / "run").directory.read_metrics()
    return tuple((float(line["tick"]), 100.0 * line["accuracy"]) for line in lines)


def read(config: str) -> Config:
    """Reads a config that was written down, as a name that equal ones share."""
    return Config.model_validate_json(config)
