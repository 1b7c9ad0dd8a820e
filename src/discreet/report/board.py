"""What a board asks of a training before it files it: who, why, whose records, until when, what is left."""

from __future__ import annotations

from discreet.config.data import DataConfig
from discreet.plan import Plan
from discreet.privacy.judgement import judge
from discreet.privacy.notation import pair_text
from discreet.privacy.units import Unit
from discreet.report.content import Column, Fact, ReportInput
from discreet.report.html import Html, table, tag

NOT_STATED = "not stated"

_ASKED = {
    "controller": ("Controller", "who is responsible"),
    "contact": ("Contact", "whom to write to"),
    "purpose": ("Purpose", "what the result is for, and what it is not for"),
    "legal_basis": ("Legal basis", "consent, law or contract, and until when"),
    "population": ("Population", "whose records these are"),
    "region": ("Region", "where these people live, or whose law applies"),
    "contributions": ("Records of one person", "how many there may be, and who sees to it"),
    "why_epsilon": ("Why this ε", "why this ε and this δ"),
    "decided_by": ("Decided by", "who decided on ε and δ"),
    "tuning": ("Tuning", "how settings and ranges were found; runs that were discarded"),
}
_FOLDED = 30


def stated(plan: Plan) -> tuple[Fact, ...]:
    """Returns what the config's ``[about]`` says, and for the rest that it is not stated."""
    return tuple(
        Fact(label, getattr(plan.about, key) or NOT_STATED, meaning)
        for key, (label, meaning) in _ASKED.items()
    )


def columns(data: DataConfig) -> tuple[Column, ...]:
    """Returns label and feature columns of a table with their public rules; none for other records."""
    found = []
    if data.label is not None:
        texts = data.classes or tuple(str(number) for number in range(data.num_classes or 2))
        number = data.label_range
        rule = ", ".join(texts) if number is None else f"a number, {number[0]:g} to {number[1]:g}"
        found += [Column(name, "label", rule) for name in data.labels]
    for name, (low, high) in (data.ranges or {}).items():
        found.append(Column(name, "number", f"{low:g} to {high:g}{_in_bins(data, name)}"))
    for name, days in (data.dates or {}).items():
        found.append(Column(name, "date", f"{days.first} to {days.last}"))
    for name, values in (data.categories or {}).items():
        found.append(Column(name, "category", ", ".join(values)))
    return tuple(found)


def _in_bins(data: DataConfig, name: str) -> str:
    """Says into which bins a column of numbers is cut, if it is."""
    bins = data.bins if isinstance(data.bins, int) else (data.bins or {}).get(name)
    if bins is None:
        return ""
    if isinstance(bins, int):
        return f", in {bins} bins of equal width"
    return f", in bins with edges at {', '.join(f'{edge:g}' for edge in bins)}"


def board(report: ReportInput) -> Html:
    """Shows the facts that a board files, with a gap where nobody stated one."""
    one = "silo" if report.budget.unit is Unit.CLIENT else report.budget.unit.value
    rows = [
        ("Finished on", report.finished or "not finished", "UTC, by the clock of the machine that ran it"),
        *((fact.label, fact.value, fact.meaning) for fact in report.about),
        (
            f"{one.capitalize()}s, at most",
            f"{report.units:,}",
            "a public bound that the plan states; the true number is not in the plan",
        ),
        (
            "Contribution bound",
            f"one {one}",
            f"the guarantee is for one {one}, in all rounds together; who has several is protected less",
        ),
        (
            "Chosen budget",
            pair_text(report.budget.epsilon, report.budget.delta),
            f"it is {judge(report.budget, report.units)}",
        ),
        ("Cumulative budget", *_cumulative(report)),
    ]
    note = (
        "The words under Controller to Tuning are those of the config's [about], which all parties agreed "
        "to with the plan; no program can check them."
    )
    parts = [tag("h2", "For the file"), tag("p", note), table("Facts", ("What", "Answer", "Meaning"), rows)]
    if report.columns:
        shown = table(
            "Columns",
            ("Column", "Used as", "Public range or texts"),
            [(column.name, column.kind, column.rule) for column in report.columns],
        )
        summary = tag("summary", f"The {len(report.columns)} columns that were used")
        opened = {"open": "open"} if len(report.columns) <= _FOLDED else {}
        parts.append(tag("details", summary, shown, **opened))
    return tag("section", *parts)


def _cumulative(report: ReportInput) -> tuple[str, str]:
    if report.silo_budgets:
        most = max(report.silo_budgets, key=lambda budget: budget.used[0])
        return f"at most {pair_text(*most.used)}", "all trainings of a silo, as its policy states them"
    return (
        "this run only",
        "earlier runs on the same records add to it: discreet report RUN --policy shows them",
    )
