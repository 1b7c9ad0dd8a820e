r"""Three statements of van Dijk and Nguyen that hold only if records take part once an epoch, apart.

Run: python reproductions/shuffled_participation.py

Their rounds draw batches of m out of N by shuffling, or without replacement; noise is N(0, (2Cσ)²) in a sum.
All is measured against A1, who is told who took part when, as in the chapter; μ² adds up over rounds, so her
curve is a mixture over how often records met or took part (`participation`).
"""

from __future__ import annotations

import math

import scipy

from discreet.accounting import epsilon
from discreet.accounting.gdp import gaussian_epsilon
from discreet.privacy.events import Composed
from discreet.privacy.units import NeighboringRelation
from participation import MixtureTradeoff, Segment, deterministic_participation, known_participation

DELTA = 1e-5
RECORDS = 6000


def shuffled_pair(epochs: int, sigma: float, batch_size: int, num_records: int) -> MixtureTradeoff:
    r"""Returns the curve for two records when every epoch is shuffled anew.

    They share a batch with probability (m − 1)/(N − 1). Then they move one sum by 4C, μ = 2/σ, in place of
    two sums by 2C each, μ = √2/σ: in k of E epochs together μ² = (2E + 2k)/σ².

    Example:
        >>> round(shuffled_pair(1, 4.0, 600, 6000).epsilon(1e-5), 2)
        1.7
    """
    meeting = (batch_size - 1) / (num_records - 1)
    together = range(epochs + 1)
    weights = tuple(float(scipy.stats.binom.pmf(k, epochs, meeting)) for k in together)
    return MixtureTradeoff(weights, tuple(math.sqrt(2 * epochs + 2 * k) / sigma for k in together))


def renyi_divergence(order: float, segment: Segment) -> float:
    r"""Returns D_α against A1 under sampling: Σ over rounds of log(1 − q + q·exp(α(α − 1)/(2σ²)))/(α − 1).

    Being told whether a record took part makes a round a known mixture of nothing and G_{1/σ}.
    """
    moved = math.exp(order * (order - 1.0) / (2.0 * segment.sigma**2))
    share = segment.participation_prob
    return segment.rounds * math.log1p(share * (moved - 1.0)) / (order - 1.0)


def quiet_last_epoch(epochs: int, sigma: float, batch_size: int) -> tuple[Segment, Segment]:
    """Returns the schedule with noise σ, and σ/√(E + 1) in the last of E epochs."""
    rounds = RECORDS // batch_size
    return (
        Segment((epochs - 1) * rounds, sigma, batch_size, RECORDS),
        Segment(rounds, sigma / math.sqrt(epochs + 1), batch_size, RECORDS),
    )


def hidden_epsilon(segments: tuple[Segment, ...]) -> float:
    """Returns what A0, who is not told, learns of such a schedule; tight, under replace-one."""
    event = Composed(tuple(segment.event for segment in segments))
    return epsilon(event, delta=DELTA, neighboring=NeighboringRelation.REPLACE_ONE).epsilon


def main() -> None:
    """Prints what docs/claims.md shows."""
    print("group of two, shuffled: claimed G_{sqrt(2E)/sigma}, true mixture (epsilon at 1e-5)")
    for epochs, sigma, batch in ((10, 2.0, 100), (10, 2.0, 600), (1, 4.0, 600)):
        claimed = gaussian_epsilon(deterministic_participation(epochs, sigma, 2).mu, DELTA)
        true = shuffled_pair(epochs, sigma, batch, RECORDS).epsilon(DELTA)
        print(f"  E = {epochs}, sigma = {sigma:g}, m = {batch}: {claimed:.2f} < {true:.2f}")
    print("E/(2 sigma^2)-zCDP at E = 10, sigma = 2, m = 100, sampled: claimed, true divergence")
    segment = Segment(rounds=600, sigma=2.0, batch_size=100, num_records=RECORDS)
    for order in (2, 5, 10):
        print(f"  order {order}: {order * 10 / 8:.2f} < {renyi_divergence(order, segment):.2f}")
    schedule = quiet_last_epoch(10, 2.0, 100)
    claimed = gaussian_epsilon(math.sqrt(2 * 10) / 2.0, DELTA)
    told = known_participation(schedule).epsilon(DELTA)
    print(f"last epoch at sigma/sqrt(E+1), E = 10, sigma = 2, m = 100: claimed {claimed:.2f} < A1 {told:.2f}")
    print(f"  (A0, who is not told who took part: {hidden_epsilon(schedule):.2f})")


if __name__ == "__main__":
    main()
