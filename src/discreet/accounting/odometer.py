"""A budget for releases that are chosen while earlier ones are seen: what would exceed it is refused.

If the sequence of events is fixed beforehand (a plan), `discreet.accounting.epsilon` bounds it, wherever it
is ended; and a prefix by itself only if its length was fixed beforehand too. If the next event is *chosen
after seeing the outputs* (its noise, its sampling, whether there is one at all), composition of loss
distributions is not known to hold. Two compositions are known to, if their limits are fixed beforehand: of
Rényi divergences at one order (Feldman, Zrnic 2021, Theorem 3.3), and of Gaussian releases by Σ μ² (Smith,
Thakurta 2022, Theorem 1). docs/theory/budgets.md has the proof with integer noise and failures.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum

from scipy.optimize import brentq, minimize_scalar

from discreet.accounting.bounds import Rdp
from discreet.accounting.gdp import SMALLEST, gaussian_delta, gaussian_epsilon
from discreet.accounting.losses import loss_parts
from discreet.accounting.renyi import renyi_analysis
from discreet.accounting.tally import tally
from discreet.errors import BudgetExhausted, ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import Event, PolyaNoise, Release, SkellamNoise
from discreet.privacy.units import NeighboringRelation

# Parts of δ and of ε that are set aside beforehand. Plans keep their failures below 4e-4 of their δ each.
_FAILURE_SHARE = 0.01
_COMPARISON_SHARE = 0.01
_LARGEST_EXPONENT = 700.0
_LOG_ORDERS = (0.0, 10.0)
_MUS = (1e-12, 1e6)


class Composition(Enum):
    """What an adaptive budget adds up.

    ``RENYI``: Rényi divergences at one order, of all releases. ``GAUSSIAN``: μ² of Gaussian releases in which
    every unit takes part; tighter, and nothing else can be added.
    """

    RENYI = "renyi"
    GAUSSIAN = "gaussian"


@dataclass(frozen=True, slots=True)
class Cost:
    """What an event takes of an adaptive budget; costs of several events add up.

    Attributes:
        divergence: Rényi divergence at the budget's order, or μ².
        log_ratio: of comparing integer with Gaussian noise.
        failure: of δ, where a distance between laws counts 1 + e^ε times.
    """

    divergence: float = 0.0
    log_ratio: float = 0.0
    failure: float = 0.0

    @classmethod
    def total(cls, costs: Iterable[tuple[Cost, float]]) -> Cost:
        """Returns the sum of some costs, each as often as is said of it."""
        total = cls()
        for cost, times in costs:
            total = cls(
                total.divergence + times * cost.divergence,
                total.log_ratio + times * cost.log_ratio,
                total.failure + times * cost.failure,
            )
        return total


@dataclass(frozen=True, slots=True)
class AdaptiveFilter:
    """A budget for events that are chosen while the outputs are seen.

    Guarantee:
        Whatever the rule by which events are chosen, everything that `after` let pass is (``epsilon``,
        ``delta``)-DP together. Order and limits are functions of ``epsilon`` and ``delta`` alone, fixed
        before the first event: divergence, failures and comparison costs may not stand in for each other,
        since what is left could then depend on the outputs.

    Attributes:
        epsilon: largest ε that may be spent.
        delta: at this δ.
        neighboring: the relation.
        composition: what is added up.
        spent: so far.

    Example:
        >>> from discreet.privacy.events import GaussianNoise, Release
        >>> empty = AdaptiveFilter(3.0, 1e-5)
        >>> round(empty.after(empty.cost(Release(GaussianNoise(4.0), 1.0, dimension=10))).used, 3)
        0.143
    """

    epsilon: float
    delta: float
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE
    composition: Composition = Composition.RENYI
    spent: Cost = field(default_factory=Cost)

    def __post_init__(self) -> None:
        possible = self.epsilon > 0.0 and 0.0 < self.delta < 1.0
        if possible and not _log_delta(self.epsilon, self.delta) > math.log(SMALLEST):
            raise ConfigurationError(
                "a filter's epsilon must leave a delta that a float can hold, and be at most about 1e5; got "
                f"{self.epsilon}, {self.delta}."
            )
        if not (possible and self.divergence_limit > 0.0):
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
    def divergence_limit(self) -> float:
        """How much divergence the budget bears: Rényi of order `order`, or μ²."""
        if self.composition is Composition.GAUSSIAN:
            return _square_limit(self.epsilon, self.delta)
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
        return self.share(self.spent)

    def share(self, cost: Cost) -> float:
        """Returns the share of the whole budget that a cost would use by itself."""
        return max(
            cost.divergence / self.divergence_limit,
            cost.log_ratio / self.log_ratio_limit,
            cost.failure / self.failure_limit,
        )

    def epsilon_of(self, cost: Cost) -> float:
        """Returns the ε, at the budget's δ, that a cost comes to; 0 for none."""
        if cost == Cost():
            return 0.0
        if self.share(Cost(0.0, cost.log_ratio, cost.failure)) > 1.0:
            return math.inf
        log_delta = _log_delta(self.epsilon, self.delta)
        if self.composition is Composition.GAUSSIAN:
            found = gaussian_epsilon(math.sqrt(cost.divergence), math.exp(log_delta))
        else:
            order = self.order
            found = cost.divergence + math.log1p(-1.0 / order)
            found -= (log_delta + math.log(order)) / (order - 1.0)
        return max(0.0, found) + 2.0 * cost.log_ratio

    def cost(self, event: Event) -> Cost:
        """Returns what ``event`` takes of this budget.

        Raises:
            UnsupportedAnalysisError: if no analysis of the event is known that may be added up here.
        """
        spec = tally(event)
        both_sides = spec.distance * (1.0 + math.exp(min(self.epsilon, _LARGEST_EXPONENT)))
        divergence = log_ratio = 0.0
        if spec.releases and self.composition is Composition.GAUSSIAN:
            # Skellam noise is like Gaussian noise only up to a tail, which no share of δ is kept for.
            for atom, _ in spec.releases:
                if isinstance(atom, Release) and isinstance(atom.noise, SkellamNoise | PolyaNoise):
                    other = "skellam" if isinstance(atom.noise, SkellamNoise) else "discrete Laplace"
                    raise UnsupportedAnalysisError(
                        "a budget that composes by 'gaussian' must be spent on Gaussian noise; this plan has "
                        f"{other} noise. Use discrete-gaussian noise, or a budget that composes by 'renyi'."
                    )
            parts = loss_parts(spec.releases, self.neighboring, tail=0.0)
            if parts.directed or parts.tail > 0.0:
                raise UnsupportedAnalysisError(
                    "a budget that composes by 'gaussian' must be spent on rounds in which every unit takes "
                    "part; this plan samples. Use sampling none, or a budget that composes by 'renyi'."
                )
            divergence, log_ratio = parts.square, parts.log_ratio
        elif spec.releases:
            analysis = renyi_analysis(spec.releases, self.neighboring, Rdp(orders=(self.order,)))
            divergence, log_ratio = float(analysis.curve.values[0]), analysis.log_ratio
        return Cost(divergence, log_ratio, spec.failure + both_sides)

    def after(self, cost: Cost) -> AdaptiveFilter:
        """Returns the state after something of this cost.

        Raises:
            BudgetExhausted: if the budget could be exceeded; it must then not happen.
        """
        later = replace(self, spent=Cost.total([(self.spent, 1.0), (cost, 1.0)]))
        if not later.used <= 1.0:
            raise BudgetExhausted(
                f"what is released must stay within epsilon={self.epsilon} at delta={self.delta}; the next "
                f"release would use {100.0 * later.used:.4g} % of that. Stop here, or plan a new budget."
            )
        return later


