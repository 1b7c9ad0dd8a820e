"""Tables that several commands print."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from discreet.plan import Plan, quantile_clipping
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.guarantee import Guarantee


def guarantees_table(guarantees: Sequence[Guarantee], *, title: str) -> Table:
    """One row for each adversary; silos with the same local guarantee share a row."""
    table = Table(title=title, title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
    for name, justify in (("against", "left"), ("ε", "right"), ("δ", "right"), ("unit", "left"),
                          ("neighbours", "left"), ("status", "left")):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for who, row in _merged(guarantees):
        table.add_row(
            who,
            _number(row.epsilon),
            f"{row.delta:g}",
            row.unit.value,
            row.neighboring.value,
            row.status.value,
        )
    return table


def plan_table(plan: Plan) -> Table:
    """The facts of a plan, a line each."""
    grid, release, thresholds = plan.grid, plan.release, plan.thresholds
    table = Table(title="plan", title_justify="left", title_style="bold", show_edge=False, show_header=False,
                  pad_edge=False)  # fmt: skip
    table.add_column(style="dim")
    table.add_column()
    rows = {
        "local training": plan.config.training.local.kind,
        "rounds": f"{plan.rounds}",
        "weights": f"{plan.facts.dimension:,}",
        "noise": f"{plan.config.privacy.mechanism}, multiplier {plan.noise_multiplier:.4g} "
        f"({release.share.variance**0.5 / release.share.num_silos**0.5:.4g} grid units a silo)",
        "sensitivity": f"{release.l2_sensitivity:.6g} grid units "
        f"{'before' if grid.noise_first else 'after'} rounding "
        f"({release.l2_sensitivity / grid.scale:.4g} {_measure(plan)})",
        "ring": f"2^{grid.bits}, scale {grid.scale:g}; {plan.bytes_per_vector:,} bytes a masked vector",
        "aggregation": f"{plan.config.aggregation.protocol}, {thresholds.num_silos} silos, at least "
        f"{thresholds.min_survivors} survive, {thresholds.max_colluding} may collude, "
        f"{thresholds.threshold} shares unmask",
        "plan hash": plan.digest()[:16],
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _measure(plan: Plan) -> str:
    """Says what one real unit of the grid is."""
    rule = quantile_clipping(plan.config)
    return "in weights" if rule is None else f"clipping norms; the first is {rule.initial_norm:g}"


def _merged(guarantees: Sequence[Guarantee]) -> list[tuple[str, Guarantee]]:
    """Names each row, merging the local guarantees of silos that have the same numbers."""
    rows: list[tuple[str, Guarantee]] = []
    local: dict[tuple[float, float], list[Guarantee]] = {}
    for row in guarantees:
        if isinstance(row.adversary, WithoutSecureAggregation):
            local.setdefault((row.epsilon, row.delta), []).append(row)
        else:
            rows.append((row.adversary.describe(), row))
    for same in local.values():
        names = [row.adversary.silo for row in same if isinstance(row.adversary, WithoutSecureAggregation)]
        who = names[0] if len(names) == 1 else f"{len(names)} silos, each"
        rows.append((f"whoever unmasks one silo's message ({who})", same[0]))
    return rows


def _number(value: float) -> str:
    return "∞ (nothing promised)" if value == float("inf") else f"{value:.3f}"
