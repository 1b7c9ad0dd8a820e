"""The odometer: what a silo has spent, by what and when, and what a proposed plan would leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date

from discreet.plan import Plan
from discreet.plan.follows import require_follows
from discreet.plan.order import count_of
from discreet.privacy.ledger import Aborted, Entry, Intent, Opened, Resumed, Spending, charged_in, spending
from discreet.silo.policy import Account, Charge, Policy, PolicyRefusal
from discreet.silo.policy.ledger import by_training, charged_by_training
from discreet.silo.policy.limits import Limits
from discreet.silo.state import SiloState


@dataclass(frozen=True, slots=True)
class TrainingSpent:
    """What all trainings of one plan spent at this silo.

    Attributes:
        plan: its digest.
        name: what its config calls it.
        unit: whom its guarantee protects.
        releases: charged releases.
        lost: of these, how many were not seen to complete, and may have been seen.
        planned: how many the plan asks of this silo.
        covered: how many are charged from the first on: those planned, and room for retries.
        epsilon: what is added for them, under the owner's assumption about colluders: the whole training's,
            of which a server may leave out the rest because of what it saw (`Charge.added`).
        delta: that ``epsilon`` is stated at.
        first_day: of a contribution (UTC); None if the ledger does not say.
        last_day: likewise.
        last_survivors: how many silos were in the last release that this silo saw complete; None if none did.
    """

    plan: str
    name: str
    unit: str
    releases: int
    lost: int
    planned: int
    covered: int
    epsilon: float
    delta: float
    first_day: str | None
    last_day: str | None
    last_survivors: int | None

    @property
    def releases_text(self) -> str:
        """The releases for a person; more than covered say that the plan was carried out more than once."""
        if self.releases <= self.planned:
            so_far = " so far" if self.releases < self.planned else ""
            return f"{self.releases} of {self.planned} releases{so_far}"
        if self.releases <= self.covered:
            return f"{self.releases} releases, of {self.planned} planned and {self.covered} charged"
        # The ledger tells trainings of one plan apart no further: a resumed one looks like a new one.
        fewest = -(-self.releases // self.planned)
        return f"{self.releases} releases in {fewest} or more trainings of {self.planned}"

    @property
    def days_text(self) -> str:
        """From when to when, for a person."""
        if self.first_day is None or self.last_day is None:
            return "days not written down"
        return self.first_day if self.first_day == self.last_day else f"{self.first_day} to {self.last_day}"


@dataclass(frozen=True, slots=True)
class Level:
    """What was spent by some time.

    Attributes:
        epsilon: as the limits compose it.
        delta: likewise.
        share: of the limits; above 1, they are exceeded.
    """

    epsilon: float
    delta: float
    share: float


@dataclass(frozen=True, slots=True)
class Moment:
    """How far the odometer had come after the releases of one training on one day.

    Attributes:
        day: UTC; None if the ledger does not say.
        plan: digest of the training's plan.
        releases: charged on that day for that plan.
        level: of everything by then.
    """

    day: str | None
    plan: str
    releases: int
    level: Level


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a plan would cost, and where it would leave the odometer.

    Attributes:
        plan: the plan.
        alone: ε and δ of all its releases by themselves.
        before: everything that was spent by now.
        after: everything, with all releases of the plan.
        year_after: the same of the present year; None if the policy has no limits of a year.
        refusal: why this budget would not allow it; empty if it does.
    """

    plan: Plan
    alone: tuple[float, float]
    before: Level
    after: Level
    year_after: Level | None
    refusal: str


@dataclass(frozen=True, slots=True)
class Odometer:
    """A silo's spending.

    Attributes:
        silo: its name.
        unit: whom the policy's budget is about.
        limits: of all trainings together.
        lifetime: what is spent of them.
        year_limits: of the present calendar year; None if the policy has none.
        year: what is spent of those.
        years: what was spent in each calendar year (UTC) up to now, in order; none if the policy has no
            limits of a year. A release whose day is not written down counts in every year.
        trainings: in the order in which they began.
        moments: how it came, in order.
        unfixed: why no more can be spent, although there may be room; empty if nothing is wrong.
        retries: failed rounds of a training that may be tried again at no further charge.
    """

    silo: str
    unit: str
    limits: Limits
    lifetime: Level
    year_limits: Limits | None
    year: Level | None
    trainings: tuple[TrainingSpent, ...]
    moments: tuple[Moment, ...]
    unfixed: str = ""
    years: tuple[tuple[int, Level], ...] = ()
    retries: int = 0

    @property
    def composed_text(self) -> str:
        """Says in one sentence how trainings add up."""
        if not self.retries:
            return self.limits.composed_text
        room = count_of(self.retries, "further attempt")
        return f"{self.limits.composed_text}; the charge of each covers {room} at rounds, and at evaluations"