def _log_ratio_limit(epsilon: float) -> float:
    # It counts twice in ε.
    return _COMPARISON_SHARE * epsilon / 2.0


def _log_delta(epsilon: float, delta: float) -> float:
    """Returns ln δ' of what is not set aside: for failures, and for comparing densities."""
    return math.log((1.0 - _FAILURE_SHARE) * delta) - _log_ratio_limit(epsilon)


def _renyi_limit(order: float, epsilon: float, delta: float) -> float:
    """Inverts Canonne, Kamath, Steinke (2020), Proposition 12, for what is not set aside."""
    left = (1.0 - _COMPARISON_SHARE) * epsilon
    log_delta = _log_delta(epsilon, delta)
    return left - math.log1p(-1.0 / order) + (log_delta + math.log(order)) / (order - 1.0)


@functools.lru_cache(maxsize=64)
def _order(epsilon: float, delta: float) -> float:
    """Maximises the Gaussian releases, of divergence αμ²/2 each, that fit at order α."""

    def lack(log_excess: float) -> float:
        order = 1.0 + math.exp(log_excess)
        return -_renyi_limit(order, epsilon, delta) / order

    best = float(minimize_scalar(lack, bounds=_LOG_ORDERS, method="bounded").x)
    return max(2.0, round(1.0 + math.exp(best)))


@functools.lru_cache(maxsize=64)
def _square_limit(epsilon: float, delta: float) -> float:
    """Returns the largest μ² whose Gaussian is (ε, δ)-DP, for what is not set aside; rounded down."""
    left, log_delta = (1.0 - _COMPARISON_SHARE) * epsilon, _log_delta(epsilon, delta)

    def excess(log_mu: float) -> float:
        return math.log(gaussian_delta(math.exp(log_mu), left)) - log_delta

    least, most = (math.log(mu) for mu in _MUS)
    if not excess(least) < 0.0:
        return 0.0
    found = math.exp(float(brentq(excess, least, most, xtol=1e-14)))
    return float((found * (1.0 - 1e-10)) ** 2)
