"""Plans that wait, on the owner's page: who asks for what, who could learn what, the cost, how to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.plan import Plan
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import judge
from discreet.privacy.notation import delta_text, epsilon_text, pair_text
from discreet.report.foreign import LONGEST_TEXT, foreign
from discreet.report.html import Html, items, table, tag
from discreet.report.wording import UNITS, status_text
from discreet.silo.policy.document import Limits
from discreet.silo.spending import Proposed


@dataclass(frozen=True, slots=True)
class Waiting:
    """A plan that waits for a person here.

    Attributes:
        silo: whose page it is.
        proposed: the plan, its cost, and where it would leave the budget.
        cost: the guarantee for this silo's units, under the owner's assumption about colluders.
        units: public bound on how many units all silos have.
        limits: of all trainings together, and how they compose.
        sends: what would leave this silo, in words.
        approve: the command that lets it take part.
        refuse: the command that refuses it.
    """

    silo: str
    proposed: Proposed
    cost: Guarantee
    units: int
    limits: Limits
    sends: tuple[str, ...]
    approve: str
    refuse: str


def waiting_plans(waiting: Sequence[Waiting]) -> Html:
    """Returns the section of the plans that wait; all that a plan's sender wrote is escaped and bounded."""
    heading = tag("h2", "What waits for you")
    if not waiting:
        return tag("section", heading, tag("p", "No plan waits for a decision."))
    return tag("section", heading, *(_plan(one) for one in waiting))


def _plan(one: Waiting) -> Html:
    plan = one.proposed.plan
    title = f"{foreign(plan.name)} ({plan.digest()[:16]})"
    return tag(
        "article",
        table(title, ("What", "It says"), [*_asked(plan), *_price(one)]),
        tag("h4", "What would leave this silo"),
        items(one.sends),
        *_who_learns(one),
        tag("h4", "Decide"),
        tag("p", "Whoever runs this silo types one of these lines:"),
        _command("To take part", one.approve),
        _command("To refuse", one.refuse),
    )


def _asked(plan: Plan) -> list[tuple[str, str]]:
    """Says who asks for what, in the sender's own words where there are some."""
    about = plan.about
    who, contact = _stated(about.controller), _stated(about.contact)
    model = f"{foreign(plan.model_title)}, {plan.facts.dimension:,} numbers"
    return [
        ("Asked by", f"{who}; contact: {contact}"),
        ("Purpose", _stated(about.purpose)),
        ("With", foreign(", ".join(plan.facts.silos), LONGEST_TEXT)),
        ("Protects", UNITS[plan.unit]),
        ("Trains", f"{model}, in {plan.rounds} rounds"),
        ("In each round, here", foreign(plan.training.local.describe(), LONGEST_TEXT)),
    ]


def _price(one: Waiting) -> list[tuple[str, str]]:
    asked, judged = one.proposed, judge(one.cost, one.units)
    verdict = f"It would be refused: {asked.refusal}" if asked.refusal else "The budget allows it."
    after = one.limits.spent_text(asked.after.epsilon, asked.after.delta)
    return [
        ("Costs", f"{pair_text(*asked.alone)} against {one.cost.adversary.describe()}"),
        ("That is", f"{judged.level.value}: {judged.sentence}."),
        ("How well founded", status_text(one.cost)),
        (
            "Leaves",
            f"{after} spent by then in all trainings: {100.0 * asked.after.share:.1f} % of the budget. "
            f"{foreign(verdict, LONGEST_TEXT)}",
        ),
    ]


def _who_learns(one: Waiting) -> list[Html]:
    """Shows this silo's cost and the plan's row for each adversary, but not for other silos' messages."""
    plan = one.proposed.plan
    rows = [one.cost, *(row for row in plan.guarantees if _concerns(row, one.silo))]
    distinct = list(dict.fromkeys(rows))
    numbers = numbered(distinct)
    shown_rows = [
        (
            foreign(row.adversary.describe()),
            epsilon_text(row.epsilon),
            delta_text(row.delta),
            status_text(row),
            judge(row, one.units).short,
            named(row, numbers),
        )
        for row in distinct
    ]
    header = ("Who", "ε", "δ", "How well founded", "Judgement", "Assumptions")
    learned = table("Who could learn what, over the whole training", header, shown_rows, numeric=(1, 2))
    if not numbers:
        return [learned]
    assumed = items(f"A{number}: {foreign(text, LONGEST_TEXT)}" for text, number in numbers.items())
    summary = tag("summary", "What these promises take for granted")
    # Open, since a closed one is left out on paper.
    return [learned, tag("details", summary, assumed, open="open")]


def _concerns(row: Guarantee, silo: str) -> bool:
    return not isinstance(row.adversary, WithoutSecureAggregation) or row.adversary.silo == silo


def _stated(words: str | None) -> str:
    return foreign(words, LONGEST_TEXT) if words else "not stated"


def _command(title: str, line: str) -> Html:
    return tag("div", tag("p", tag("strong", title)), tag("pre", tag("code", line)))
