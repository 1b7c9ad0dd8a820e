"""DP-Fed-LS (Liang, Wang, Gu, Osher, Yao): the SVHN table's ε column, and its shape on other digits."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import subsets
from discreet.config import load_config
from dp_fed import averaging, tight_epsilon
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed

IMAGES = "mnist.npz"
CLIENTS, ROUNDS, RATE = 2000, 200, 0.05


@dataclass(frozen=True)
class Size:
    """Clients, their rate and rounds, and the noise multipliers; as many clients a round at both scales."""

    every: int
    clients: int
    rate: float
    rounds: int
    multipliers: tuple[float, ...]


SIZES = {
    Scale.SMALL: Size(10, 200, 0.5, 8, (1.0, 1.5)),
    Scale.FULL: Size(1, CLIENTS, RATE, ROUNDS, (1.0, 1.1, 1.3, 1.5)),
}
SMOOTHING = (0.0, 1.0)


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Accuracy at each noise multiplier, with and without smoothing; the note has the paper's ε, tight."""
    size = SIZES[context.scale]
    for multiplier, sigma in product(size.multipliers, SMOOTHING):
        name = f"z = {multiplier:g}, smoothing {sigma:g}"
        yield context.from_file(name, IMAGES, partial(trained, name, context, multiplier, sigma))


def trained(name: str, context: Context, multiplier: float, sigma: float, source: Path) -> Computed:
    """Trains with the table's settings on MNIST."""
    size = SIZES[context.scale]
    with tempfile.TemporaryDirectory() as folder:
        changes = {
            "data.source": f"npz:{subsets.images(source, Path(folder), size.every)}",
            "data.partition": {"kind": "iid", "silos": size.clients},
            "training.rounds": size.rounds,
            "training.sampling": {"kind": "poisson", "probability": size.rate},
            "training.server": averaging(sigma),
            "privacy.noise_multiplier": multiplier,
        }
        score = accuracy(changed(load_config(context.folder / "clients.toml"), changes))
    cost = tight_epsilon(multiplier, clients=CLIENTS, rounds=ROUNDS, rate=RATE)
    return Computed(name, reproduced=score, note=f"ε = {cost:.2f} with the paper's clients and rounds")
