"""What a silo tells its own machine while it serves: for the owner's log and metrics, never for the server.

No event holds anything about records, nor how long an answer took, since that depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.guarantee import Guarantee
from discreet.silo.policy import RefusalCode
from discreet.silo.requests import Request


@dataclass(frozen=True, slots=True)
class RequestArrived:
    """A request was read."""

    request: type[Request]


@dataclass(frozen=True, slots=True)
class RequestAnswered:
    """A request was answered; ``refusal`` is None if it was granted."""

    request: type[Request]
    refusal: RefusalCode | None


@dataclass(frozen=True, slots=True)
class TrainingJoined:
    """The silo takes part in a training.

    Attributes:
        plan: its digest.
        cost: the guarantee for this silo's units over all planned rounds.
    """

    plan: str
    cost: Guarantee


@dataclass(frozen=True, slots=True)
class RoundAnswered:
    """A masked contribution is about to leave; it is in the ledger.

    Attributes:
        plan: digest of the plan.
        round: number of the planned round, from 1.
        planned: how many rounds are planned.
        text: which release this is, for the owner.
        attempt: the server's number of the attempt; it only grows.
        epsilon: charged so far in all trainings, this contribution included.
        delta: the δ that ``epsilon`` is stated at.
        share: of the policy's limits that is used by then.
        year_share: of the limits of the present year; None if the policy has none.
    """

    plan: str
    round: int
    planned: int
    text: str
    attempt: int
    epsilon: float
    delta: float
    share: float
    year_share: float | None


@dataclass(frozen=True, slots=True)
class RoundUnmasked:
    """The silo helped to unmask the sum of a round.

    Attributes:
        plan: digest of the plan.
        round: number of the planned round, from 1.
        text: which release this is, for the owner.
        survivors: how many silos are in the sum.
    """

    plan: str
    round: int
    text: str
    survivors: int


@dataclass(frozen=True, slots=True)
class TrainingEnded:
    """The training in progress was ended, by the server's farewell or by another proposal."""

    plan: str


SiloEvent = RequestArrived | RequestAnswered | TrainingJoined | RoundAnswered | RoundUnmasked | TrainingEnded
