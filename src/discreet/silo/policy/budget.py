"""What a silo has spent and what is left, worked out by the silo itself from plans and its own ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from discreet.plan import Plan
from discreet.privacy.adversary import AggregationServer, ServerWithColluders
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.privacy.units import NeighboringRelation
from discreet.silo.policy.document import BudgetTable, Policy
from discreet.silo.policy.refusal import PolicyRefusal, RefusalCode


@dataclass(frozen=True, slots=True)
class Charge:
    """How one training is charged at a silo: its plan, and how many others are assumed to collude.

    The charge is for what the server and other members see. It is not for a silo's own message without
    secure aggregation: a server that the plan's mode trusts is believed when it says that an attempt came to
    nothing, and such an attempt shows one message more.
    """

    plan: Plan
    max_colluding: int
    # Every round asks again what all trainings cost; the answer for a number of releases never changes.
    _known: dict[int, Guarantee] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def under(cls, plan: Plan, policy: Policy) -> Self:
        """Charges a plan under the more pessimistic of the plan's and the owner's assumption.

        Raises:
            PolicyRefusal: if its guarantee cannot be added to others, being about another relation.
        """
        if plan.release.neighboring is not NeighboringRelation.ADD_REMOVE:
            raise PolicyRefusal(
                RefusalCode.NOT_ALLOWED,
                "the plan's guarantee must be about a record that is present or absent, as this silo's "
                f"budget is; got {plan.release.neighboring.value}. Use poisson sampling.",
            )
        return cls(plan, max(policy.require.max_colluding, plan.thresholds.max_colluding))

    @property
    def honest_silos(self) -> int:
        """Shares of noise that are certain under this assumption; the silo's own is, whoever colludes.

        At least one other member knows its own share, so that one never counts.
        """
        return max(1, self.plan.thresholds.min_survivors - max(1, self.max_colluding))

    @property
    def honest_inputs(self) -> int:
        """Inputs of honest silos that every sum hides in each other under this assumption."""
        return self.plan.thresholds.min_survivors - self.max_colluding

    def cost(self, releases: int) -> Guarantee:
        """Returns the guarantee for this silo's units after ``releases`` releases."""
        if releases not in self._known:
            colluding = self.max_colluding
            adversary = ServerWithColluders(colluding) if colluding else AggregationServer()
            self._known[releases] = self.plan.against(adversary, self.honest_silos, rounds=releases)
        return self._known[releases]


@dataclass(frozen=True, slots=True)
class Account:
    """Every training of this silo with the number of releases charged.

    Trainings compose by addition of ε and of δ, which holds even if later plans depend on earlier results
    (Rogers, Roth, Ullman, Vadhan 2016, section 3: basic composition is a valid privacy filter).
    """

    charged: Mapping[str, tuple[Charge, int]]

    def without(self, plan_digest: str) -> Account:
        """Returns the account of all other trainings."""
        return Account({plan: entry for plan, entry in self.charged.items() if plan != plan_digest})

    def total(self) -> tuple[float, float]:
        """Returns (ε, δ) of everything that was charged."""
        costs = [charge.cost(count) for charge, count in self.charged.values() if count]
        return sum(cost.epsilon for cost in costs), sum(cost.delta for cost in costs)

    def require(self, budget: BudgetTable, charge: Charge, releases: int) -> Guarantee:
        """Returns the cost of ``releases`` releases of a training if the budget allows them.

        Raises:
            PolicyRefusal: code ``budget``, naming the limit that would be exceeded.
        """
        cost = charge.cost(releases)
        _require_within("max_epsilon_per_training", cost.epsilon, budget.max_epsilon_per_training, releases)
        _require_within("max_delta_per_training", cost.delta, budget.max_delta_per_training, releases)
        epsilon, delta = self.without(charge.plan.digest()).total()
        _require_within("max_epsilon", epsilon + cost.epsilon, budget.max_epsilon, releases)
        _require_within("max_delta", delta + cost.delta, budget.max_delta, releases)
        return cost


def _require_within(key: str, value: float, limit: float, releases: int) -> None:
    if not value <= limit:
        cost = epsilon_text(value) if "epsilon" in key else delta_text(value)
        raise PolicyRefusal(
            RefusalCode.BUDGET,
            f"{releases} releases must stay within this silo's 'budget.{key}' = {limit}; they come to "
            f"{cost}. Ask for fewer rounds or more noise; only the data owner can raise the limit.",
        )
