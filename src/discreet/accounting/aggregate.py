r"""Many silos, one mechanism: what summing the noise of several silos proves, and what it only promises.

Every silo i takes noisy local steps: per step a Poisson batch (probability q_i), gradients clipped to C_i,
noise of standard deviation σ_i C_i, learning rate γ_i. Only the sum of all updates is released.

*Local* (PROVEN): silo i's own noise, composed over all its steps; nobody else is trusted.
*Aggregate* (CONDITIONAL for more than one step): the sum-dominating mechanism of Heikkilä (2025), Theorem
4.6 and its relaxations: noise variance Σ_j (γ_j C_j σ_j)² over honest silos, sensitivity γ_i C_i, once per
common step. The theorem assumes what `LATER_STEPS` says; ordinary training violates it (docs/claims.md).
For one local step per round nothing is assumed and the aggregate guarantee is PROVEN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.accounting.analysis import guarantee
from discreet.accounting.bounds import BEST, Accountant
from discreet.errors import ConfigurationError
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    ServerWithColluders,
    WithoutSecureAggregation,
)
from discreet.privacy.events import (
    Event,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    RepeatedPoissonSampling,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Status, Unit

LATER_STEPS = (
    "the gradients of a silo's later local steps do not depend on its own unreleased state; ordinary "
    "training violates this"
)
_CITATION = "Heikkilä 2025, Theorem 4.6 (sum-dominating mechanism)"


@dataclass(frozen=True, slots=True)
class NoisySilo:
    """One silo's noisy local steps; every number is public.

    Attributes:
        name: for reports.
        local_noise_multiplier: σ_i, noise standard deviation per step ÷ clip norm.
        l2_clip_norm: C_i, per record and step.
        learning_rate: γ_i.
        sampling_prob: q_i, per record and step.
        local_steps: steps per round.
    """

    name: str
    local_noise_multiplier: float
    l2_clip_norm: float
    learning_rate: float
    sampling_prob: float
    local_steps: int

    def __post_init__(self) -> None:
        scales = (self.local_noise_multiplier, self.l2_clip_norm, self.learning_rate)
        if not all(scale > 0.0 and math.isfinite(scale) for scale in scales):
            raise ConfigurationError(f"noise, clip norm and learning rate of {self.name} must be positive.")
        if not (0.0 < self.sampling_prob <= 1.0 and self.local_steps >= 1):
            raise ConfigurationError(
                f"{self.name} needs sampling_prob in (0, 1] and local_steps >= 1; got {self.sampling_prob}, "
                f"{self.local_steps}."
            )

    @property
    def step_length(self) -> float:
        """γ_i C_i: how far one record moves the sum in one step."""
        return self.learning_rate * self.l2_clip_norm

    @property
    def step_stddev(self) -> float:
        """γ_i C_i σ_i: this silo's noise in the sum, per step."""
        return self.step_length * self.local_noise_multiplier


@dataclass(frozen=True, slots=True)
class NoisyFederation:
    """All silos, and how many of them may be missing from the sum of noises.

    Attributes:
        silos: every silo that may take part.
        rounds: number of rounds.
        num_colluding: silos that reveal their noise to the server.
        num_dropouts: silos that may be absent in every round.
    """

    silos: tuple[NoisySilo, ...]
    rounds: int
    num_colluding: int = 0
    num_dropouts: int = 0

    def __post_init__(self) -> None:
        missing = self.num_colluding + self.num_dropouts
        if not (self.silos and self.rounds >= 1 and min(self.num_colluding, self.num_dropouts) >= 0):
            raise ConfigurationError("a federation needs silos, rounds >= 1 and no negative counts.")
        if not missing < len(self.silos):
            raise ConfigurationError(
                f"at least one silo must be honest and present; got {missing} colluding or dropped of "
                f"{len(self.silos)}. Lower num_colluding or num_dropouts."
            )

    @property
    def common_steps(self) -> int:
        """The number of common steps per round: the others are fused into them."""
        return math.gcd(*(silo.local_steps for silo in self.silos))

    def honest_variance(self, silo: NoisySilo) -> float:
        """Returns the noise variance per common step that surely protects ``silo``'s records.

        The silo's own noise and, of the others', all but the largest that may collude or be absent. Of
        several fused sub-steps only one noise counts (Heikkilä 2025, appendix).
        """
        others = sorted(other.step_stddev**2 for other in self.silos if other is not silo)
        kept = others[: len(others) - self.num_colluding - self.num_dropouts]
        return silo.step_stddev**2 + math.fsum(kept)


