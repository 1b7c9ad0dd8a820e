"""A budget for releases that are chosen while earlier ones are seen: what would exceed it is refused.

If the sequence of events is fixed beforehand (a plan), `discreet.accounting.epsilon` bounds it, and every
prefix. If the next event is *chosen after seeing the outputs* (its noise, its sampling, whether there is one
at all), composition of loss distributions is not known to hold; Rényi composition at an order fixed
beforehand is (Feldman, Zrnic 2021, Theorem 3.3). docs/theory/budgets.md has the proof with integer noise and
failures.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

from scipy.optimize import minimize_scalar

from discreet.accounting.bounds import Rdp
from discreet.accounting.renyi import renyi_analysis
from discreet.accounting.tally import tally
from discreet.errors import BudgetExhausted, ConfigurationError
from discreet.privacy.events import Event
from discreet.privacy.units import NeighboringRelation

# Parts of δ and of ε that are set aside beforehand. Plans keep their failures below 4e-4 of their δ each.
_FAILURE_SHARE = 0.01
_COMPARISON_SHARE = 0.01
_LARGEST_EXPONENT = 700.0
_LOG_ORDERS = (0.0, 10.0)


@dataclass(frozen=True, slots=True)
class AdaptiveFilter:
    """A budget for events that are chosen while the outputs are seen.

    Guarantee:
        Whatever the rule by which events are chosen, everything that `admit` let pass is (``epsilon``,
        ``delta``)-DP together. Order and limits are functions of ``epsilon`` and ``delta`` alone, fixed
        before the first event: Rényi divergence, failures and comparison costs may not stand in for each
        other, since what is left could then depend on the outputs.

    Attributes:
        epsilon: largest ε that may be spent.
        delta: at this δ.
        neighboring: the relation.
        renyi: Rényi divergence of order `order` spent so far.
        log_ratio: spent on comparing integer with Gaussian noise.
        failure: spent of δ, as `failure_limit` counts it.

    Example:
        >>> from discreet.privacy.events import GaussianNoise, Release
        >>> spent = AdaptiveFilter(3.0, 1e-5).admit(Release(GaussianNoise(4.0), 1.0, dimension=10))
        >>> round(spent.used, 3)
        0.143
    """

    epsilon: float
    delta: float
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE
    renyi: float = 0.0
    log_ratio: float = 0.0
    failure: float = 0.0

    def __post_init__(self) -> None:
        if not (self.epsilon > 0.0 and 0.0 < self.delta < 1.0 and self.renyi_limit > 0.0):
            raise ConfigurationError(
                "a filter needs epsilon > 0, delta in (0, 1), and enough of both for one release; got "
                f"{self.epsilon}, {self.delta}."
            )

    @property
    def order(self) -> float:
        """The Rényi order: about the one at which the budget bears most Gaussian releases without sampling.

        It is an integer, at which the analyses of all integer noise hold.
        """
        return _order(self.epsilon, self.delta)

    @property
    def renyi_limit(self) -> float:
        """How much Rényi divergence the budget bears."""
        return _renyi_limit(self.order, self.epsilon, self.delta)

    @property
    def log_ratio_limit(self) -> float:
        """How much comparing integer with Gaussian noise may cost."""
        return _log_ratio_limit(self.epsilon)

    @property
    def failure_limit(self) -> float:
        """How much of δ failures may use; a distance between laws counts 1 + e^ε times."""
        return _FAILURE_SHARE * self.delta

    @property
    def used(self) -> float:
        """The share of the budget that is used: the largest of the three shares; above 1, it is exceeded."""
        return max(
            self.renyi / self.renyi_limit,
            self.log_ratio / self.log_ratio_limit,
            self.failure / self.failure_limit,
        )

    def admit(self, event: Event) -> AdaptiveFilter:
        """Returns the state after ``event``.

        Raises:
            BudgetExhausted: if the budget could be exceeded; the event must then not happen.
            UnsupportedAnalysisError: if no Rényi analysis of the event is known.
        """
        spec = tally(event)
        both_sides = spec.distance * (1.0 + math.exp(min(self.epsilon, _LARGEST_EXPONENT)))
        after = replace(self, failure=self.failure + spec.failure + both_sides)
        if spec.releases:
            analysis = renyi_analysis(spec.releases, self.neighboring, Rdp(orders=(self.order,)))
            after = replace(
                after,
                renyi=self.renyi + float(analysis.curve.values[0]),
                log_ratio=self.log_ratio + analysis.log_ratio,
            )
        if not after.used <= 1.0:
            raise BudgetExhausted(
                f"what is released must stay within epsilon={self.epsilon} at delta={self.delta}; the next "
                f"release would use {100.0 * after.used:.4g} % of that. Stop here, or plan a new budget."
            )
        return after


def _log_ratio_limit(epsilon: float) -> float:
    # It counts twice in ε.
    return _COMPARISON_SHARE * epsilon / 2.0


def _renyi_limit(order: float, epsilon: float, delta: float) -> float:
    """Inverts Canonne, Kamath, Steinke (2020), Proposition 12, for what is not set aside."""
    left = (1.0 - _COMPARISON_SHARE) * epsilon
    log_delta = math.log((1.0 - _FAILURE_SHARE) * delta) - _log_ratio_limit(epsilon)
    return left - math.log1p(-1.0 / order) + (log_delta + math.log(order)) / (order - 1.0)


@functools.lru_cache(maxsize=64)
def _order(epsilon: float, delta: float) -> float:
    """Maximises the Gaussian releases, of divergence αμ²/2 each, that fit at order α."""

    def lack(log_excess: float) -> float:
        order = 1.0 + math.exp(log_excess)
        return -_renyi_limit(order, epsilon, delta) / order

    best = float(minimize_scalar(lack, bounds=_LOG_ORDERS, method="bounded").x)
    return max(2.0, round(1.0 + math.exp(best)))
