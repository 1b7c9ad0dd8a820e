"""The owner's page: what waits, what it would cost, what was spent and refused, for who has no terminal."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.documents import shown
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import judge
from discreet.privacy.notation import epsilon_text, pair_text
from discreet.report.chart import Axis, Chart, Line, draw, nice_scale
from discreet.report.html import Content, Html, items, table, tag
from discreet.report.shell import document, resource
from discreet.report.wording import UNITS
from discreet.silo.policy.document import Limits
from discreet.silo.policy.refusal import RefusalCode
from discreet.silo.proposals import JOINED, Proposal
from discreet.silo.spending import Level, Odometer, Proposed

_LONGEST = 300
_LONGEST_TEXT = 2000
_VERDICTS = {
    JOINED: "taken part in",
    RefusalCode.PLAN: "refused: it was altered, or does not follow from its own settings",
    RefusalCode.EXPIRED: "refused: the policy's last day was over",
    RefusalCode.NOT_ALLOWED: "refused: the policy, or a person here, does not allow it",
    RefusalCode.APPROVAL: "waits for a person here",
    RefusalCode.BUDGET: "refused: it would cost more than the budget has left",
    RefusalCode.IDENTITY: "refused: the list of silos is not the consortium's, or does not name this silo",
    RefusalCode.DATA: "refused: the records here do not fit the plan",
    RefusalCode.PROPOSALS: "refused: more plans were proposed than the policy takes in a day",
    RefusalCode.PROTOCOL: "ended: the server broke the protocol",
    RefusalCode.INTERNAL: "failed here; the silo's own log says why",
}
_COMPOSED = {
    "sum": "The costs of trainings are added.",
    "renyi": "Trainings compose by a filter of Rényi divergences, which charges less than their sum.",
    "gaussian": "Trainings compose by a filter of Gaussian releases, which charges less than their sum.",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A plan that waits for a person here.

    Attributes:
        proposed: the plan, its cost, and where it would leave the budget.
        cost: the guarantee for this silo's units, under the owner's assumption about colluders.
        units: public bound on how many units all silos have.
        sends: what would leave this silo, in words.
        approve: the command that lets it take part.
        refuse: the command that refuses it.
    """

    proposed: Proposed
    cost: Guarantee
    units: int
    sends: tuple[str, ...]
    approve: str
    refuse: str


@dataclass(frozen=True, slots=True)
class OwnerView:
    """All that the page shows; nothing in it is computed from a record.

    Attributes:
        silo: its name in plans.
        written: when, ISO 8601, UTC.
        expires: the policy's last day.
        serving: whether a process answered for the silo then.
        odometer: what was spent; None if the ledger cannot be trusted.
        waiting: plans that wait for a person.
        proposals: the last ones, oldest first.
        problems: what the owner should look at first.
    """

    silo: str
    written: str
    expires: str
    serving: bool
    odometer: Odometer | None
    waiting: tuple[Waiting, ...]
    proposals: tuple[Proposal, ...]
    problems: tuple[str, ...]


def render_owner_page(view: OwnerView) -> str:
    """Returns the page as an HTML document. Pure: the same input, the same bytes.

    Guarantee:
        Every text in ``view`` is escaped, and shortened where others wrote it; the page refers to nothing
        outside itself and needs no script to be read.
    """
    main = tag(
        "main",
        *_problems(view),
        _waiting(view),
        *([_spending(view.odometer)] if view.odometer is not None else []),
        _proposals(view.proposals),
        _words(),
        class_="foreign",
    )
    return document(f"Silo {view.silo}", [_header(view), main], style=resource("style.css"), scripts=())


def _text(words: str, longest: int = _LONGEST) -> str:
    """Returns a text that others wrote, on one line and of bounded length."""
    return shown(words, longest)


