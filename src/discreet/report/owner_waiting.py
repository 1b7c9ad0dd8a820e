"""Plans that wait, on the owner's page: who asks for what, who could learn what, the cost, how to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.plan.guaranteed import guarantees_for
from discreet.privacy.adversary import Adversary
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import judge
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.report.foreign import LONGEST_TEXT, foreign
from discreet.report.html import Html, items, table, tag
from discreet.report.owner_columns import columns_read
from discreet.report.owner_price import price
from discreet.report.wording import UNITS, status_text
from discreet.silo.check import rounds_text
from discreet.silo.spending import Odometer, Proposed


@dataclass(frozen=True, slots=True)
class Waiting:
    """A plan that waits for a person here.

    Attributes:
        silo: whose page it is.
        budget: what was spent, and the limits.
        proposed: the plan, its cost, and where it would leave the budget.
        cost: the guarantee for this silo's units, under the owner's assumption about colluders.
        units: public bound on how many units all silos have.
        sends: what would leave this silo, in words.
        approve: the command that lets it take part.
        refuse: the command that refuses it.
        check: the command that counts the records that would take part, and says all that forbids it.
    """

    silo: str
    budget: Odometer
    proposed: Proposed
    cost: Guarantee
    units: int
    sends: tuple[str, ...]
    approve: str
    refuse: str
    check: str


def waiting_plans(waiting: Sequence[Waiting] | None, *, asks_a_person: bool) -> Html:
    """Returns the section of the plans that wait; all that a plan's sender wrote is escaped and bounded.

    Args:
        waiting: the plans; None if they cannot be shown, since what was spent is not known.
        asks_a_person: whether the policy lets every plan wait for one.
    """
    heading = tag("h2", "What waits for you")
    if waiting is None:
        return tag("section", heading, tag("p", _UNKNOWN))
    if not waiting:
        return tag("section", heading, tag("p", _NOTHING[asks_a_person]))
    return tag("section", heading, *(_plan(one) for one in waiting))


_UNKNOWN = "This cannot be told until what stands at the top of the page is mended. Decide nothing before."
_NOTHING = {
    True: (
        "No plan waits for a decision. There is nothing to do. When somebody proposes a training, or asks "
        "questions, the plan appears here with what it would read, send and cost, and with the commands that "
        "approve or refuse it; nothing leaves this silo under it before."
    ),
    False: (
        "No plan waits for a decision, and none will: the policy lets this silo take part in every plan that "
        'keeps its rules. To be asked each time, let whoever runs this silo set approval = "person" under '
        "[require] in the policy, and start the silo again."
    ),
}


def _plan(one: Waiting) -> Html:
    plan = one.proposed.plan
    title = f"{foreign(plan.name)} ({plan.digest()[:16]})"
    costs = price(one.proposed, one.cost, one.units, one.budget)
    return tag(
        "article",
        table(title, ("What", "It says"), _asked(one)),
        columns_read(plan.data),
        table("What it would cost", ("What", "Worked out here"), costs),
        tag("h4", "What would leave this silo"),
        items(one.sends),
        *_who_learns(one),
        tag("h4", "Decide"),
        tag("p", _DECIDE),
        command("To take part", one.approve),
        command("To refuse", one.refuse),
        tag("p", "First, to count the records that would take part, and to see everything that forbids it:"),
        command("To check", one.check),
    )


_DECIDE = (
    "Whoever runs this silo types one of these lines on this machine, as the silo's own user. Who refuses "
    'may add --reason "why" for this silo\'s own records; nobody else is told the words.'
)


def _asked(one: Waiting) -> list[tuple[str, str]]:
    """Says who asks for what, in the sender's own words where there are some."""
    plan = one.proposed.plan
    about = plan.about
    who, contact = _stated(about.controller), _stated(about.contact)
    numbers = f"{plan.facts.dimension:,} numbers"
    plural = "question" if len(plan.questions) == 1 else "questions"
    does = ("Asks", f"{len(plan.questions)} {plural}, answered by {numbers}")
    if not plan.questions:
        does = ("Trains", f"{foreign(plan.model_title)}, {numbers}, in {rounds_text(plan, one.silo)}")
    return [
        ("Asked by", f"{who}; contact: {contact}"),
        ("Purpose", _stated(about.purpose)),
        ("With", foreign(", ".join(plan.facts.silos), LONGEST_TEXT)),
        ("Protects", UNITS[plan.unit]),
        does,
        ("In each round, here", foreign(plan.local_of(one.silo).describe(), LONGEST_TEXT)),
        *(("But in", foreign(text, LONGEST_TEXT)) for text, _ in plan.segment_plans()),
    ]


def _who_learns(one: Waiting) -> list[Html]:
    """Shows this silo's cost and the plan's row for each adversary, but not for other silos' messages."""
    plan = one.proposed.plan
    distinct = _one_for_each([one.cost, *guarantees_for(plan, one.silo)])
    numbers = numbered(distinct)
    shown_rows = [
        (
            foreign(row.against),
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


def _one_for_each(rows: Sequence[Guarantee]) -> list[Guarantee]:
    """Returns one row for each adversary: the weakest promise where owner and plan assume differently."""
    found: dict[Adversary, Guarantee] = {}
    for row in rows:
        known = found.get(row.adversary)
        if known is None or (row.epsilon, row.delta) > (known.epsilon, known.delta):
            found[row.adversary] = row
    return list(found.values())


def _stated(words: str | None) -> str:
    return foreign(words, LONGEST_TEXT) if words else "not stated"


def command(title: str, line: str) -> Html:
    """Shows a line that can be copied as it stands, under what it is for."""
    return tag("div", tag("p", tag("strong", title)), tag("pre", tag("code", line)))
