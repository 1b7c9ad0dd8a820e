"""DP-Fed-LS (Liang, Wang, Gu, Osher, Yao): is smoothing more than a shorter step? Equal noise and draws."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

import subsets
from discreet.config import Config, load_config
from discreet.engines.local import prepare
from reproducing import Cell, Computed, Context, Deferred, Scale, Score, changed

IMAGES, CLIENTS, DIGITS = "mnist.npz", 1000, 50
BATCH, EPOCHS, DECAY = 10, 5, 4e-5
SEEDS = (1, 2, 3)
# Smoothing at 1 leaves this share of the noise's variance, on a cycle of any length; so does this rate.
VARIANCE_LEFT = 3.0 / 5.0**1.5
SAME_NOISE = VARIANCE_LEFT**0.5
RATES = (0.15, 0.25, 0.4, SAME_NOISE, 0.75, 1.0, 1.5)


@dataclass(frozen=True)
class Clients:
    """Everybody's records, of equal number, and the test records."""

    features: torch.Tensor
    labels: torch.Tensor
    test_features: torch.Tensor
    test_labels: torch.Tensor

    @property
    def dimension(self) -> int:
        """Weights of the linear model."""
        return 10 * self.features.shape[-1] + 10


@dataclass(frozen=True)
class Setting:
    """How often a client takes part, rounds, the ball, the noise over it, and the local rate."""

    share: float
    rounds: int = 30
    ball: float = 0.3
    multiplier: float = 2.59
    local_rate: float = 0.01


SMALL, FULL = Setting(0.5, local_rate=1.0), Setting(0.05)


@dataclass(frozen=True)
class Server:
    """A rule, and whether the weights are shuffled before it and put back after."""

    table: dict[str, Any]
    permuted: bool = False

    def at(self, rate: float) -> "Server":
        """The same with another server rate."""
        return replace(self, table=self.table | {"learning_rate": rate})


PLAIN = Server({"kind": "averaging"})
SMOOTHED = Server({"kind": "averaging", "smoothing": {"sigma": 1.0}})
SHUFFLED = replace(SMOOTHED, permuted=True)
TAIL = Server({"kind": "tail-mean"})
FAIR = {"no smoothing": PLAIN, "smoothing 1": SMOOTHED, "smoothing 1, weights shuffled": SHUFFLED,
        "mean of the last half": TAIL}  # fmt: skip
NOISY = {"no smoothing": PLAIN, "smoothing 1": SMOOTHED, "shorter step": PLAIN.at(SAME_NOISE)}


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """Proposition 1, then the rules at rate 1 and at their best, then figure 4's noises and rates."""
    yield from variances()
    if context.scale is Scale.SMALL:
        clients = stacked(load_config(context.folder / "digits.toml"))
        yield from biases("digits", clients, SMALL)
        for name, server in FAIR.items():
            yield Computed(f"digits, {name}", trained(clients, SMALL, server, seed=1)[0])
        return
    for name, server in FAIR.items():
        yield context.from_file(
            f"{name}, rate 1", IMAGES, partial(at_one, f"{name}, rate 1", context, server)
        )
        yield context.from_file(
            f"{name}, best rate", IMAGES, partial(at_best, f"{name}, best rate", context, server)
        )
    for (name, server), z, rate in product(NOISY.items(), (2.0, 2.5, 3.0), (0.01, 0.03, 0.1)):
        cell = f"z = {z:g}, local rate {rate:g}, {name}"
        yield context.from_file(cell, IMAGES, partial(noisy, cell, context, server, z, rate))
    for name in ("as laid out", "weights shuffled", "shorter step"):
        cell = f"MNIST, bias of an update, {name}"
        yield context.from_file(cell, IMAGES, partial(bias_of_images, cell, context))


def variances() -> Iterator[Computed]:
    """How much of independent noise is left, in every weight."""
    basis = np.zeros(7850)
    basis[0] = 1.0
    for sigma in (1.0, 2.0, 3.0):
        left = float(
            np.square(
                rule({"kind": "averaging", "smoothing": {"sigma": sigma}}).smoothing.smooth(basis)
            ).sum()
        )
        exact = (1.0 + 2.0 * sigma) / (1.0 + 4.0 * sigma) ** 1.5
        yield Computed(
            f"variance left, smoothing {sigma:g}", ours=left, note=f"(1 + 2σ)/(1 + 4σ)^1.5 = {exact:.4f}"
        )


def biases(data: str, clients: Clients, setting: Setting) -> Iterator[Computed]:
    """What smoothing takes off the mean of all clients' first updates, as a share of its square.

    Proposition 1: the square of the error is this bias and the variance that is left.
    """
    everybody = torch.arange(len(clients.features))
    start = torch.zeros(clients.dimension)
    update = (
        updates(clients, everybody, start, setting, torch.Generator().manual_seed(1)).mean(0).double().numpy()
    )
    order = np.random.default_rng(1).permutation(len(update))
    smooth = rule(SMOOTHED.table).smoothing.smooth
    for name, vector in (("as laid out", update), ("weights shuffled", update[order])):
        yield Computed(f"{data}, bias of an update, {name}", ours=share(smooth(vector) - vector, vector))
    yield Computed(f"{data}, bias of an update, shorter step", ours=(1.0 - SAME_NOISE) ** 2)


def share(part: np.ndarray, whole: np.ndarray) -> float:
    """The square of one vector over that of another."""
    return float(np.square(part).sum() / np.square(whole).sum())


def bias_of_images(cell: str, context: Context, source: Path) -> Computed:
    """One of the biases on images."""
    clients = images(context, source)
    return next(found for found in biases("MNIST", clients, FULL) if found.name == cell)


