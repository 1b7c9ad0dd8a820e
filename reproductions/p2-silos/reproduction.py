"""Optimal strategies for federated learning with local DP: more silos, each a tenth of the images."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from discreet.accounting import calibrate, epsilon
from discreet.config import load_config
from local_dp import DELTA, NETWORKS, PAPER_BATCH, Schedule, paper_noise, scattered
from overlapping import FILE_VARIABLE
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed

SILOS = (10, 25, 50, 100)
TABLES = (
    ("MNIST", "mnist.npz", 2.93, "SN+Lin", SILOS),
    ("MNIST", "mnist.npz", 2.93, "CNN+TS", SILOS),
    ("Fashion-MNIST", "fashion_mnist.npz", 2.7, "SN+Lin", SILOS),
    # The one cell of this network that our notes have.
    ("MNIST", "mnist.npz", 2.93, "CNN+RL", SILOS[:1]),
)
SCHEDULE = Schedule(epochs=1, rounds=20, batch=PAPER_BATCH, records=6000)


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """What several silos with the same record give away; at full scale also the accuracies."""
    yield from owners(stated=2.93)
    if context.scale is Scale.SMALL:
        return
    for data, file, target, network, numbers in TABLES:
        for silos in numbers:
            name = f"{data}, {network}, k = {silos}"
            yield context.from_file(name, file, partial(trained, name, context, silos, target, network))


def owners(stated: float) -> Iterator[Computed]:
    """Silos that each promise ε: what holds for someone whose record is in a tenth of them."""
    multiplier = calibrate(SCHEDULE.event, epsilon=stated, delta=DELTA, lower=0.1, upper=10.0)
    for silos in SILOS:
        most = -(-silos // 10)
        yield Computed(
            f"ε of a record's owner, k = {silos}",
            ours=epsilon(SCHEDULE.event(multiplier, silos=most), delta=DELTA).epsilon,
            note=f"the record is in {most} silos",
        )


def trained(  # noqa: PLR0917 - partially applied
    name: str, context: Context, silos: int, target: float, network: str, source: Path
) -> Computed:
    """The paper's method: a linear model on scattering features, or a network on the images."""
    linear = network == "SN+Lin"
    os.environ[FILE_VARIABLE] = str(scattered(source, context.cache) if linear else source)
    noise = paper_noise(target, SCHEDULE)
    changes = SCHEDULE.changes() | {
        "data.source": f"overlapping:silos_{silos}",
        "model.name": NETWORKS[network],
        "privacy.epsilon": noise.epsilon,
    }
    config = changed(load_config(context.folder / "silos.toml"), changes)
    return Computed(name, reproduced=accuracy(config), note=noise.note)
