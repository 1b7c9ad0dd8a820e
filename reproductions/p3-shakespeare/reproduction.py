"""DP-Fed-LS (Liang, Wang, Gu, Osher, Yao): Shakespeare's next character, roles as clients; reduced."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from roles import FILE

from discreet.config import load_config
from dp_fed import averaging, tight_epsilon
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed

RATE = 0.2


@dataclass(frozen=True)
class Size:
    """Source, number of clients and rounds, network, and the cells' noise multipliers and smoothings."""

    source: str
    clients: int
    rounds: int
    multipliers: tuple[float, ...]
    smoothing: tuple[float, ...]


SIZES = {
    Scale.SMALL: Size("roles:few", 100, 10, (0.5,), (0.0, 1.0)),
    Scale.FULL: Size("roles:most", 975, 100, (1.0, 1.2, 1.4, 1.6), (0.0, 1.0, 2.0)),
}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Accuracy with and without smoothing, and what the noise costs these clients in these rounds."""
    size = SIZES[context.scale]
    for multiplier, sigma in product(size.multipliers, size.smoothing):
        name = f"z = {multiplier:g}, smoothing {sigma:g}"
        yield context.from_file(name, FILE, partial(trained, name, context, multiplier, sigma))


def trained(name: str, context: Context, multiplier: float, sigma: float, _: Path) -> Computed:
    """One training of the reduced network; its source finds the text by itself."""
    size = SIZES[context.scale]
    changes = {
        "data.source": size.source,
        "training.rounds": size.rounds,
        "training.server": averaging(sigma),
        "privacy.noise_multiplier": multiplier,
        "privacy.delta": size.clients**-1.1,
    }
    score = accuracy(changed(load_config(context.folder / "roles.toml"), changes))
    cost = tight_epsilon(multiplier, clients=size.clients, rounds=size.rounds, rate=RATE)
    return Computed(name, reproduced=score, note=f"ε = {cost:.2f} for these rounds")