def odometer(policy: Policy, entries: tuple[Entry, ...], today: date) -> Odometer:
    """Works out from the silo's own ledger what was spent.

    Args:
        policy: limits, and what is assumed of others.
        entries: of its ledger.
        today: says which year it is.

    Raises:
        LedgerError: if the plan of a training is missing.
    """
    account = _account(policy, entries, today)
    limits, year = policy.budget.lifetime, policy.budget.year
    return Odometer(
        silo=policy.silo,
        unit=policy.require.unit,
        limits=limits,
        lifetime=_level(account, limits),
        year_limits=year,
        year=None if year is None else _level(account.this_year, year),
        trainings=tuple(_trainings(account, entries)),
        moments=_moments(account, entries, limits),
        unfixed=account.unfixed(),
        years=() if year is None else _years(policy, entries, today, year),
        retries=policy.budget.retries,
    )


def proposed(policy: Policy, entries: tuple[Entry, ...], today: date, plan: Plan) -> Proposed:
    """Works out what all releases of a plan would cost at this silo, whatever else its policy says.

    Raises:
        ConfigurationError: if the plan's noise or guarantees do not follow from its own config and facts.
        PolicyRefusal: if the plan's guarantee cannot be added to others.
        LedgerError: if the plan of a training is missing.
    """
    require_follows(plan)
    account = _account(policy, entries, today)
    charge = Charge.under(plan, policy)
    planned, cost, limits, refusal = charge.planned, charge.whole, policy.budget.lifetime, ""
    # One that was carried out before is charged once more; one that was interrupted goes on.
    _, before = account.charged.get(plan.digest(), (charge, 0))
    releases = planned if before < planned else before + planned
    try:
        account.require(policy.budget, charge, releases)
    except PolicyRefusal as found:
        refusal = str(found)
    later, year = account.including(charge, releases), policy.budget.year
    return Proposed(
        plan=plan,
        alone=(cost.epsilon, cost.delta),
        before=_level(account, limits),
        after=_level(later, limits),
        year_after=None if year is None else _level(later.this_year, year),
        refusal=refusal,
    )


def _account(policy: Policy, entries: tuple[Entry, ...], today: date) -> Account:
    return SiloState(policy).account(charged_by_training(entries), charged_by_training(entries, today.year))


def _years(
    policy: Policy, entries: tuple[Entry, ...], today: date, limits: Limits
) -> tuple[tuple[int, Level], ...]:
    """Works out each year by itself; a clock that went back begins no year anew, as in the budget."""
    written = {int(entry.day[:4]) for entry in entries if isinstance(entry, Intent) and entry.day is not None}
    found = []
    for year in sorted(written | {max({today.year, *written})}):
        counted = {plan: charged_in(own, year) for plan, own in by_training(entries).items()}
        account = SiloState(policy).account(charged_by_training(entries), counted)
        found.append((year, _level(account.this_year, limits)))
    return tuple(found)


def _level(account: Account, limits: Limits) -> Level:
    epsilon, delta = account.total(limits)
    return Level(epsilon, delta, account.share(limits))


def _trainings(account: Account, entries: tuple[Entry, ...]) -> list[TrainingSpent]:
    found = []
    for digest, own in by_training(entries).items():
        (charge, counted), spent = account.charged[digest], spending(own)
        epsilon, delta = charge.added(counted)
        days = [entry.day for entry in own if isinstance(entry, Intent)]
        found.append(
            TrainingSpent(
                plan=digest,
                name=charge.plan.name,
                unit=charge.plan.unit.value,
                releases=spent.charged,
                lost=len(spent.lost),
                planned=charge.planned,
                covered=charge.covered,
                epsilon=epsilon,
                delta=delta,
                first_day=days[0] if days else None,
                last_day=days[-1] if days else None,
                last_survivors=_last_survivors(spent),
            )
        )
    return found


def _last_survivors(spent: Spending) -> int | None:
    return len(spent.completed[-1].survivors) if spent.completed else None


def _moments(account: Account, entries: Sequence[Entry], limits: Limits) -> tuple[Moment, ...]:
    """Follows the ledger, a moment for each run of releases of one plan on one day."""
    found: list[Moment] = []
    counts: dict[str, Counter[str | None]] = {}
    for plan, day, releases in _runs(entries):
        counts.setdefault(plan, Counter()).update(releases)
        charges = {digest: (account.charged[digest][0], count) for digest, count in counts.items()}
        known = {digest: (one, one.order.covering(count)) for digest, (one, count) in charges.items()}
        by_then = replace(account, charged=known)
        found.append(Moment(day, plan, releases.total(), _level(by_then, limits)))
    return tuple(found)


def _runs(entries: Sequence[Entry]) -> list[tuple[str, str | None, Counter[str | None]]]:
    """Returns plan, day and number of charged releases by part, for each run of them in the ledger."""
    found: list[tuple[str, str | None, Counter[str | None]]] = []
    for plan, intent in _charged_intents(entries):
        if not (found and found[-1][:2] == (plan, intent.day)):
            found.append((plan, intent.day, Counter()))
        found[-1][2][intent.part] += 1
    return found


def _charged_intents(entries: Sequence[Entry]) -> list[tuple[str, Intent]]:
    """Returns every charged release with its plan, in order; an aborted one is taken back."""
    found: list[tuple[str, Intent]] = []
    plan = ""
    for entry in entries:
        match entry:
            case Intent() as intent:
                found.append((plan, intent))
            case Opened(plan_digest=digest) | Resumed(plan_digest=digest):
                plan = digest
            case Aborted():
                found.pop()
            case _:
                pass
    return found
