"""What a silo has spent and what is left, worked out by the silo itself from plans and its own ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from discreet.accounting.odometer import AdaptiveFilter, Cost
from discreet.errors import BudgetExhausted, UnsupportedAnalysisError
from discreet.plan import Plan
from discreet.plan.counted import (
    by_contribution,
    composition,
    contributions,
    contributions_of,
    of_stage,
    one_after_the_other,
    parts,
)
from discreet.plan.guaranteed import against
from discreet.plan.order import PREPARATION, Order
from discreet.plan.seen import adversary_event
from discreet.privacy.adversary import AggregationServer, ServerWithColluders
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Counted
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.privacy.units import NeighboringRelation
from discreet.silo.policy.document import BudgetTable, Policy
from discreet.silo.policy.limits import Fixed, Limits, filter_of
from discreet.silo.policy.refusal import PolicyRefusal, RefusalCode


@dataclass(frozen=True, slots=True)
class Charge:
    """How one training is charged at a silo: its plan, how many others are assumed to collude, its name.

    ``retries`` is how many rounds, beyond the plan's, are charged from the first contribution on, and how
    many evaluations, so that as many that came to nothing may be tried again at no further charge: the
    policy's ``budget.retries``.

    The charge is for what the server and other members see. It is not for a silo's own message without
    secure aggregation: a server that the plan's mode trusts is believed when it says that an attempt came to
    nothing, and such an attempt shows one message more.
    """

    plan: Plan
    max_colluding: int
    silo: str | None = None
    retries: int = 0
    # Its rounds are one silo's contributions, by which it is charged.
    _counted: Plan = field(init=False, repr=False, compare=False)
    # That of the plan, with room for retries: in it a silo's contributions are counted.
    order: Order = field(init=False, repr=False, compare=False)
    # Every round asks again what all trainings cost; the answers never change.
    _known: dict[int, Guarantee] = field(default_factory=dict, init=False, repr=False, compare=False)
    _shares: dict[AdaptiveFilter, tuple[tuple[Cost, ...], ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "_counted", by_contribution(self.plan))
        object.__setattr__(self, "order", replace(self.plan.order, room=self.retries))

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
        colluding = max(policy.require.max_colluding, plan.thresholds.max_colluding)
        return cls(plan, colluding, policy.silo, policy.budget.retries)

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

    @property
    def adversary(self) -> AggregationServer | ServerWithColluders:
        """Against whom it is charged."""
        return ServerWithColluders(self.max_colluding) if self.max_colluding else AggregationServer()

    @property
    def planned(self) -> int:
        """Releases that the plan asks of this silo; of an unknown one, as many as of any."""
        plan = self.plan
        return contributions(plan, plan.releases) if self.silo is None else contributions_of(plan, self.silo)

    @property
    def covered(self) -> int:
        """Releases that are charged from the first contribution on: those planned, and room for retries.

        The room is for as many rounds more, as many evaluations more, and a preparation once more. No unit
        is in rounds and in evaluations, so that each side is charged for its own alone
        (docs/theory/budgets.md).
        """
        return self.planned + self.order.with_room - self.order.releases

    @property
    def whole(self) -> Guarantee:
        """The guarantee for this silo's units over all that is charged from the first contribution on."""
        return self.cost(self.covered)

    def cost(self, releases: int) -> Guarantee:
        """Returns the guarantee for this silo's units of the whole training, or of more if it was asked more.

        Guarantee:
            It holds whenever the training ends. That of a prefix would hold only for a length that was fixed
            beforehand, and a server can end when it likes (docs/theory/budgets.md). Of more than is covered
            it is that of a number fixed beforehand, as the largest one is that a limit leaves room for.
        """
        releases = max(releases, self.covered)
        if releases not in self._known:
            evaluated = self.order.evaluated(releases)
            self._known[releases] = against(
                self._counted,
                self.adversary,
                self.honest_silos,
                rounds=evaluated + self._of_rounds(releases),
                silo=self.silo,
                evaluated=evaluated,
            )
        return self._known[releases]

    def _of_rounds(self, releases: int) -> int:
        """Returns how many releases on the side of the rounds are charged.

        A plan's own order has no room: in it, no fewer must be rounds, and no fewer preparations.
        """
        order = self.order
        if not (order.room and order.preparing):
            return releases - order.evaluated(releases)
        alone = Order(order.rounds, preparing=order.preparing)
        return alone.covering({None: order.round_of(releases), PREPARATION: order.prepared(releases)})

    def told(self, releases: int) -> str:
        """Says how many releases are charged for so many, and what of that is the owner's own doing."""
        if not self.retries:
            return f"{releases} releases"
        room = f"room for this silo's own 'budget.retries' = {self.retries}"
        return f"{max(releases, self.covered)} releases, which have {room},"

    def added(self, releases: int) -> tuple[float, float]:
        """Returns the (ε, δ) that so many releases add where ε and δ are added: of whole trainings.

        Guarantee:
            Trainings that are begun by what was seen add up, and each is charged before it begins. How far
            one of them went, or by how much it went beyond its plan, may be chosen by what was seen; so each
            counts as a whole, with its room for retries, and a release beyond that begins another one.
        """
        whole, beyond = self.whole, max(0, releases - self.covered)
        # Those beyond may all be of the segment with the fewest.
        fewest = min(self.plan.order.segments, default=self.planned)
        trainings = 0 if releases == 0 else 1 + -(-beyond // fewest)
        return trainings * whole.epsilon, trainings * whole.delta

    def of_filter(self, empty: AdaptiveFilter, releases: int) -> Cost:
        """Returns what so many releases take of an adaptive budget.

        Each takes a share of what all planned ones take: a constant of the plan, as the theorem asks for, and
        no function of how many releases there were, since comparing integers with Gaussian noise costs more
        for a longer training. Releases that are not alike have shares of their own; of several sides, on one
        of which a unit is, it is the most that one takes.

        Raises:
            PolicyRefusal: if such a release cannot be added up by this budget.
        """
        if empty not in self._shares:
            self._shares[empty] = tuple(
                tuple(self._share(empty, one) for one, _ in sorts) for sorts in self._sorts(0)
            )
        taken = [
            Cost.total((share, float(count)) for share, (_, count) in zip(shares, sorts, strict=True))
            for shares, sorts in zip(self._shares[empty], self._sorts(releases), strict=True)
        ]
        return Cost(
            max(one.divergence for one in taken),
            max(one.log_ratio for one in taken),
            max(one.failure for one in taken),
        )

    def _sorts(self, releases: int) -> list[list[tuple[Plan, int]]]:
        """Returns, for the units of each side, plans of releases that are alike, and how many are theirs."""
        return [
            [
                (of_stage(one, stage), count)
                for one, begun in one_after_the_other(part, own)
                for stage, (_, count) in zip(one.stages, composition(one, begun, self.silo), strict=True)
            ]
            for part, own in parts(self._counted, releases)
        ]

    def _share(self, empty: AdaptiveFilter, alike: Plan) -> Cost:
        """Returns what one of the releases of a plan takes that are all alike: a share of all of them."""
        event = adversary_event(
            alike,
            adversary=self.adversary,
            honest_silos=self.honest_silos,
            rounds=alike.rounds,
            besides=self._counted.releases - alike.rounds,
            silo=self.silo,
        )
        try:
            return Cost.total([(empty.cost(event), 1.0 / alike.rounds)])
        except UnsupportedAnalysisError as error:
            raise PolicyRefusal(RefusalCode.NOT_ALLOWED, str(error)) from None


@dataclass(frozen=True, slots=True)
class Account:
    """Every training of this silo with the number of releases charged, in all and in the present year.

    Trainings compose by addition of ε and of δ, which holds even if later plans depend on earlier results
    (Rogers, Roth, Ullman, Vadhan 2016, section 3: basic composition is a valid privacy filter). Each counts
    as a whole from its first contribution on, since its end may depend on results (`Charge.added`). Or by a
    filter, if the budget says so, whose limits were fixed before the first contribution
    (docs/theory/budgets.md).

    Attributes:
        charged: by plan digest.
        of_year: of these, how many in the present calendar year (UTC); one whose day is not known counts.
        fixed: what was written down before the first contribution; None if nothing was.
        now: what the policy says; None where nobody asks.
        by_sort: of ``charged`` and of ``of_year``, how many are of each sort of release (`Order.sort_of`).
    """

    charged: Mapping[str, tuple[Charge, int]]
    of_year: Mapping[str, int] = field(default_factory=dict)
    fixed: Fixed | None = None
    now: Fixed | None = None
    by_sort: Mapping[str, tuple[Counted, Counted]] = field(default_factory=dict)

    def without(self, plan_digest: str) -> Account:
        """Returns the account of all other trainings."""
        charged = {plan: entry for plan, entry in self.charged.items() if plan != plan_digest}
        of_year = {plan: count for plan, count in self.of_year.items() if plan != plan_digest}
        by_sort = {plan: counts for plan, counts in self.by_sort.items() if plan != plan_digest}
        return replace(self, charged=charged, of_year=of_year, by_sort=by_sort)

    def including(self, charge: Charge, releases: int, of_year: int | None = None) -> Account:
        """Returns the account with so many releases of a training.

        ``of_year`` says how many the present year is charged for. Else it is for what is left of them, sort
        by sort: segments that cost more may come in this year, and those that cost less have been.
        """
        digest = charge.plan.digest()
        if of_year is None:
            of_year = self._forecast(charge.order, digest, releases)
        return replace(
            self,
            charged={**self.charged, digest: (charge, releases)},
            of_year={**self.of_year, digest: of_year},
        )

    def _forecast(self, order: Order, digest: str, releases: int) -> int:
        if digest not in self.by_sort:
            _, before = self.charged.get(digest, (None, 0))
            return max(0, self.of_year.get(digest, 0) + releases - before)
        in_all, in_year = map(Counter, self.by_sort[digest])
        # Subtraction of counters keeps what is positive.
        return order.covering(in_year + (order.by_sort(releases) - in_all))

    @property
    def this_year(self) -> Account:
        """The account of the present year alone."""
        counts = {plan: (charge, self.of_year.get(plan, 0)) for plan, (charge, _) in self.charged.items()}
        return replace(self, charged=counts)

    def total(self, limits: Limits) -> tuple[float, float]:
        """Returns (ε, δ) of everything that was charged, as ``limits`` compose it.

        What a filter cannot take was not spent under it, as `unfixed` says; then ε and δ are added.
        """
        spent = [(charge, count) for charge, count in self.charged.values() if count]
        filtered = self._filtered(limits)
        if filtered is None:
            added = [charge.added(count) for charge, count in spent]
            return sum(epsilon for epsilon, _ in added), sum(delta for _, delta in added)
        empty, taken = filtered
        return empty.epsilon_of(taken), empty.delta if spent else 0.0

    def share(self, limits: Limits) -> float:
        """Returns the share of the limits that is used; above 1, they are exceeded."""
        filtered = self._filtered(limits)
        if filtered is not None:
            empty, taken = filtered
            return empty.share(taken)
        epsilon, delta = self.total(limits)
        return max(epsilon / limits.epsilon, delta / limits.delta)

    def require(
        self, budget: BudgetTable, charge: Charge, releases: int, of_year: int | None = None
    ) -> Guarantee:
        """Returns the cost of ``releases`` releases of a training if the budget allows them.

        Raises:
            PolicyRefusal: code ``budget``, naming the limit that would be exceeded.
        """
        for refusal in self.refusals(budget, charge, releases, of_year):
            raise refusal
        return charge.cost(releases)

    def refusals(
        self, budget: BudgetTable, charge: Charge, releases: int, of_year: int | None = None
    ) -> Iterator[PolicyRefusal]:
        """Yields a refusal for each rule of the budget that so many releases of a training would break."""
        cost = charge.cost(releases)
        told = charge.told(releases)
        yield from _beyond(
            ("max_epsilon_per_training", cost.epsilon, budget.max_epsilon_per_training),
            ("max_delta_per_training", cost.delta, budget.max_delta_per_training),
            told=told,
        )
        yield from self._another_unit(charge)
        if unfixed := self.unfixed():
            yield PolicyRefusal(RefusalCode.BUDGET, unfixed)
            return
        later = self.including(charge, releases, of_year)
        yield from _no_room(later, budget.lifetime, ("max_epsilon", "max_delta"), told)
        if budget.year is not None:
            keys = ("max_epsilon_per_year", "max_delta_per_year")
            yield from _no_room(later.this_year, budget.year, keys, told)

    def _filtered(self, limits: Limits) -> tuple[AdaptiveFilter, Cost] | None:
        """Returns the filter of some limits, empty, and what it has taken; None if ε and δ are added."""
        empty = filter_of(limits)
        try:
            return None if empty is None else (empty, self._of_filter(empty))
        except PolicyRefusal:
            if not self.unfixed():
                raise
            return None

    def _of_filter(self, empty: AdaptiveFilter) -> Cost:
        return Cost.total(
            (charge.of_filter(empty, count), 1.0) for charge, count in self.charged.values() if count
        )

    def _another_unit(self, charge: Charge) -> Iterator[PolicyRefusal]:
        """A guarantee about records says nothing of persons, so that their costs cannot be added."""
        others = {known.plan.unit for known, count in self.charged.values() if count} - {charge.plan.unit}
        if others:
            yield PolicyRefusal(
                RefusalCode.BUDGET,
                f"all trainings of a budget must protect the same unit; this plan protects a "
                f"{charge.plan.unit.value}, and earlier ones a {min(unit.value for unit in others)}. Name "
                "another 'state' and 'anchor', with a budget of their own, in the policy.",
            )

    def unfixed(self) -> str:
        """Says why what a budget rests on does not hold: it must have stood before anything was seen.

        Of a sum that is its room for retries alone: its limits bound whatever was spent, also raised ones.
        """
        now, fixed = self.now, self.fixed
        if now is None or fixed == now or not any(count for _, count in self.charged.values()):
            return ""
        what, said = "a budget that composes by a filter", "nothing was"
        if now.adds and (fixed is None or fixed.adds):
            before = 0 if fixed is None else fixed.retries
            if before == now.retries:
                return ""
            what, said = "'budget.retries'", f"it was {before} and is {now.retries}"
        elif fixed is not None:
            said = fixed.difference(now)
        return (
            f"{what} must be written down before the first contribution, with all that it rests on; {said}. "
            "Put it back, or name another 'state' and 'anchor' and take what was spent off the limits."
        )


def _no_room(account: Account, limits: Limits, keys: tuple[str, str], told: str) -> Iterator[PolicyRefusal]:
    """Yields a refusal for each of the limits, named by ``keys``, that would be exceeded."""
    empty = filter_of(limits)
    if empty is None:
        used = zip(keys, account.total(limits), limits.pair, strict=True)
        yield from _beyond(*used, told=told)
        return
    try:
        empty.after(account._of_filter(empty))
    except BudgetExhausted:
        yield PolicyRefusal(
            RefusalCode.BUDGET,
            f"{told} must stay within this silo's 'budget.{keys[0]}' = {limits.epsilon} at "
            f"'budget.{keys[1]}' = {limits.delta:g}, composed by {limits.composition}; with them "
            f"{100.0 * account.share(limits):.4g} % of that would be used. Ask for fewer rounds or more "
            "noise; only the data owner can decide on another budget.",
        )
    except PolicyRefusal as refusal:
        yield refusal


def _beyond(*used: tuple[str, float, float], told: str) -> Iterator[PolicyRefusal]:
    """Yields a refusal for each key of the policy whose value is above its limit."""
    for key, value, limit in used:
        if not value <= limit:
            cost = epsilon_text(value) if "epsilon" in key else delta_text(value)
            yield PolicyRefusal(
                RefusalCode.BUDGET,
                f"{told} must stay within this silo's 'budget.{key}' = {limit}; they come to "
                f"{cost}. Ask for fewer rounds or more noise; only the data owner can raise the limit.",
            )
