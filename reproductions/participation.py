r"""f-DP of DP-SGD in federated learning: the adversaries A0 and A1.

van Dijk, Nguyen, "Considerations on the Theory of Training Models with Differential Privacy". Their round
draws a batch of m out of N records without replacement, clips to C and adds N(0, (2Cσ)²) to the sum, so
that one round seen alone is G_{1/σ} for a record that is in the batch (replacement moves the sum by 2C).

A0 sees the rounds but not who was drawn: C_{m/N}(G_{1/σ}) per round, composed numerically; as an event
it is `FixedSizeSampling`. A1 also knows how often the record was drawn: a mixture over that number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import scipy
from scipy.optimize import brentq

from discreet.accounting.gdp import gaussian_delta
from discreet.errors import ConfigurationError
from discreet.privacy.events import FixedSizeSampling, GaussianNoise, Release, Repeated
from discreet.privacy.tradeoff import GaussianTradeoff, TradeoffCurve

# Participation counts of less probability than this are charged to δ in full.
_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class Segment:
    """Some rounds with the same clip norm, noise and batch size; schedules are sequences of segments.

    Attributes:
        rounds: number of rounds.
        sigma: noise standard deviation in the sum ÷ 2C.
        batch_size: records per round.
        num_records: records of the silo.
    """

    rounds: int
    sigma: float
    batch_size: int
    num_records: int

    def __post_init__(self) -> None:
        if not (self.rounds >= 0 and self.sigma > 0.0 and 1 <= self.batch_size <= self.num_records):
            raise ConfigurationError(
                "a segment needs rounds >= 0, sigma > 0 and 1 <= batch_size <= num_records; got "
                f"{self.rounds}, {self.sigma}, {self.batch_size}, {self.num_records}."
            )

    @property
    def participation_prob(self) -> float:
        """Probability that one record is in one round's batch, m/N."""
        return self.batch_size / self.num_records

    @property
    def event(self) -> Repeated:
        """What A0 sees, for accounting under replace-one; sensitivities in units of C."""
        sampling = FixedSizeSampling(self.batch_size, self.num_records)
        noise = GaussianNoise(2.0 * self.sigma)
        return Repeated(Release(noise, 1.0, dimension=1, sampling=sampling), self.rounds)


@final
@dataclass(frozen=True, slots=True)
class MixtureTradeoff(TradeoffCurve):
    """The curve of an adversary who is told which of several Gaussian mechanisms is run.

    Attributes:
        weights: probability of each.
        mus: its μ.
        neglected: probability that is in no component; it is charged to δ.
    """

    weights: tuple[float, ...]
    mus: tuple[float, ...]
    neglected: float = 0.0

    def delta(self, epsilon: float) -> float:
        """Returns Σ w_k δ_k(ε): the told adversary's divergence is the mean of the divergences."""
        parts = (w * gaussian_delta(mu, epsilon) for w, mu in zip(self.weights, self.mus, strict=True))
        return min(1.0, math.fsum(parts) + self.neglected)

    def epsilon(self, delta: float) -> float:
        """Returns the smallest ε ≥ 0 at which ``delta`` suffices; infinite if there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high) > delta:
            if high > 1e6:
                return math.inf
            high *= 2.0
        return float(brentq(lambda e: self.delta(e) - delta, 0.0, high, rtol=1e-12)) * (1.0 + 1e-11)

    def false_negative_rate(self, false_positive_rate: float) -> float:
        """Returns f(α) = sup_ε {1 − δ(ε) − e^ε α}, from 400 values of ε (a lower bound)."""
        grid = [(-1.0 + 2.0 * k / 399.0) * 20.0 for k in range(400)]
        return max(0.0, *(1.0 - self.delta(e) - math.exp(e) * false_positive_rate for e in grid))


def known_participation(segments: Sequence[Segment]) -> MixtureTradeoff:
    r"""Returns A1's curve: Σ_k P[K = k] G_{√(Σ k_s/σ_s²)}, K the numbers of participations per segment.

    Example:
        >>> curve = known_participation([Segment(rounds=600, sigma=2.0, batch_size=100, num_records=6000)])
        >>> round(curve.epsilon(1e-5), 3)
        9.165
    """
    law: dict[float, float] = {0.0: 1.0}
    for segment in segments:
        after: dict[float, float] = {}
        for count in range(segment.rounds + 1):
            weight = float(scipy.stats.binom.pmf(count, segment.rounds, segment.participation_prob))
            if weight <= _NEGLIGIBLE:
                continue
            for square, prob in law.items():
                key = square + count / segment.sigma**2
                after[key] = after.get(key, 0.0) + weight * prob
        law = {square: prob for square, prob in after.items() if prob > _NEGLIGIBLE}
    kept = math.fsum(law.values())
    mus = tuple(math.sqrt(square) for square in law)
    return MixtureTradeoff(tuple(law.values()), mus, neglected=max(0.0, 1.0 - kept))


def deterministic_participation(epochs: float, sigma: float, group_size: int = 1) -> GaussianTradeoff:
    r"""Returns G_{√(gE)/σ}: every record exactly once per epoch, for a group of g, batches fixed beforehand.

    The group's records fall in different batches; in one batch together they would make it G_{g√E/σ}.
    """
    if not (epochs > 0.0 and sigma > 0.0 and group_size >= 1):
        raise ConfigurationError(
            f"epochs, sigma and group_size must be positive; got {epochs}, {sigma}, {group_size}."
        )
    return GaussianTradeoff(math.sqrt(group_size * epochs) / sigma)


def random_participation_estimate(epochs: float, sigma: float) -> GaussianTradeoff:
    r"""Returns the chapter's upper approximation of A1, G_{√((1 + 1/√(2E)) E)/σ}: no bound."""
    return GaussianTradeoff(math.sqrt((1.0 + 1.0 / math.sqrt(2.0 * epochs)) * epochs) / sigma)


def group(curve: TradeoffCurve, size: int, false_positive_rate: float) -> float:
    r"""Returns f_g(α), f_g = 1 − (1 − f)^{∘g}: the curve for ``size`` units (Dong, Roth, Su 2022, Th. 3)."""
    if not size >= 1:
        raise ConfigurationError(f"the size of a group must be at least 1; got {size}.")
    rate = false_positive_rate
    for _ in range(size):
        rate = curve.max_true_positive_rate(rate)
    return 1.0 - rate
