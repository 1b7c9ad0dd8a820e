"""Spending a budget release by release: refuse before it is exceeded. Pure state; files are the ledger's.

Two questions with different answers. If the *sequence of events is fixed beforehand* (a plan), any
composition theorem bounds what was spent so far, at every prefix: `PlannedBudget`. If the next event is
*chosen after seeing the outputs* (its noise, its sampling, whether there is one at all), composition of loss
distributions is not known to hold; Rényi composition at an order fixed beforehand is (Feldman, Zrnic 2021,
Theorem 3.3): `AdaptiveFilter`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.accounting.analysis import epsilon as epsilon_of
from discreet.accounting.bounds import BEST, Accountant, Bound, Conversion, Rdp
from discreet.accounting.rdp import RdpCurve
from discreet.accounting.renyi import renyi_analysis
from discreet.accounting.tally import tally
from discreet.errors import BudgetExhausted, ConfigurationError
from discreet.privacy.events import Composed, Event
from discreet.privacy.notation import epsilon_text
from discreet.privacy.units import NeighboringRelation


@dataclass(frozen=True, slots=True)
class PlannedBudget:
    """A budget for events whose parameters were all fixed before the first one.

    Attributes:
        epsilon: largest ε that may be spent.
        delta: at this δ.
        neighboring: the relation.
        accountant: who says what was spent.
        spent: every event admitted so far.
    """

    epsilon: float
    delta: float
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE
    accountant: Accountant = BEST
    spent: tuple[Event, ...] = ()

    def cost(self) -> Bound:
        """Returns the joint cost of all admitted events."""
        return self._cost_of(Composed(self.spent))

    def admit(self, event: Event) -> PlannedBudget:
        """Returns the state after ``event``.

        Raises:
            BudgetExhausted: if ε would be exceeded; the event must then not happen.
            UnsupportedAnalysisError: if the event is not known; nothing is guessed.
        """
        after = (*self.spent, event)
        cost = self._cost_of(Composed(after)).epsilon
        if not cost <= self.epsilon:
            raise BudgetExhausted(
                f"spent epsilon must stay at most {self.epsilon} at delta={self.delta}; the next "
                f"release would make it {epsilon_text(cost)}. Stop here, or plan a new budget."
            )
        return replace(self, spent=after)

    def _cost_of(self, events: Composed) -> Bound:
        return epsilon_of(events, delta=self.delta, neighboring=self.neighboring, accountant=self.accountant)


@dataclass(frozen=True, slots=True)
class AdaptiveFilter:
    """A budget for events that are chosen while the outputs are seen.

    Guarantee:
        Whatever the rule by which events are chosen, everything that `admit` let pass is (``epsilon``,
        ``delta``)-DP together, since the Rényi divergence of order ``order`` never exceeds the share of the
        budget that converts to ε. Integer noise counts with its whole comparison cost.

    Attributes:
        epsilon: largest ε that may be spent.
        delta: at this δ.
        order: the Rényi order, chosen before the first event.
        neighboring: the relation.
        renyi: Rényi divergence spent so far.
        log_ratio: spent on comparing integer with Gaussian noise.
        failure: probability of failures so far.
        distance: statistical distances so far.
    """

    epsilon: float
    delta: float
    order: float
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE
    renyi: float = 0.0
    log_ratio: float = 0.0
    failure: float = 0.0
    distance: float = 0.0

    def __post_init__(self) -> None:
        if not (self.epsilon > 0.0 and 0.0 < self.delta < 1.0 and self.order > 1.0):
            raise ConfigurationError(
                "a filter needs epsilon > 0, delta in (0, 1) and order > 1; got "
                f"{self.epsilon}, {self.delta}, {self.order}."
            )

    def admit(self, event: Event) -> AdaptiveFilter:
        """Returns the state after ``event``.

        Raises:
            BudgetExhausted: if the budget could be exceeded; the event must then not happen.
            UnsupportedAnalysisError: if no Rényi analysis of the event is known.
        """
        spec = tally(event)
        after = replace(self, failure=self.failure + spec.failure, distance=self.distance + spec.distance)
        if spec.releases:
            analysis = renyi_analysis(spec.releases, self.neighboring, Rdp(orders=(self.order,)))
            after = replace(
                after,
                renyi=self.renyi + float(analysis.curve.values[0]),
                log_ratio=self.log_ratio + analysis.log_ratio,
            )
        if not after.cost() <= self.epsilon:
            raise BudgetExhausted(
                f"spent epsilon must stay at most {self.epsilon} at delta={self.delta}; the next "
                f"release would make it {epsilon_text(after.cost())}. Stop here, or plan a new budget."
            )
        return after

    def cost(self) -> float:
        """Returns ε of what was admitted, charged at the target ε where distances count e^ε times."""
        left = self.delta - self.failure - self.distance * (1.0 + math.exp(min(self.epsilon, 700.0)))
        if not left > 0.0:
            return math.inf
        curve = RdpCurve(np.array([self.order]), np.array([self.renyi]), Conversion.IMPROVED)
        return curve.epsilon_at(left * math.exp(-self.log_ratio)) + 2.0 * self.log_ratio


def sequential(events: Sequence[Event]) -> Event:
    """Merges what several trainings released about the *same* records: everything composes."""
    return Composed(tuple(events))


def parallel(bounds: Sequence[Bound]) -> Bound:
    """Merges trainings over *disjoint* records: a record is in one of them, so the worst bound holds.

    Raises:
        ConfigurationError: if the bounds are for different δ; recompute them at a common one.
    """
    if not bounds:
        raise ConfigurationError("parallel composition needs at least one bound; got none.")
    if len({bound.delta for bound in bounds}) > 1:
        raise ConfigurationError(
            f"bounds must be for one delta; got {sorted({bound.delta for bound in bounds})}."
        )
    return max(bounds, key=lambda bound: bound.epsilon)
