"""The owner's page: what waits, what it would cost, what was spent and refused, for who has no terminal."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.privacy.notation import pair_text
from discreet.report.foreign import LONGEST_TEXT, foreign
from discreet.report.html import Html, items, table, tag
from discreet.report.owner_decisions import History, decided
from discreet.report.owner_spending import spending
from discreet.report.owner_waiting import Waiting, waiting_plans
from discreet.report.owner_words import words
from discreet.report.shell import document, resource
from discreet.silo.policy.refusal import RefusalCode
from discreet.silo.proposals import JOINED, Proposal
from discreet.silo.spending import Odometer

_VERDICTS = {
    JOINED: "taken part in",
    RefusalCode.PLAN: "refused: it was altered, or does not follow from its own settings",
    RefusalCode.EXPIRED: "refused: the policy's last day was over",
    RefusalCode.NOT_ALLOWED: "refused: the policy, or a person here, does not allow it",
    RefusalCode.APPROVAL: "was left for a person here to decide",
    RefusalCode.BUDGET: "refused: it would cost more than the budget has left",
    RefusalCode.IDENTITY: "refused: the list of silos is not the consortium's, or does not name this silo",
    RefusalCode.DATA: "refused: the records here do not fit the plan",
    RefusalCode.PROPOSALS: "refused: more plans were proposed than the policy takes in a day",
    RefusalCode.PROTOCOL: "ended: the server broke the protocol",
    RefusalCode.INTERNAL: "failed here; the silo's own log says why",
}


@dataclass(frozen=True, slots=True)
class Process:
    """What the process that serves a silo knows of itself.

    Attributes:
        plan: digest of the plan that it trains under; None if no training is under way.
    """

    plan: str | None


@dataclass(frozen=True, slots=True)
class OwnerView:
    """All that the page shows; nothing in it is computed from a record.

    Attributes:
        silo: its name in plans.
        written: when, ISO 8601, UTC.
        expires: the policy's last day.
        serving: whether a process answered for the silo then.
        process: the one that serves, if it wrote the page; None where somebody else did.
        odometer: what was spent; None if the ledger cannot be trusted.
        per_training: (ε, δ) that one training may cost at most.
        waiting: plans that wait for a person; None if what was spent, and so what they leave, is not known.
        asks_a_person: whether the policy lets every plan wait for one.
        history: what was decided, and what came of it.
        proposals: the last ones, oldest first.
        problems: what the owner should look at first.
        renew: the command that writes the page anew.
    """

    silo: str
    written: str
    expires: str
    serving: bool
    process: Process | None
    odometer: Odometer | None
    per_training: tuple[float, float]
    waiting: tuple[Waiting, ...] | None
    asks_a_person: bool
    history: History
    proposals: tuple[Proposal, ...]
    problems: tuple[str, ...]
    renew: str


def render_owner_page(view: OwnerView) -> str:
    """Returns the page as an HTML document. Pure: the same input, the same bytes.

    Guarantee:
        Every text in ``view`` is escaped, and shortened where others wrote it; the page refers to nothing
        outside itself and needs no script to be read.
    """
    main = tag(
        "main",
        *_problems(view),
        words(),
        waiting_plans(view.waiting, asks_a_person=view.asks_a_person),
        tag("section", tag("h2", "What goes on"), tag("p", _doing(view))),
        decided(view.history),
        *([spending(view.odometer, view.per_training)] if view.odometer is not None else []),
        _proposals(view),
        class_="foreign",
    )
    return document(f"Silo {view.silo}", [_header(view), main], style=resource("style.css"), scripts=())


def _header(view: OwnerView) -> Html:
    serving = "a process answered for it" if view.serving else "no process answered for it"
    return tag(
        "header",
        tag("h1", f"Silo {foreign(view.silo)}"),
        tag(
            "p",
            tag("strong", f"Written {view.written} (UTC)"),
            f", when {serving}. The page does not change by itself: what happened later is not on it. If "
            "that time is not today's, or before you decide, open the file again; if it stays the same, "
            "have the page written anew:",
        ),
        tag("pre", tag("code", view.renew)),
        tag(
            "p",
            f"The policy's last day is {view.expires}. This page is for the owner of the records: it is "
            "written on this machine, loads nothing, and is sent nowhere. Nothing on it is computed from a "
            "record.",
            class_="soft",
        ),
    )


def _problems(view: OwnerView) -> list[Html]:
    if not view.problems:
        return []
    entries = items([foreign(problem, LONGEST_TEXT) for problem in view.problems])
    return [tag("div", tag("p", tag("strong", "Look at this first")), entries, class_="warning", role="note")]


def _doing(view: OwnerView) -> str:
    """Says what the silo is doing; who wrote the page without serving cannot know."""
    if not view.serving:
        return "No process answers for this silo, so it takes part in nothing at present."
    if view.process is None:
        return "A process answers for this silo. Only the page that it writes itself names its training."
    if view.process.plan is None:
        return "This silo answers. No training is under way."
    plan = view.process.plan
    known = () if view.odometer is None else view.odometer.trainings
    own = next((one for one in known if one.plan == plan), None)
    if own is None:
        return f"A training is under way (plan {plan[:16]}); nothing has left this silo yet."
    return f"The training {foreign(own.name)} is under way (plan {plan[:16]}): {own.releases_text}."


_NO_PROPOSAL = (
    "Nothing was proposed that the policy was asked about. That is as it should be before the first plan: "
    "whoever coordinates the trainings proposes one through the server, and it is listed here with what "
    "became of it. If you expect a plan, ask whoever runs this silo whether it is serving."
)


def _proposals(view: OwnerView) -> Html:
    heading = tag("h2", "What was proposed")
    if not view.proposals:
        return tag("section", heading, tag("p", _NO_PROPOSAL))
    rows = [
        (
            one.time,
            tag("code", one.plan[:16]),
            _became(one, view),
            _cost(one),
        )
        for one in reversed(view.proposals)
    ]
    note = "Newest first. What is no plan, or not from the consortium, is in the silo's log and not here."
    header = ("When (UTC)", "Plan", "What became of it", "Would cost")
    return tag("section", heading, tag("p", note, class_="soft"), table("Proposals", header, rows))


def _became(one: Proposal, view: OwnerView) -> str:
    """Words a verdict; what was agreed to and came to nothing cost nothing, and says so."""
    if one.verdict == JOINED and view.odometer is not None:
        began = {training.plan for training in view.odometer.trainings}
        under_way = view.serving and (view.process is None or view.process.plan == one.plan)
        if one.plan not in began and not under_way:
            return "agreed to, and abandoned: nothing left this silo under it"
    return _VERDICTS.get(one.verdict, foreign(one.verdict))


def _cost(one: Proposal) -> str:
    if one.epsilon is None or one.delta is None:
        return "not worked out"
    return pair_text(one.epsilon, one.delta)