def _header(view: OwnerView) -> Html:
    serving = "a process answered for it" if view.serving else "no process answered for it"
    return tag(
        "header",
        tag("h1", f"Silo {_text(view.silo)}"),
        tag(
            "p",
            f"Written {view.written} (UTC), when {serving}. The policy's last day is {view.expires}. This "
            "page is for the owner of the records: it is written on this machine, loads nothing, and nobody "
            "else sees it. Nothing on it is computed from a record.",
            class_="soft",
        ),
    )


def _problems(view: OwnerView) -> list[Html]:
    if not view.problems:
        return []
    entries = items([_text(problem, _LONGEST_TEXT) for problem in view.problems])
    return [tag("div", tag("p", tag("strong", "Look at this first")), entries, class_="warning", role="note")]


def _waiting(view: OwnerView) -> Html:
    heading = tag("h2", "What waits for you")
    if not view.waiting:
        return tag("section", heading, tag("p", "No plan waits for a decision."))
    return tag("section", heading, *(_plan(one) for one in view.waiting))


def _plan(one: Waiting) -> Html:
    plan, asked = one.proposed.plan, one.proposed
    about = plan.about
    purpose = _text(about.purpose, _LONGEST_TEXT) if about.purpose else "not stated"
    who = _text(about.controller) if about.controller else "not stated"
    contact = _text(about.contact) if about.contact else "not stated"
    judged = judge(one.cost, one.units)
    verdict = f"It would be refused: {asked.refusal}" if asked.refusal else "The budget allows it."
    rows = [
        ("Asked by", f"{who}; contact: {contact}"),
        ("Purpose", purpose),
        ("With", _text(", ".join(plan.facts.silos), _LONGEST_TEXT)),
        ("Protects", UNITS[plan.unit]),
        ("Costs", f"{pair_text(*asked.alone)} against {one.cost.adversary.describe()}"),
        ("That is", f"{judged.level.value}: {judged.sentence}."),
        ("How well founded", one.cost.status.value),
        ("Leaves", f"{_share(asked.after)} of the budget would be used. {verdict}"),
    ]
    return tag(
        "article",
        table(f"{_text(plan.name)} ({plan.digest()[:16]})", ("What", "It says"), rows),
        tag("h4", "What would leave this silo"),
        items(one.sends),
        _details("What the promise takes for granted", items(one.cost.assumptions)),
        tag("h4", "Decide"),
        tag("p", "Whoever runs this silo types one of these lines:"),
        _command("To take part", one.approve),
        _command("To refuse", one.refuse),
    )


def _details(title: str, inside: Html) -> Html:
    return tag("details", tag("summary", title), inside)


def _command(title: str, line: str) -> Html:
    return tag("div", tag("p", tag("strong", title)), tag("pre", tag("code", line)))


def _spending(found: Odometer) -> Html:
    limits = found.limits
    parts: list[Content] = [
        tag("h2", "What was spent"),
        tag(
            "p",
            f"The budget protects {_unit(found.unit)}: at most {_limit(limits)} for all trainings together. "
            f"{_COMPOSED.get(limits.composition, '')} {_of_year(found)}",
        ),
        _figures(found),
    ]
    if found.moments:
        parts += [_chart(found), _trainings(found), _days(found)]
    else:
        parts.append(tag("p", "Nothing has left this silo."))
    return tag("section", *parts)


def _unit(unit: str) -> str:
    return next((words for known, words in UNITS.items() if known.value == unit), unit)


def _limit(limits: Limits) -> str:
    return pair_text(limits.epsilon, limits.delta, down=True)


def _of_year(found: Odometer) -> str:
    return "" if found.year_limits is None else f"In one calendar year, at most {_limit(found.year_limits)}."


def _share(level: Level) -> str:
    return f"{100.0 * level.share:.1f} %"


