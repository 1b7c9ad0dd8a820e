"""The questions of NIST SP 800-226 about a guarantee: what a run answers, what is left to the organisation.

Near, Darais, Lefkovitz, Howarth (2025), https://doi.org/10.6028/NIST.SP.800-226. The rows are made after its
pyramid, in our own words: the numbers, what can undermine them, what lies below. It is no official checklist.
"""

from __future__ import annotations

from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.judgement import judge
from discreet.privacy.notation import pair_text
from discreet.report.board import NOT_STATED
from discreet.report.content import ReportInput
from discreet.report.withdrawal import again, stays
from discreet.report.wording import RELATIONS, UNITS, percent

_HEADER = ("Question", "Answered by this run", "Left to the organisation")


def nist_table(report: ReportInput) -> str:
    """Returns a page of Markdown with one table.

    Guarantee:
        No measurement on held-out records is in it; text that was stated stays one cell.
    """
    rows = (*_top(report), *_middle(report), *_bottom(report))
    lines = ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in (_HEADER, *rows)]
    simulation = "\n**A simulation: whoever knows its seed can remove the noise.**\n" if report.seeded else ""
    return "\n".join(
        [
            f"# NIST SP 800-226, asked of: {_cell(report.title)}",
            "",
            f"Finished on {report.finished or 'no day yet'}; plan (SHA-256) {report.plan_digest}.",
            simulation,
            lines[0],
            "|---|---|---|",
            *lines[1:],
            "",
            "The rows are made after the pyramid of NIST SP 800-226 (2025), in our own words; it is no "
            "official checklist. `discreet verify` works every number out again.",
            "",
        ]
    )


def _cell(words: str) -> str:
    """Keeps stated words within one cell, as text."""
    plain = " ".join(words.split()).replace("\\", "\\\\").replace("&", "&amp;").replace("<", "&lt;")
    return plain.replace("|", "\\|")


def _said(report: ReportInput, *labels: str) -> str:
    """Returns what is stated under labels, or that it is still to be."""
    found = [
        f"{fact.label}: {fact.value}"
        for fact in report.about
        if fact.label in labels and fact.value != NOT_STATED
    ]
    missing = [
        fact.label.lower() for fact in report.about if fact.label in labels and fact.value == NOT_STATED
    ]
    return "; ".join([*found, *([f"state: {', '.join(missing)}"] if missing else [])])


def _top(report: ReportInput) -> tuple[tuple[str, str, str], ...]:
    budget, spent = report.budget, report.spent
    worth = f"Judged alone, {judge(budget, report.units)}."
    return (
        (
            "How large are ε and δ, and what do they mean?",
            f"{pair_text(budget.epsilon, budget.delta)} for the plan, "
            f"whenever it ends, {budget.status.value}; "
            f"{pair_text(spent.epsilon, spent.delta)} spent, {spent.status.value}. {worth}",
            _said(report, "Why this ε", "Decided by"),
        ),
        (
            "What is the unit of privacy?",
            f"{UNITS[budget.unit]}, {RELATIONS[budget.neighboring]} ({budget.neighboring.value})",
            _said(report, "Records of one person"),
        ),
        (
            "What do several releases cost together?",
            f"all rounds of this {'training' if report.answers is None else 'sum'}, interrupted ones included"
            + ("; the silos' budgets are in the report" if report.silo_budgets else ""),
            "add up all trainings and other releases on the same records",
        ),
    )


def _middle(report: ReportInput) -> tuple[tuple[str, str, str], ...]:
    facts = {fact.label: fact.value for fact in report.facts}
    accuracy = "measured on held-out records, see the report (not private)"
    return (
        (
            "Which mechanism, and is it right?",
            f"{facts.get('Noise', NOT_STATED)}; {facts.get('Sensitivity', NOT_STATED)}. Proofs, tests and "
            "`discreet audit` belong to the software.",
            "a review by somebody else; this software has had no outside audit",
        ),
        (
            "Is the noise safe from floating point and poor randomness?",
            "no: the noise comes from a seed"
            if report.seeded
            else "integers are sent, and randomness is the operating system's; how exact the sampler is, is "
            "an assumption in the report",
            "sound random numbers on every machine",
        ),
        (
            "Is the result useful?",
            accuracy if report.quality is not None else "not measured",
            "judge whether it is good enough for its purpose",
        ),
        (
            "Is anybody worse off: bias, small groups?",
            "by silo and public category, see the report" if report.quality is not None else "not measured",
            "which groups matter; DP noise harms small groups most",
        ),
        (
            "Were settings tuned on the records?",
            "the plan states its rules as public; nothing checks where they came from",
            _said(report, "Tuning"),
        ),
    )


def _bottom(report: ReportInput) -> tuple[tuple[str, str, str], ...]:
    facts = {fact.label: fact.value for fact in report.facts}
    covered = [row for row in report.guarantees if not isinstance(row.adversary, WithoutSecureAggregation)]
    who = "; ".join(f"{row.against}: {pair_text(row.epsilon, row.delta)}" for row in covered)
    best = (
        ""
        if report.attack is None
        else f"; membership advantage at most {percent(report.attack.max_advantage)}"
    )
    return (
        ("Who is trusted, who may attack?", f"{who}{best}", "whether so few conspire as the plan allows"),
        ("Are there side channels?", "timing and traffic are not covered", "network, hosting, logs"),
        (
            "Who can reach the records?",
            "a simulation holds all records in one place; in a federation they stay at their silo, and only "
            f"what secure aggregation sends leaves it: {facts.get('Aggregation', NOT_STATED)}",
            "access control, encryption at rest and retention at every silo",
        ),
        (
            "What if somebody withdraws afterwards?",
            f"{stays(report)} {again(report)}",
            "remove the records at the silo; whether that answers a request for erasure",
        ),
        (
            "How were the records collected?",
            f"at most {report.units:,} units; {len(report.columns)} columns are listed in the report",
            _said(report, "Controller", "Legal basis", "Population", "Purpose"),
        ),
    )
