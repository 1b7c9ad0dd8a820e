"""Findings of audits, as values: the measurement, the claim, and whether the claim held."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Status


@dataclass(frozen=True, slots=True)
class CanaryFinding:
    """Guesses about canaries against the claim for one adversary.

    Guarantee:
        If the claim is true, ``exceeded`` is True with probability at most 2·(1 − ``confidence``), because it
        asks two tests.

    Attributes:
        canaries: which ones, in words.
        claim: the guarantee that was audited.
        count: canaries in all rehearsals together.
        guesses: how many were guessed, fixed beforehand.
        correct: how many guesses were right.
        audited_epsilon_lower: no mechanism with a smaller ε, at the claimed δ, explains the guesses.
        audited_gaussian_epsilon_lower: the same among mechanisms with a Gaussian trade-off curve.
        p_value: bound on the probability of so many right guesses under the claimed trade-off curve.
        confidence: of each of the three statements above.
    """

    canaries: str
    claim: Guarantee
    count: int
    guesses: int
    correct: int
    audited_epsilon_lower: float
    audited_gaussian_epsilon_lower: float
    p_value: float
    confidence: float

    @property
    def exceeded(self) -> bool:
        """True when the claim is refuted."""
        return self.audited_epsilon_lower > self.claim.epsilon or self.p_value < 1.0 - self.confidence

    @property
    def saw_nothing(self) -> bool:
        """True when the guesses are no better than a coin shows: that says little for the claim."""
        return not max(self.audited_epsilon_lower, self.audited_gaussian_epsilon_lower) > 0.0


@dataclass(frozen=True, slots=True)
class NoiseFinding:
    """One property of the noise in the sums against its planned law.

    Attributes:
        scenario: who survived and who colluded, in words.
        check: the property, in words.
        observed: measured value.
        expected: its value under the plan.
        p_value: probability of a value at least so far off under the plan.
        samples: integers looked at.
        confidence: of the whole family of checks; each check has its share of the error.
        checks: size of that family.
    """

    scenario: str
    check: str
    observed: float
    expected: float
    p_value: float
    samples: int
    confidence: float
    checks: int

    @property
    def exceeded(self) -> bool:
        """True when the noise does not follow the plan."""
        return self.p_value < (1.0 - self.confidence) / self.checks

    @property
    def saw_nothing(self) -> bool:
        """True when there was nothing to look at."""
        return self.samples == 0


@dataclass(frozen=True, slots=True)
class SensitivityFinding:
    """The largest movement of an update by one unit that was found, against the planned bound.

    Attributes:
        silo: whose local training it is.
        largest: L2, real units.
        claimed: the bound that the noise was planned for.
        trials: pairs of neighbours that were tried.
    """

    silo: str
    largest: float
    claimed: float
    trials: int

    @property
    def exceeded(self) -> bool:
        """True when a pair of neighbours breaks the bound: a proof, not a statistic."""
        return not self.largest <= self.claimed

    @property
    def saw_nothing(self) -> bool:
        """True when no pair moved the update, as where a silo has no record to leave out."""
        return self.largest == 0.0


@dataclass(frozen=True, slots=True)
class SamplingFinding:
    """The exact probability with which the sampler lets a unit in, against the accounted one.

    Attributes:
        silo: whose sampler it is.
        actual: inclusion probability as a fraction of 2^64 words.
        claimed: the probability that was accounted.
    """

    silo: str
    actual: float
    claimed: float
    is_larger: bool

    @property
    def exceeded(self) -> bool:
        """True when units take part more often than accounted, by however little."""
        return self.is_larger

    @property
    def saw_nothing(self) -> bool:
        """Never: the probability is exact."""
        return False


@dataclass(frozen=True, slots=True)
class LocalStateFinding:
    """The local-state attack on a crafted federation of as many silos and as much noise as planned.

    Two local steps, one round, every record sampled: the shortest training in which a step can depend on an
    unreleased one. What is claimed for it follows from the same analysis as the plan's own guarantee.

    Attributes:
        num_silos: honest silos in every sum.
        noise_multiplier: their summed noise deviation per step ÷ sensitivity.
        trigger: of the crafted federation; chosen before any trial.
        trials: rounds played in each world.
        claimed: ε that the plan's analysis gives at δ.
        delta: the plan's δ.
        status: of that claim.
        audited_epsilon_lower: what the attack shows.
        confidence: of that bound.
    """

    num_silos: int
    noise_multiplier: float
    trigger: float
    trials: int
    claimed: float
    delta: float
    status: Status
    audited_epsilon_lower: float
    confidence: float

    @property
    def exceeded(self) -> bool:
        """True when the analysis is refuted for this federation."""
        return self.audited_epsilon_lower > self.claimed

    @property
    def saw_nothing(self) -> bool:
        """True when the attack did no better than a coin."""
        return not self.audited_epsilon_lower > 0.0


@dataclass(frozen=True, slots=True)
class PostProcessingFinding:
    """Models that the server made of the same sums, from neighbouring records.

    Attributes:
        silo: whose records differed.
        difference: how, in words.
        rounds: how many models were compared.
        largest: L2 distance of two models after the same round, the largest of them.
    """

    silo: str
    difference: str
    rounds: int
    largest: float

    @property
    def exceeded(self) -> bool:
        """True when a model depends on records by another way than the sums: a proof, not a statistic."""
        return not self.largest <= 0.0

    @property
    def saw_nothing(self) -> bool:
        """True when no model was compared."""
        return self.rounds == 0


@dataclass(frozen=True, slots=True)
class NeighbourFinding:
    """Neighbours that were crafted in one way: the largest movement, and whatever else told them apart.

    Attributes:
        path: what the neighbours went through, in words.
        crafted: how they were made, in words.
        largest: the largest movement as a share of the claim, before and after rounding.
        trials: pairs of neighbours that were tried.
        differences: what else differed, in words: a failure, other training records, an answer.
    """

    path: str
    crafted: str
    largest: float
    trials: int
    differences: tuple[str, ...]

    @property
    def exceeded(self) -> bool:
        """True when a pair moves too far or can be told apart otherwise: a proof, not a statistic."""
        return bool(self.differences) or not self.largest <= 1.0

    @property
    def saw_nothing(self) -> bool:
        """True when no pair was tried, or none moved what is sent."""
        return not self.differences and self.largest == 0.0


Finding = (
    CanaryFinding
    | LocalStateFinding
    | NoiseFinding
    | PostProcessingFinding
    | SensitivityFinding
    | SamplingFinding
)
