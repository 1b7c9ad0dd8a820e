"""van Dijk and Nguyen: what adversaries A0 and A1 learn, and the curve G_{√E/σ}."""

import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from discreet.accounting import epsilon, tradeoff
from discreet.accounting.gdp import gaussian_epsilon
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from discreet.privacy.tradeoff import GaussianTradeoff, PiecewiseTradeoff
from discreet.privacy.units import NeighboringRelation
from participation import (
    Segment,
    deterministic_participation,
    group,
    known_participation,
    random_participation_estimate,
)
from reproducing import Computed, Context

RECORDS, BATCH, DELTA = 6000, 100, 1e-5
SETTINGS = ((10, 2.0), (50, 4.0))
GROUP = 2


def cells(_: Context) -> Iterator[Computed]:
    """Five readings of the same training, for few and for many epochs, and two points of each curve."""
    for epochs, sigma in SETTINGS:
        where = f"E = {epochs}, σ = {sigma:g}"
        segment = training(epochs, sigma)
        told = known_participation([segment])
        once = deterministic_participation(epochs, sigma)
        estimate = random_participation_estimate(epochs, sigma)
        yield Computed(f"{where}: ε, A1 (mixture)", reproduced=told.epsilon(DELTA))
        yield Computed(f"{where}: ε, G(√E/σ)", reproduced=gaussian_epsilon(once.mu, DELTA))
        yield Computed(f"{where}: ε, upper approximation", reproduced=gaussian_epsilon(estimate.mu, DELTA))
        hidden = epsilon(segment.event, delta=DELTA, neighboring=NeighboringRelation.REPLACE_ONE)
        yield Computed(f"{where}: ε, A0 (fixed size, replaced)", ours=hidden.epsilon)
        yield Computed(f"{where}: ε, A0 as Poisson", reproduced=poisson(segment, sigma))
        for alarms in (0.01, 0.1):
            yield Computed(
                f"{where}: f({alarms:g}), A1 and G(√E/σ)",
                reproduced=told.false_negative_rate(alarms),
                ours=once.false_negative_rate(alarms),
                note="A1 is given as a lower bound on a grid of ε",
            )


def training(epochs: int, sigma: float) -> Segment:
    """All rounds of the training."""
    return Segment(epochs * RECORDS // BATCH, sigma, BATCH, RECORDS)


def draw(folder: Path) -> None:
    """The chapter's trade-off plots: least false negative rate at every false positive rate."""
    # Closer together where the curves are steep.
    alphas = np.linspace(0.0, 1.0, 51) ** 2
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    lines: list[tuple[object, ...]] = []
    for axes, (epochs, sigma) in zip(figure.subplots(1, 2, sharey=True), SETTINGS, strict=True):
        for label, curve in curves(epochs, sigma).items():
            values = [curve(float(alpha)) for alpha in alphas]
            axes.plot(alphas, values, label=label)
            lines += [
                (epochs, f"{sigma:g}", label, f"{alpha:g}", f"{value:.6g}")
                for alpha, value in zip(alphas, values, strict=True)
            ]
        axes.plot(alphas, 1.0 - alphas, color="gray", linestyle=":", label="no information")
        axes.set(title=f"E = {epochs}, σ = {sigma:g}", xlabel="false positive rate α")
        axes.legend(fontsize=7)
    figure.supylabel("least false negative rate f(α)")
    figure.savefig(folder / "trade-off.svg", metadata={"Date": None})
    with (folder / "trade-off.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("epochs", "sigma", "curve", "alpha", "f"))
        writer.writerows(lines)


def curves(epochs: int, sigma: float) -> dict[str, Callable[[float], float]]:
    """A0, A1 and the deterministic curve, for one record and, but for A0, for a group."""
    segment = training(epochs, sigma)
    hidden = tradeoff(segment.event, neighboring=NeighboringRelation.REPLACE_ONE)
    told = known_participation([segment])
    # A1's δ at 200 values of ε gives its curve at once; the curve's own method searches for every α anew.
    told_curve = PiecewiseTradeoff(
        tuple((float(e), told.delta(float(e))) for e in np.linspace(0.0, 20.0, 200))
    )
    once = deterministic_participation(epochs, sigma)
    together = deterministic_participation(epochs, sigma, group_size=GROUP)
    return {
        "A0, tight": hidden.false_negative_rate,
        "G(√E/σ)": once.false_negative_rate,
        "A1": told_curve.false_negative_rate,
        f"G(√({GROUP}E)/σ): group of {GROUP}, apart": together.false_negative_rate,
        f"G({GROUP}√E/σ): group of {GROUP}, together": GaussianTradeoff(GROUP * once.mu).false_negative_rate,
        f"A1, group of {GROUP}": lambda alpha: group(told_curve, GROUP, alpha),
    }


def poisson(segment: Segment, sigma: float) -> float:
    """The same rates as Poisson sampling under add/remove."""
    release = Release(GaussianNoise(sigma), 1.0, 1, PoissonSampling(segment.participation_prob))
    return epsilon(Repeated(release, segment.rounds), delta=DELTA).epsilon