def at_one(cell: str, context: Context, server: Server, source: Path) -> Computed:
    """The paper's server rate, three seeds."""
    clients = images(context, source)
    found = Score(tuple(trained(clients, FULL, server, seed)[0] for seed in SEEDS))
    return Computed(cell, found.mean, note=found.note)


def at_best(cell: str, context: Context, server: Server, source: Path) -> Computed:
    """The server rate that is best on the training records, three seeds."""
    clients = images(context, source)
    found = {rate: [trained(clients, FULL, server.at(rate), seed) for seed in SEEDS] for rate in RATES}
    best = max(found, key=lambda rate: fmean(train for _, train in found[rate]))
    result = Score(tuple(test for test, _ in found[best]))
    return Computed(cell, result.mean, note=f"{result.note}; rate {best:.3g} of {len(RATES)}")


def noisy(cell: str, context: Context, server: Server, z: float, rate: float, source: Path) -> Computed:  # noqa: PLR0917
    """Figure 4's noises and rates, three seeds."""
    clients = images(context, source)
    setting = replace(FULL, multiplier=z, local_rate=rate)
    found = Score(tuple(trained(clients, setting, server, seed)[0] for seed in SEEDS))
    return Computed(cell, found.mean, note=found.note)


def images(context: Context, source: Path) -> Clients:
    """The clients of p3-mnist."""
    with tempfile.TemporaryDirectory() as folder:
        changes = {
            "data.source": f"npz:{subsets.images(source, Path(folder), 1, DIGITS * CLIENTS)}",
            "data.record_capacity": DIGITS,
        }
        config = changed(load_config(context.folder.parent / "p3-mnist" / "mnist.toml"), changes)
        return stacked(config)


def stacked(config: Config) -> Clients:
    """Reads a config's records; larger clients lose a few, so that all have as many."""
    federation = prepare(config).federation
    test, fewest = federation.pooled_test(), min(len(silo.train.labels) for silo in federation.silos)
    features = np.stack([np.asarray(silo.train.features)[:fewest] for silo in federation.silos])
    labels = np.stack([np.asarray(silo.train.labels)[:fewest] for silo in federation.silos])
    return Clients(
        torch.from_numpy(features).float().flatten(2),
        torch.from_numpy(labels).long(),
        torch.from_numpy(np.asarray(test.features)).float().flatten(1),
        torch.from_numpy(np.asarray(test.labels)).long(),
    )


def rule(table: dict[str, Any]) -> Any:
    """The server's rule of a config."""
    config = load_config(Path(__file__).parent / "digits.toml")
    return changed(config, {"training.server": table}).training.server


def trained(clients: Clients, setting: Setting, server: Server, seed: int) -> tuple[float, float]:
    """Trains with Gaussian noise on the sum; returns the per cent right of test and of training records.

    All servers see the same clients and the same noise under one seed.
    """
    rng, order = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    shuffle = np.random.default_rng(0).permutation(clients.dimension)
    serving = rule(server.table)
    state, theta = serving.init(clients.dimension), np.zeros(clients.dimension)
    for _ in range(setting.rounds):
        cohort = torch.from_numpy(np.flatnonzero(rng.random(len(clients.features)) < setting.share))
        total = (
            updates(clients, cohort, torch.from_numpy(theta).float(), setting, order).sum(0).double().numpy()
        )
        total = total + setting.multiplier * setting.ball * rng.standard_normal(len(theta))
        mean = total / (setting.share * len(clients.features))
        if server.permuted:
            state, moved = serving.step(state, theta[shuffle], mean[shuffle], setting.rounds)
            theta = np.empty_like(moved)
            theta[shuffle] = moved
        else:
            state, theta = serving.step(state, theta, mean, setting.rounds)
    return right(theta, clients.test_features, clients.test_labels), right(
        theta, clients.features.flatten(0, 1), clients.labels.flatten()
    )


def right(theta: np.ndarray, features: torch.Tensor, labels: torch.Tensor) -> float:
    """Per cent of records that the model gets right."""
    weights, bias = (
        torch.from_numpy(theta[:-10].reshape(10, -1)).float(),
        torch.from_numpy(theta[-10:]).float(),
    )
    return 100.0 * float(((features @ weights.T + bias).argmax(1) == labels).double().mean())


def updates(
    clients: Clients, cohort: torch.Tensor, start: torch.Tensor, setting: Setting, order: torch.Generator
) -> torch.Tensor:
    """Epochs of SGD of every client in the cohort, kept in the ball after each step: shape (clients, d)."""
    size = clients.labels.shape[1]
    features, labels = (
        clients.features[cohort],
        torch.nn.functional.one_hot(clients.labels[cohort], 10).float(),
    )
    moved = torch.zeros(len(cohort), len(start))
    rows = torch.arange(len(cohort))[:, None]
    for _ in range(EPOCHS):
        places = torch.rand(len(cohort), size, generator=order).argsort(1)
        for batch in places.split(BATCH, dim=1):
            x = features[rows, batch]
            theta = start + moved
            weights, bias = theta[:, :-10].unflatten(1, (10, -1)), theta[:, -10:]
            errors = (x @ weights.mT + bias[:, None]).softmax(2) - labels[rows, batch]
            gradient = torch.cat([(errors.mT @ x).flatten(1), errors.sum(1)], 1) / batch.shape[1]
            moved -= setting.local_rate * (gradient + DECAY * theta)
            moved *= (setting.ball / moved.norm(dim=1, keepdim=True)).clamp(max=1.0)
    return moved
