"""Budget used against each silo's policy."""

from __future__ import annotations

from discreet.privacy.notation import pair_text
from discreet.report.content import ReportInput, SiloBudget
from discreet.report.html import Html, table, tag


def budgets(report: ReportInput) -> Html:
    """Shows what the training cost each silo that handed its policy over, and what is left."""
    note = (
        "Each owner sets limits and says how many other silos it expects to conspire with the server. "
        "The costs follow from plan and ledger; limits and other trainings are as the owner stated them. "
        "ε and δ of different trainings add up."
    )
    header = ("Silo", "Against", "This training", "Allowed in one", "All trainings", "Allowed in all", "Left",
              "Policy")  # fmt: skip
    rows = [_row(budget) for budget in report.silo_budgets]
    heading = tag("h2", "Budget used against each silo's policy")
    return tag("section", heading, tag("p", note), table("Budgets of the silos", header, rows))


def _row(budget: SiloBudget) -> tuple[str, ...]:
    training = budget.training
    return (
        budget.silo,
        training.adversary.describe(),
        pair_text(training.epsilon, training.delta),
        pair_text(*budget.limit_of_a_training, down=True),
        pair_text(*budget.used),
        pair_text(*budget.limit, down=True),
        pair_text(*budget.left, down=True) if min(budget.left) >= 0 else "nothing",
        "kept" if budget.is_kept else "exceeded",
    )