def _figures(found: Odometer) -> Html:
    entries = [
        ("Spent", pair_text(found.lifetime.epsilon, found.lifetime.delta), "in all trainings"),
        ("Used", _share(found.lifetime), "of the whole budget"),
    ]
    if found.year is not None:
        entries.append(("This year", _share(found.year), "of the year's budget"))
    entries.append(("Trainings", f"{len(found.trainings)}", "that began here"))
    divs = (
        tag("div", tag("dt", name), tag("dd", value, tag("small", meaning)))
        for name, value, meaning in entries
    )
    return tag("dl", *divs, class_="figures")


def _chart(found: Odometer) -> Html:
    """Draws the share of the budget over the releases, in the order of the ledger."""
    points, count = [(0.0, 0.0)], 0
    for moment in found.moments:
        count += moment.releases
        points.append((float(count), 100.0 * moment.level.share))
    top = max(100.0, *(value for _, value in points))
    lines = (
        Line("used", tuple(points)),
        Line("the whole budget", ((0.0, 100.0), (float(count), 100.0))),
    )
    drawn = draw(
        Chart(
            "How much of the budget is used",
            f"After {count} releases {_share(found.lifetime)} of the budget is used; the table has each day.",
            Axis("releases that were charged", nice_scale([0.0, float(count)], from_zero=True, whole=True)),
            Axis("% of the budget", nice_scale([0.0, top], from_zero=True)),
            lines,
        )
    )
    return tag("div", drawn, class_="charts single")


def _trainings(found: Odometer) -> Html:
    rows = [
        (
            _text(one.name),
            tag("code", one.plan[:16]),
            one.days_text,
            one.releases_text,
            f"{one.lost}",
            pair_text(one.epsilon, one.delta),
        )
        for one in found.trainings
    ]
    note = (
        "A release that is lost left this silo and was not seen to end; it may have been opened, so it stays "
        "charged. The last column is what each training costs by itself."
    )
    header = ("Training", "Plan", "Days (UTC)", "Releases", "Lost", "By itself")
    return tag("div", table("Trainings", header, rows, numeric=(4,)), tag("p", note, class_="soft"))


def _days(found: Odometer) -> Html:
    names = {one.plan: _text(one.name) for one in found.trainings}
    rows = [
        (
            moment.day or "not written down",
            names.get(moment.plan, ""),
            f"{moment.releases}",
            epsilon_text(moment.level.epsilon),
            _share(moment.level),
        )
        for moment in found.moments
    ]
    header = ("Day", "Training", "Releases", "ε by then", "Of the budget")
    return table("Day by day", header, rows, numeric=(2, 3, 4))


def _proposals(proposals: tuple[Proposal, ...]) -> Html:
    heading = tag("h2", "What was proposed")
    if not proposals:
        return tag("section", heading, tag("p", "Nothing was proposed that the policy was asked about."))
    rows = [
        (
            one.time,
            tag("code", one.plan[:16]),
            _VERDICTS.get(one.verdict, _text(one.verdict)),
            _cost(one),
        )
        for one in reversed(proposals)
    ]
    note = "Newest first. What is no plan, or not from the consortium, is in the silo's log and not here."
    header = ("When (UTC)", "Plan", "What became of it", "Would cost")
    return tag("section", heading, tag("p", note, class_="soft"), table("Proposals", header, rows))


def _cost(one: Proposal) -> str:
    if one.epsilon is None or one.delta is None:
        return "not worked out"
    return pair_text(one.epsilon, one.delta)


def _words() -> Html:
    return tag(
        "section",
        tag("h2", "What the words mean"),
        items(
            (
                "ε (epsilon) bounds how much better than guessing anybody can tell whether one of those whom "
                "the budget protects took part. At 0.1 hardly at all; at 1 a 50 % guess is right at most "
                "73.2 % of the time; at 5 it may be right nearly always.",
                "δ (delta) is, roughly, the chance that this bound does not hold.",
                "What was released cannot be taken back. Removing somebody's records keeps them out of later "
                "trainings; what was released before stays as protected as it was.",
                "PROVEN, CHECKED and CONDITIONAL say how well founded a number is, not how small.",
            )
        ),
    )
