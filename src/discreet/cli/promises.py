"""What a plan promises, as several commands print it: the table, what it is worth, and what it assumes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from discreet.cli.listing import Listing, facts_table
from discreet.plan import Plan, judged
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_text, epsilon_text

_COLUMNS = ("against", "ε", "δ", "status", "judgement", "assumes")


def promises(plan: Plan, guarantees: Sequence[Guarantee], *, title: str) -> Group:
    """One row for each adversary, and a sentence on what the plan's target is worth.

    Silos with the same local guarantee share a row; what all rows have in common, unit and relation, stands
    in the title. The judgement stands beside the status and does not change it.
    """
    numbers = numbered(guarantees)
    protects = {f"per {row.unit.value}, {row.neighboring.value}" for row in guarantees}
    rows = tuple(
        (
            who if len(protects) == 1 else f"{who}, per {row.unit.value}, {row.neighboring.value}",
            epsilon_text(row.epsilon),
            delta_text(row.delta),
            row.status.value,
            judged(plan, row).short,
            named(row, numbers),
        )
        for who, row in _merged(guarantees)
    )
    full_title = f"{title}, {protects.pop()}" if len(protects) == 1 else title
    return Group(Listing(full_title, _COLUMNS, rows, frozenset({"ε", "δ"})), Text(""), Text(worth(plan)))


def worth(plan: Plan) -> str:
    """Says what the whole plan leaves to the adversary that its target is held against."""
    budget = plan.spent(plan.rounds)
    return (
        "The status says how well founded a number is, not how small. Judged by ε and δ alone, the guarantee "
        f"against {budget.adversary.describe()} is {judged(plan, budget)}."
    )


def assumptions_table(guarantees: Sequence[Guarantee]) -> Table:
    """Every assumption of the guarantees, by the number that the table of guarantees gives it."""
    rows = [(f"A{number}", text) for text, number in numbered(guarantees).items()]
    return facts_table("what is assumed", rows)


def _merged(guarantees: Sequence[Guarantee]) -> list[tuple[str, Guarantee]]:
    """Names each row, merging the local guarantees of silos that differ in nothing but the silo."""
    rows: list[tuple[str, Guarantee]] = []
    local: dict[tuple[object, ...], list[tuple[str, Guarantee]]] = {}
    for row in guarantees:
        who = row.adversary.describe()
        if isinstance(row.adversary, WithoutSecureAggregation):
            same = (row.epsilon, row.delta, row.neighboring, row.status, row.assumptions)
            local.setdefault(same, []).append((who, row))
        else:
            rows.append((who, row))
    for group in local.values():
        who, row = group[0]
        count = (
            f"whoever sees one silo's own message, were secure aggregation absent ({len(group)} silos, each)"
        )
        rows.append((who if len(group) == 1 else count, row))
    return rows
