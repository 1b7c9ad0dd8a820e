"""Optimal strategies for federated learning with local DP: more silos, each a tenth of the images."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from discreet.accounting import calibrate, epsilon
from discreet.config import load_config
from local_dp import BATCHES, DELTA, NETWORKS, SMALL_BATCH, Schedule, paper_noise, scattered
from overlapping import FILE_VARIABLE
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed

SILOS = (10, 25, 50, 100)
# CNN+RL: the one cell of it that our notes have.
TABLES = (
    ("MNIST", "mnist.npz", 2.93, "SN+Lin", SILOS, BATCHES["SN+Lin"]),
    ("MNIST", "mnist.npz", 2.93, "CNN+TS", SILOS, BATCHES["CNN+TS"]),
    ("MNIST", "mnist.npz", 2.93, "CNN+TS", SILOS, SMALL_BATCH),
    ("Fashion-MNIST", "fashion_mnist.npz", 2.7, "SN+Lin", SILOS, BATCHES["SN+Lin"]),
    ("MNIST", "mnist.npz", 2.93, "CNN+RL", SILOS[:1], BATCHES["CNN+RL"]),
    ("MNIST", "mnist.npz", 2.93, "CNN+RL", SILOS[:1], SMALL_BATCH),
)


def schedule(batch: int) -> Schedule:
    """The paper's: an epoch a round."""
    return Schedule(epochs=1, rounds=20, batch=batch, records=6000)


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """What several silos with the same record give away; at full scale also the accuracies."""
    yield from owners(stated=2.93)
    if context.scale is Scale.SMALL:
        return
    for data, file, target, network, numbers, batch in TABLES:
        suffix = "" if batch == BATCHES[network] else f", batches of {batch}"
        for silos in numbers:
            name = f"{data}, {network}, k = {silos}{suffix}"
            train = partial(trained, name, context, silos, target, network, schedule(batch))
            yield context.from_file(name, file, train)


def owners(stated: float) -> Iterator[Computed]:
    """Silos that each promise ε: what holds for someone whose record is in a tenth of them."""
    event = schedule(SMALL_BATCH).event
    multiplier = calibrate(event, epsilon=stated, delta=DELTA, lower=0.1, upper=10.0)
    for silos in SILOS:
        most = -(-silos // 10)
        yield Computed(
            f"ε of a record's owner, k = {silos}",
            ours=epsilon(event(multiplier, silos=most), delta=DELTA).epsilon,
            note=f"the record is in {most} silos",
        )


def trained(  # noqa: PLR0917 - partially applied
    name: str, context: Context, silos: int, target: float, network: str, one: Schedule, source: Path
) -> Computed:
    """The paper's method: a linear model on scattering features, or a network on the images."""
    linear = network == "SN+Lin"
    os.environ[FILE_VARIABLE] = str(scattered(source, context.cache) if linear else source)
    noise = paper_noise(target, one)
    changes = one.changes() | {
        "data.source": f"overlapping:silos_{silos}",
        "model.name": NETWORKS[network],
        "privacy.epsilon": noise.epsilon,
    }
    config = changed(load_config(context.folder / "silos.toml"), changes)
    return Computed(name, reproduced=accuracy(config), note=noise.note)
