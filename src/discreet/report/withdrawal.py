"""What becomes of a training when somebody withdraws afterwards: what stays, what can be done, what it costs.

docs/theory/persons.md, "When somebody withdraws".
"""

from __future__ import annotations

from discreet.privacy.notation import pair_text
from discreet.privacy.units import Unit
from discreet.report.content import ReportInput
from discreet.report.html import Html, items, tag
from discreet.report.wording import RELATIONS, UNITS

_WHO = {
    Unit.RECORD: "somebody whose record was used",
    Unit.PERSON: "a person whose records were used",
    Unit.CLIENT: "a silo that took part",
}
_OTHERS = {
    Unit.RECORD: "every record that stays",
    Unit.PERSON: "everybody who stays",
    Unit.CLIENT: "every silo that stays",
}


def withdrawal(report: ReportInput) -> Html:
    """Says what happens when somebody withdraws after training, in the plan's own numbers."""
    title = tag("h2", f"If {_WHO[report.budget.unit]} withdraws")
    return tag("section", title, tag("p", stays(report)), items((*_several(report), *_done(report))))


def stays(report: ReportInput) -> str:
    """Says what was released of a unit, and that nothing of it can be deleted, or that more must be."""
    budget = report.budget
    unit, relation = UNITS[budget.unit], RELATIONS[budget.neighboring]
    if report.seeded:
        return (
            "This is a simulation: whoever knows its seed can remove the noise, so that what was released "
            f"may tell everything about {unit}. Only deleting every copy of it takes that back."
        )
    if budget.is_vacuous:
        return (
            f"Nothing finite is promised about {unit}, so that what was released may tell everything about "
            "it. Only deleting every copy of it takes that back."
        )
    return (
        f"What was released cannot be taken back, and stays. Whether {unit} is {relation} changes how likely "
        f"it is by no more than {pair_text(budget.epsilon, budget.delta)} says, against "
        f"{budget.adversary.describe()}. There is nothing to delete beyond that: the guarantee "
        "was made for those, too, who withdraw later."
    )


def again(report: ReportInput) -> str:
    """Says what the same training costs once more; added up, which holds if it was decided upon later."""
    budget = report.budget
    others = _OTHERS[budget.unit]
    if budget.is_vacuous:
        return f"To repeat this without it is a new release about {others}."
    once = pair_text(budget.epsilon, budget.delta)
    twice = pair_text(2.0 * budget.epsilon, 2.0 * budget.delta)
    unlike = len({row.epsilon for row in report.guarantees if row.silo is not None}) > 1
    most = "at most " if unlike else ""
    own = ", and as the row of its silo says" if unlike else ""
    return (
        f"To repeat this without it is a new release about {others}. With this plan it costs "
        f"each of them {most}{once} once more{own}, {most}{twice} in all if costs are added up, out of what "
        "the silos' budgets have left. It costs whoever withdrew nothing more, and takes nothing back."
    )


def _several(report: ReportInput) -> tuple[str, ...]:
    if report.budget.unit is not Unit.RECORD:
        return ()
    return ("Somebody with several records is protected less by what stays, as said above.",)


def _done(report: ReportInput) -> tuple[str, ...]:
    exact = report.final is not None or any(one.training_loss is not None for one in report.completed)
    removed = (
        "The silo ends its part; plans that name it must be made again."
        if report.budget.unit is Unit.CLIENT
        else "The silo removes the records from its source, and nothing uses them from then on. The plan "
        "stays as it is: none of its numbers was counted from records."
    )
    measured = (
        "Exact measurements, on held-out records or of the training loss, are not covered by ε: delete or "
        "repeat those that the records may be in."
    )
    erasure = "Whether this answers a request for erasure is for the controller to decide."
    return (removed, again(report), *([measured] if exact else []), erasure)
