"""The facts of a plan, as several commands print them."""

from __future__ import annotations

from rich.table import Table

from discreet.cli.listing import facts_table
from discreet.plan import Plan


def plan_table(plan: Plan) -> Table:
    """The facts of a plan, a line each."""
    grid, release, thresholds = plan.grid, plan.release, plan.thresholds
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
    return facts_table("plan", list(rows.items()))


def _measure(plan: Plan) -> str:
    """Says what one real unit of the grid is."""
    rule = plan.norm_rule
    return "in weights" if rule is None else f"clipping norms; the first is {rule.initial_norm:g}"
