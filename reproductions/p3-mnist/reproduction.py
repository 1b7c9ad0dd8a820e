"""DP-Fed and DP-Fed-LS (Liang, Wang, Gu, Osher, Yao): logistic regression on MNIST at requested ε = 6."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import subsets

from discreet.accounting import calibrate
from discreet.accounting.closed_forms import POISSON, Federation, closed_form_stddev
from discreet.config import load_config
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from discreet.reproduction import Cell, Computed, Context, Scale, Skipped, accuracy, changed

IMAGES = "mnist.npz"
CLIENTS, ROUNDS, RATE, BOUND, EPSILON = 1000, 30, 0.05, 0.3, 6.0
DELTA = CLIENTS**-1.1


@dataclass(frozen=True)
class Size:
    """Clients and their rate: always about 50 of them a round, so that noise and signal stay alike."""

    every: int
    clients: int
    rate: float
    rounds: int
    smoothing: tuple[float, ...]


SIZES = {
    Scale.SMALL: Size(12, 100, 0.5, 10, (0.0, 1.0)),
    Scale.FULL: Size(1, CLIENTS, RATE, ROUNDS, (0.0, 1.0, 2.0, 3.0)),
}


def cells(context: Context) -> Iterator[Cell]:
    """At each smoothing: the paper's noise from its closed form, and the noise that ε = 6 really needs."""
    source = context.file(IMAGES)
    published = closed_form_stddev(POISSON, Federation(RATE, ROUNDS, BOUND, DELTA), EPSILON)
    needed = calibrate(event, epsilon=EPSILON, delta=DELTA, lower=0.01, upper=10.0)
    for sigma in SIZES[context.scale].smoothing:
        name = f"smoothing {sigma:g}"
        if source is None:
            yield Skipped(name, f"{IMAGES} is not in the data folder")
            continue
        scores = [trained(context, source, stddev, sigma) for stddev in (published, needed)]
        yield Computed(
            name,
            reproduced=scores[0],
            ours=scores[1],
            note=f"noise in the sum {published:.3f}, tight {needed:.3f}, both for ε = 6 at 1000 clients",
        )


def trained(context: Context, source: Path, stddev: float, sigma: float) -> float:
    """Trains with noise ``stddev`` in the sum and Laplacian smoothing ``sigma`` on the server."""
    size = SIZES[context.scale]
    server: dict[str, Any] = {"kind": "averaging"}
    if sigma > 0.0:
        server["smoothing"] = {"sigma": sigma}
    with tempfile.TemporaryDirectory() as folder:
        changes = {
            "data.source": f"npz:{subsets.images(source, Path(folder), size.every)}",
            "data.partition": {"kind": "iid", "silos": size.clients},
            "training.rounds": size.rounds,
            "training.sampling": {"kind": "poisson", "probability": size.rate},
            "training.server": server,
            "privacy.noise_multiplier": stddev / BOUND,
        }
        return accuracy(changed(load_config(context.folder / "mnist.toml"), changes))


def event(stddev: float) -> Repeated:
    """The paper's setting: a client moves the sum by 2G at most."""
    return Repeated(Release(GaussianNoise(stddev), 2.0 * BOUND, 1, PoissonSampling(RATE)), ROUNDS)
