"""DP-Fed and DP-Fed-LS (Liang, Wang, Gu, Osher, Yao): logistic regression on MNIST, their noise and ours."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product, starmap
from pathlib import Path
from statistics import mean

import subsets
from closed_forms import POISSON, UNIFORM, Federation, closed_form_stddev
from discreet.accounting import calibrate
from discreet.config import load_config
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from dp_fed import averaging
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed

IMAGES = "mnist.npz"
CLIENTS, DIGITS, ROUNDS, RATE, BOUND = 1000, 50, 30, 0.05, 0.3
DELTA = CLIENTS**-1.1
FORMS = {"uniform": UNIFORM, "Poisson": POISSON}


@dataclass(frozen=True)
class Size:
    """Clients and their rate: always about 50 of them a round, so that noise and signal stay alike."""

    every: int
    clients: int
    rate: float
    rounds: int
    seeds: tuple[int, ...]
    epsilons: tuple[float, ...]
    forms: tuple[str, ...]
    smoothing: tuple[float, ...]


SIZES = {
    Scale.SMALL: Size(12, 100, 0.5, 10, (1,), (6.0,), ("Poisson",), (0.0, 1.0)),
    Scale.FULL: Size(
        1, CLIENTS, RATE, ROUNDS, (1, 2), (6.0, 7.0, 8.0, 9.0), ("Poisson", "uniform"), (0.0, 1.0, 2.0, 3.0)
    ),
}


@dataclass(frozen=True)
class Setting:
    """One cell of the table."""

    epsilon: float
    form: str
    sigma: float

    @property
    def name(self) -> str:
        """The cell's name."""
        return f"ε = {self.epsilon:g}, {self.form}, smoothing {self.sigma:g}"


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """At each ε and smoothing: the noise of the closed forms, and the noise that ε really needs."""
    size = SIZES[context.scale]
    for setting in starmap(Setting, product(size.epsilons, size.forms, size.smoothing)):
        yield context.from_file(setting.name, IMAGES, partial(compared, setting, context))


def compared(setting: Setting, context: Context, source: Path) -> Computed:
    """The noise of one closed form, beside the noise that tight accounting of Poisson sampling needs."""
    federation = Federation(RATE, ROUNDS, BOUND, DELTA)
    published = closed_form_stddev(FORMS[setting.form], federation, setting.epsilon)
    reproduced = mean_accuracy(context, source, published, setting.sigma)
    if setting.form == "uniform":
        note = f"noise in the sum {published:.3f}; clients drawn by Poisson sampling"
        return Computed(setting.name, reproduced, note=note)
    needed = needed_stddev(setting.epsilon)
    ours = mean_accuracy(context, source, needed, setting.sigma)
    return Computed(setting.name, reproduced, ours, f"noise in the sum {published:.3f}, tight {needed:.3f}")


def mean_accuracy(context: Context, source: Path, stddev: float, sigma: float) -> float:
    """The mean over the seeds of a scale."""
    return mean(trained(context, source, stddev, sigma, seed=seed) for seed in SIZES[context.scale].seeds)


@cache
def needed_stddev(epsilon: float) -> float:
    """The noise that meets ε at the paper's sampling and its sensitivity 2G."""
    return calibrate(event, epsilon=epsilon, delta=DELTA, lower=0.01, upper=10.0)


def trained(context: Context, source: Path, stddev: float, sigma: float, *, seed: int) -> float:
    """Trains with noise ``stddev`` in the sum and Laplacian smoothing ``sigma`` on the server."""
    size = SIZES[context.scale]
    with tempfile.TemporaryDirectory() as folder:
        changes = {
            "data.source": f"npz:{subsets.images(source, Path(folder), size.every, DIGITS * size.clients)}",
            "data.record_capacity": DIGITS,
            "data.partition": {"kind": "iid", "silos": size.clients},
            "training.rounds": size.rounds,
            "training.sampling": {"kind": "poisson", "probability": size.rate},
            "training.server": averaging(sigma),
            "privacy.noise_multiplier": stddev / BOUND,
            "run.seed": seed,
        }
        return accuracy(changed(load_config(context.folder / "mnist.toml"), changes))


def event(stddev: float) -> Repeated:
    """The paper's setting: a client moves the sum by 2G at most."""
    return Repeated(Release(GaussianNoise(stddev), 2.0 * BOUND, 1, PoissonSampling(RATE)), ROUNDS)
