"""van Dijk and Nguyen: what adversaries A0 and A1 learn, and the curve G_{√E/σ}."""

from collections.abc import Iterator

from discreet.accounting import epsilon
from discreet.accounting.fdp import (
    Segment,
    deterministic_participation,
    known_participation,
    random_participation_estimate,
)
from discreet.accounting.gdp import gaussian_epsilon
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from discreet.privacy.units import NeighboringRelation
from discreet.reproduction import Computed, Context

RECORDS, BATCH, DELTA = 6000, 100, 1e-5


def cells(_: Context) -> Iterator[Computed]:
    """Five readings of the same training, for few and for many epochs, and two points of each curve."""
    for epochs, sigma in ((10, 2.0), (50, 4.0)):
        where = f"E = {epochs}, σ = {sigma:g}"
        segment = Segment(epochs * RECORDS // BATCH, sigma, BATCH, RECORDS)
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


def poisson(segment: Segment, sigma: float) -> float:
    """The same rates as Poisson sampling under add/remove."""
    release = Release(GaussianNoise(sigma), 1.0, 1, PoissonSampling(segment.participation_prob))
    return epsilon(Repeated(release, segment.rounds), delta=DELTA).epsilon
