"""Parts of a report: the silos' budgets, what was refused, how it was done, how to check and cite it."""

from __future__ import annotations

from discreet.privacy.notation import pair_text
from discreet.report.content import ReportInput, SiloBudget
from discreet.report.html import Html, join, table, tag


def budgets(report: ReportInput) -> Html:
    """Shows what the training cost each silo that handed its policy over, and what is left."""
    note = (
        "Each owner sets limits and says how many other silos it expects to conspire with the server. "
        "The costs follow from plan and ledger; limits and other trainings are as the owner stated them. "
        "ε and δ of different trainings add up, unless the owner's budget composes them by a filter: then "
        "all trainings come to ε at the whole δ, and what is left is a share of the filter's own measure."
    )
    header = ("Silo", "Against", "This run", "Allowed in one", "All trainings", "Allowed in all", "Left",
              "Policy")  # fmt: skip
    rows = [_budget(budget) for budget in report.silo_budgets]
    heading = tag("h2", "Budget used against each silo's policy")
    return tag("section", heading, tag("p", note), table("Budgets of the silos", header, rows))


def _budget(budget: SiloBudget) -> tuple[str, ...]:
    training = budget.training
    return (
        budget.silo,
        training.adversary.describe(),
        pair_text(training.epsilon, training.delta),
        pair_text(*budget.limit_of_a_training, down=True),
        pair_text(*budget.used),
        pair_text(*budget.limit, down=True),
        _left(budget),
        "kept" if budget.is_kept else "exceeded",
    )


def _left(budget: SiloBudget) -> str:
    if budget.left is None:
        return f"{100.0 * max(0.0, 1.0 - (budget.share or 0.0)):.1f} % of the filter"
    return pair_text(*budget.left, down=True) if min(budget.left) >= 0 else "nothing"


def refused(report: ReportInput) -> Html:
    """Shows what was refused and what is not claimed."""
    heading = tag("h2", "What was refused, and what is not claimed")
    rows = [(refusal.what, refusal.why) for refusal in report.refusals]
    return tag("section", heading, table("Refused, or not claimed", ("What", "Why"), rows))


def method(report: ReportInput) -> Html:
    """Shows mechanism, sampling, noise, ring and data."""
    rows = [(fact.label, fact.value, fact.meaning) for fact in report.facts]
    parts = [tag("h2", "How it was done"), table("Plan", ("What", "Value", "What it means"), rows)]
    if report.attribution:
        parts.append(tag("p", f"Data: {report.attribution}.", class_="soft"))
    return tag("section", *parts)


def verification(report: ReportInput) -> Html:
    """Shows digests, versions and citations."""
    digests = [
        (
            "Plan (SHA-256)",
            tag("code", report.plan_digest),
            "all parties compared it before any key exchange",
        ),
        (
            "Ledger (SHA-256 of the last line)",
            tag("code", report.ledger_head),
            "each line contains the hash of the one before",
        ),
        _signature(report.signer),
    ]
    bibtex = [join([tag("h3", citation.role), tag("pre", citation.bibtex)]) for citation in report.citations]
    return tag(
        "section",
        tag("h2", "Check it, cite it"),
        tag(
            "p",
            "The numbers of this report come from plan.json, ledger.jsonl and metrics.jsonl beside it; "
            "report.json holds them for programs. The command ",
            tag("code", "discreet verify DIRECTORY"),
            " works every number out again from plan and ledger, and finds any changed byte.",
        ),
        table("Digests and signature", ("What", "Value", "Meaning"), digests),
        table("Software that wrote this report", ("Package", "Version"), report.versions),
        tag("details", tag("summary", "Citations (BibTeX) of what this run used"), *bibtex),
    )


def _signature(signer: str) -> tuple[str, Html | str, str]:
    """Says who signs the run, or plainly that nobody does."""
    if not signer:
        return ("Signature", "unsigned", "nothing in these files shows who made the run")
    meaning = "compare it with the coordinator's; discreet verify DIRECTORY --key KEY checks the signature"
    return ("Signed by (Ed25519 public key)", tag("code", signer), meaning)
