"""Heikkilä (2025), Figure 3: ACS Income over 51 silos, one local step a round against twenty."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import acs_income
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

TABLE = "acs_income_2018.csv.gz"


@dataclass(frozen=True)
class Size:
    """How large the federation is: every ``step``-th record; fewer get a larger ε in proportion.

    Rates per record grow too, as far as the guard lets them.
    """

    step: int
    seeds: tuple[int, ...]
    rounds: tuple[int, ...]
    records_per_step: int
    stable_rate: float


SIZES = {
    Scale.SMALL: Size(60, (1,), (10,), 1, 0.4),
    Scale.FULL: Size(1, (1, 2, 3), (5, 10, 20), 32, 0.085),
}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Three methods at each number of rounds, at the same (ε, δ), rounds and silos."""
    size = SIZES[context.scale]
    methods = {
        "single-step, PROVEN": single_step(),
        "noisy-steps, CONDITIONAL": noisy_steps(size),
        "stable-steps, PROVEN": stable_steps(size),
    }
    for rounds in size.rounds:
        for method, changes in methods.items():
            name = f"{rounds} rounds: {method}"
            changes_here = changes | {"training.rounds": rounds}
            yield context.from_file(name, TABLE, partial(trained, name, context, changes_here))


def chart(rows: Sequence[Row]) -> Chart:
    """Accuracy against the number of rounds, a curve for each method."""
    return curves_over_cells(rows, "rounds", separator=" rounds: ")


def trained(name: str, context: Context, changes: dict[str, Any], source: Path) -> Computed:
    """Trains the config under each seed; the records held out are the same for all."""
    size, config = SIZES[context.scale], load_config(context.folder / "acs.toml")
    with TemporaryDirectory() as folder:
        file = acs_income.features(source, Path(folder), size.step)
        federation = {
            "data.source": f"npz:{file}",
            "data.record_capacity": acs_income.capacities(file),
            "privacy.epsilon": float(size.step),
        }
        result = score(changed(config, federation | changes | {"run.seed": seed}) for seed in size.seeds)
    return Computed.by(name, result.mean, papers=name.endswith("CONDITIONAL"), note=result.note)


def single_step() -> dict[str, Any]:
    """One clipped gradient sum a round over all records."""
    return {
        "training.local": {"kind": "single-step"},
        "training.server.learning_rate": 46.0,
        "privacy.clip_norm": 0.5,
    }


def noisy_steps(size: Size) -> dict[str, Any]:
    """The paper's own method: 20 noisy steps of 5 % of the records, calibrated to its claim."""
    return {
        "training.local": {"kind": "noisy-steps", "learning_rate": 0.015 * size.step, "steps": 20},
        "training.sampling": {"kind": "poisson", "probability": 0.05},
        "privacy.clip_norm": 0.5,
        "privacy.accept_assumptions": ["independent-local-state"],
    }


def stable_steps(size: Size) -> dict[str, Any]:
    """Our method: non-expansive local steps, more of them in larger silos, noise once."""
    return {
        "training.local.learning_rate": size.stable_rate,
        "training.local.records_per_step": size.records_per_step,
    }