def local_event(silo: NoisySilo, rounds: int) -> Event:
    """Returns what ``silo`` alone releases if every one of its steps is seen."""
    step = Release(
        GaussianNoise(silo.local_noise_multiplier), 1.0, dimension=1, sampling=_poisson(silo.sampling_prob, 1)
    )
    return Repeated(step, silo.local_steps * rounds)


def aggregate_event(federation: NoisyFederation, silo: NoisySilo, *, tight: bool = True) -> Event:
    """Returns the sum-dominating event for a record of ``silo``.

    Args:
        federation: all silos.
        silo: whose record is protected.
        tight: fused sub-steps as a mixture over how many of them the record is in; otherwise all k of them
            at once whenever it is in any (the triangle inequality).
    """
    fused = silo.local_steps // federation.common_steps
    noise = GaussianNoise(math.sqrt(federation.honest_variance(silo)))
    if tight:
        step = Release(noise, silo.step_length, 1, _poisson(silo.sampling_prob, fused))
    else:
        any_prob = -math.expm1(fused * math.log1p(-silo.sampling_prob)) if silo.sampling_prob < 1.0 else 1.0
        step = Release(noise, fused * silo.step_length, 1, PoissonSampling(any_prob))
    return Repeated(step, federation.common_steps * federation.rounds)


def _poisson(prob: float, trials: int) -> PoissonSampling | RepeatedPoissonSampling:
    return PoissonSampling(prob) if trials == 1 else RepeatedPoissonSampling(prob, trials)


@dataclass(frozen=True, slots=True)
class SiloGuarantees:
    """What one silo's records are promised: with nobody trusted, and by the sum."""

    silo: str
    local: Guarantee
    aggregate: Guarantee


def silo_guarantees(
    federation: NoisyFederation, delta: float, *, accountant: Accountant = BEST
) -> tuple[SiloGuarantees, ...]:
    """Returns both guarantees for every silo, per record under add/remove.

    Guarantee:
        ``local`` is PROVEN. ``aggregate`` is PROVEN if every silo takes one step per round, else CONDITIONAL
        on `LATER_STEPS`; both hold for every data set of that silo.
    """
    single = all(silo.local_steps == 1 for silo in federation.silos)
    colluding = federation.num_colluding
    server: Adversary = ServerWithColluders(colluding) if colluding else AggregationServer()
    rows = []
    for silo in federation.silos:
        local = guarantee(
            local_event(silo, federation.rounds),
            delta=delta,
            unit=Unit.RECORD,
            adversary=WithoutSecureAggregation(silo.name),
            accountant=accountant,
        )
        summed = guarantee(
            aggregate_event(federation, silo),
            delta=delta,
            unit=Unit.RECORD,
            adversary=server,
            accountant=accountant,
        )
        if not single:
            assumptions = (*summed.assumptions, LATER_STEPS)
            citations = (*summed.citations, _CITATION)
            summed = replace(summed, status=Status.CONDITIONAL, assumptions=assumptions, citations=citations)
        rows.append(SiloGuarantees(silo.name, local, summed))
    return tuple(rows)


def worst(rows: tuple[SiloGuarantees, ...]) -> SiloGuarantees:
    """Returns the row with the largest aggregate ε: what every record of the federation is promised."""
    return max(rows, key=lambda row: row.aggregate.epsilon)
