"""Optimal strategies for federated learning with local DP: E epochs a round, R rounds, E·R = 20."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import subsets
from discreet.config import Config, load_config
from local_dp import (
    BATCHES,
    FEATURE_NORM,
    LARGE_BATCH,
    NETWORKS,
    SMALL_BATCH,
    Schedule,
    paper_noise,
    scattered,
)
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed, score

FILES = {"MNIST": "mnist.npz", "Fashion-MNIST": "fashion_mnist.npz"}
ALL = ((1, 20), (2, 10), (4, 5), (5, 4), (10, 2), (20, 1))
ENDS = ((1, 20), (20, 1))
# All in batches that fit the network's columns without privacy; in others, those that show what that does.
TRAININGS = (
    *BATCHES.items(),
    *((network, SMALL_BATCH) for network in ("CNN+RL", "CNN+TS")),
    *((network, LARGE_BATCH) for network in ("CNN+TS", "SN+Lin")),
)
GRID = (
    ("MNIST", 2.93, ALL, TRAININGS),
    ("MNIST", 1.2, ENDS, TRAININGS),
    ("Fashion-MNIST", 2.7, ENDS, TRAININGS),
    ("Fashion-MNIST", 1.2, ENDS[:1], TRAININGS),
    # The one cell of the other end that our notes have.
    ("Fashion-MNIST", 1.2, ENDS[1:], (("CNN+TS", BATCHES["CNN+TS"]), ("CNN+TS", SMALL_BATCH))),
)
# A single mean of ten noisy networks depends on the seed as nothing else here does, by ten points.
SEEDS_OF_A_SINGLE_MEAN = (1, 2, 3)
# The paper's CIFAR-10 images cannot be had, but another network's features can: for the shape.
STAND_IN = "cifar10_resnet56_feat256.npz"
STAND_IN_GRID = ((7.53, ENDS), (3.0, ENDS[:1]))
# Their square root, as for the others.
STAND_IN_NORM = 16.0
DIGITS = {"linear": "logistic", "network": "mlp"}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Bundled digits at small scale; at full scale the paper's grid, and our secure sum at the same ε."""
    if context.scale is Scale.SMALL:
        yield from digits(context)
        return
    for data, epsilon, schedules, trainings in GRID:
        for epochs, rounds in schedules:
            for network, batch in trainings:
                suffix = "" if batch == BATCHES[network] else f", batches of {batch}"
                name = f"{data}, ε = {epsilon:g}, ({epochs}, {rounds}), {network}{suffix}"
                schedule = Schedule(epochs, rounds, batch, records=6000)
                train = partial(local, name, context, schedule, epsilon, network)
                yield context.from_file(name, FILES[data], train)
        if trainings is not TRAININGS:
            continue
        name = f"{data}, ε = {epsilon:g}, secure sum"
        yield context.from_file(name, FILES[data], partial(secure_sum, name, context, epsilon))
    for epsilon, schedules in STAND_IN_GRID:
        for epochs, rounds in schedules:
            name = f"CIFAR-10 features, ε = {epsilon:g}, ({epochs}, {rounds}), linear"
            schedule = Schedule(epochs, rounds, SMALL_BATCH, records=5000)
            yield context.from_file(name, STAND_IN, partial(stand_in, name, context, schedule, epsilon))


def local(  # noqa: PLR0917 - partially applied
    name: str, context: Context, schedule: Schedule, epsilon: float, network: str, source: Path
) -> Computed:
    """The paper's method: each silo's own noise is its guarantee.

    The noise is the paper's; in large batches, which are ours, it is what the same ε really needs.
    """
    noise = None if schedule.batch == LARGE_BATCH else paper_noise(epsilon, schedule)
    config = silos(
        context,
        schedule,
        NETWORKS[network],
        epsilon if noise is None else noise.epsilon,
        scattered(source, context.cache) if "SN" in network else source,
    )
    if network == "SN+Lin":
        config = changed(config, {"data.feature_norm_bound": FEATURE_NORM})
    if noise is None:
        return Computed(name, ours=accuracy(config))
    if network == "CNN+TS" and schedule.rounds == 1:
        found = score(changed(config, {"run.seed": seed}) for seed in SEEDS_OF_A_SINGLE_MEAN)
        return Computed(name, reproduced=found.mean, note=f"{noise.note}; {found.note}")
    return Computed(name, reproduced=accuracy(config), note=noise.note)


def silos(context: Context, schedule: Schedule, model: str, epsilon: float, source: Path) -> Config:
    """Private SGD in each of ten silos, at this ε by tight accounting."""
    changes = {
        "model.name": model,
        "privacy.epsilon": epsilon,
        "data.source": f"npz:{source}",
        "data.record_capacity": schedule.records,
    }
    return changed(load_config(context.folder / "silos.toml"), schedule.changes() | changes)


def secure_sum(name: str, context: Context, epsilon: float, source: Path) -> Computed:
    """Ours, stable-steps on the same features: only the sum is seen, so the silos' noise adds up, proven."""
    config = load_config(context.folder / "secure_sum.toml")
    changes = {"data.source": f"npz:{scattered(source, context.cache)}", "privacy.epsilon": epsilon}
    return Computed(name, ours=accuracy(changed(config, changes)), note="SN+Lin, stable-steps")


def stand_in(name: str, context: Context, schedule: Schedule, epsilon: float, source: Path) -> Computed:
    """The paper's method on frozen features of a network that was trained on other images."""
    noise = paper_noise(epsilon, schedule)
    with TemporaryDirectory() as folder:
        features = subsets.cifar_features(source, Path(folder), every=1)
        config = silos(context, schedule, "logistic", noise.epsilon, features)
        found = accuracy(changed(config, {"data.feature_norm_bound": STAND_IN_NORM}))
    return Computed(name, reproduced=found, note=f"{noise.note}; other features than the paper's")


def digits(context: Context) -> Iterator[Cell]:
    """A linear model and a network at both ends of the grid."""
    config = load_config(context.folder / "digits.toml")
    for kind, model in DIGITS.items():
        for epochs, rounds in ENDS:
            schedule = Schedule(epochs, rounds, batch=45, records=450)
            reached = accuracy(changed(config, schedule.changes() | {"model.name": model}))
            yield Computed(f"digits, ({epochs}, {rounds}), {kind}", reproduced=reached)
