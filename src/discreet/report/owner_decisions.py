"""What became of plans, on the owner's page: approved, refused with the reason, carried out, expired."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.report.foreign import LONGEST_TEXT, foreign
from discreet.report.html import Html, table, tag
from discreet.silo.decisions import Decision
from discreet.silo.policy.refusal import RefusalCode
from discreet.silo.proposals import Proposal
from discreet.silo.spending import TrainingSpent

_MOST = 100
_NOT_WRITTEN = "not written down"


@dataclass(frozen=True, slots=True)
class History:
    """What the silo's files say of decisions and of what followed.

    Attributes:
        decisions: of a person, oldest first.
        undated: digest and verdict of what was decided and has no line among them.
        trainings: what was carried out; empty if the ledger cannot be trusted.
        proposals: as the silo answered them.
    """

    decisions: tuple[Decision, ...] = ()
    undated: tuple[tuple[str, str], ...] = ()
    trainings: tuple[TrainingSpent, ...] = ()
    proposals: tuple[Proposal, ...] = ()


def decided(history: History) -> Html:
    """Returns the section, newest first; what has no time comes last."""
    heading = tag("h2", "What was decided, and what followed")
    # A day without a time is that of a training's last release, which follows what was decided on it.
    rows = sorted(_rows(history), key=lambda row: row[0] if "T" in row[0] else f"{row[0]}T~", reverse=True)
    undated = [
        (_NOT_WRITTEN, plan, "", f"{verdict} by a person here", "") for plan, verdict in history.undated
    ]
    if not rows and not undated:
        return tag("section", heading, tag("p", "Nobody decided on a plan yet, and none was carried out."))
    shown = [
        (time, tag("code", plan[:16]), foreign(name), what, foreign(reason, LONGEST_TEXT) or "none given")
        for time, plan, name, what, reason in (*rows[:_MOST], *undated)
    ]
    note = (
        "Newest first. Who decided is not written down. The last decision on a plan is the one that counts."
    )
    header = ("When (UTC)", "Plan", "Its name", "What", "Reason")
    return tag("section", heading, tag("p", note, class_="soft"), table("Decisions", header, shown))


def _rows(history: History) -> list[tuple[str, str, str, str, str]]:
    names = {one.plan: one.name for one in history.trainings}
    names |= {one.plan: one.name for one in history.decisions}
    found = [
        (one.time, one.plan, one.name, f"{one.verdict} by a person here", one.reason)
        for one in history.decisions
    ]
    found += [
        (one.last_day, one.plan, one.name, f"carried out: {one.releases_text}", "–")
        for one in history.trainings
        if one.last_day is not None
    ]
    expired = RefusalCode.EXPIRED
    return found + [
        (one.time, one.plan, names.get(one.plan, ""), "expired: the policy's last day was over", "–")
        for one in {one.plan: one for one in history.proposals}.values()
        if one.verdict == expired
    ]
