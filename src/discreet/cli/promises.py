"""A plan's settings and guarantees as several commands print them: tables, worth, assumptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rich.console import Group
from rich.table import Table
from rich.text import Text

from discreet.cli.listing import Listing, facts_table
from discreet.kinds import Timetable, room_text, timetable_text
from discreet.kinds.weighted import weights_text
from discreet.plan import Plan, judged
from discreet.plan.counted import parts
from discreet.plan.held_out import evaluation_text
from discreet.plan.prepared import preparation_text
from discreet.plan.silos import decides_text
from discreet.privacy.adversary import Adversary, SiloMessages, WithoutSecureAggregation
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_text, epsilon_text

# Silos that share a row, by name.
_MOST_NAMED = 4
_COLUMNS = ("against", "ε", "δ", "status", "judgement", "assumes")


def promises(
    plan: Plan, guarantees: Sequence[Guarantee], *, title: str, failing: frozenset[str] = frozenset()
) -> Group:
    """One row for each adversary, and a sentence on what the plan's target is worth.

    Assumptions of which it is known that they fail on these records (``failing``) stand beside the status.
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
            _status(row, numbers, failing),
            judged(plan, row).short,
            named(row, numbers),
        )
        for who, row in _merged(guarantees)
    )
    full_title = f"{title}, {protects.pop()}" if len(protects) == 1 else title
    return Group(Listing(full_title, _COLUMNS, rows, frozenset({"ε", "δ"})), Text(""), Text(worth(plan)))


def _status(row: Guarantee, numbers: Mapping[str, int], failing: frozenset[str]) -> str:
    """Returns the status, and which assumptions it lacks here."""
    lacking = sorted(numbers[text] for text in failing.intersection(row.assumptions))
    return row.status.value + "".join(f", but A{number} FAILS" for number in lacking)


def worth(plan: Plan) -> str:
    """Says what the whole plan leaves to the adversary that its target is held against."""
    budget = plan.spent(plan.releases)
    return (
        "The status says how well founded a number is, not how small. Judged by ε and δ alone, the guarantee "
        f"against {budget.adversary.describe()} is {judged(plan, budget)}."
    )


def assumptions_table(guarantees: Sequence[Guarantee]) -> Table:
    """Every assumption of the guarantees, by the number that the table of guarantees gives it."""
    rows = [(f"A{number}", text) for text, number in numbered(guarantees).items()]
    return facts_table("what is assumed", rows)


_ONE: dict[type[Adversary], str] = {
    WithoutSecureAggregation: "whoever sees one silo's own message, were secure aggregation absent",
    SiloMessages: "anyone who sees one silo's messages",
}


def _merged(guarantees: Sequence[Guarantee]) -> list[tuple[str, Guarantee]]:
    """Names each row, merging those of silos that differ in nothing but the silo."""
    rows: list[tuple[str, Guarantee]] = []
    local: dict[tuple[object, ...], list[tuple[str, Guarantee]]] = {}
    own: dict[tuple[object, ...], list[Guarantee]] = {}
    for row in guarantees:
        same = (row.epsilon, row.delta, row.neighboring, row.status, row.assumptions)
        if isinstance(row.adversary, WithoutSecureAggregation | SiloMessages):
            local.setdefault(same, []).append((row.against, row))
        elif row.silo is not None:
            own.setdefault(same, []).append(row)
        else:
            rows.append((row.against, row))
    for alike in own.values():
        first, count = alike[0], len(alike)
        names = ", ".join(row.silo or "" for row in alike) if count <= _MOST_NAMED else f"{count} silos, each"
        rows.append((replace(first, silo=names).against, first))
    for group in local.values():
        who, row = group[0]
        of_each = f"{_ONE[type(row.adversary)]} ({len(group)} silos, each)"
        rows.append((who if len(group) == 1 else of_each, row))
    return rows


def plan_table(plan: Plan) -> Table:
    """The facts of a plan, a line each."""
    grid, release = plan.grid, plan.release
    rows = {
        **_what(plan),
        "noise": f"{plan.privacy.mechanism}, multiplier {plan.noise_multiplier:.4g} "
        f"({release.share.variance**0.5 / release.share.num_silos**0.5:.4g} grid units a silo)",
        "sensitivity": f"{release.l2_sensitivity:.6g} grid units "
        f"{'before' if grid.noise_first else 'after'} rounding "
        f"({release.l2_sensitivity / grid.scale:.4g} {_measure(plan)})",
        "ring": f"2^{grid.bits}, scale {grid.scale:g}; {plan.bytes_per_vector:,} bytes a "
        f"{'masked vector' if plan.thresholds.summed else 'message'}",
        "aggregation": _summed(plan),
        "plan hash": plan.digest()[:16],
    }
    return facts_table("plan", list(rows.items()))


def _summed(plan: Plan) -> str:
    """Says how contributions come together, and how many must."""
    thresholds = plan.thresholds
    if not thresholds.summed:
        return f"none: the messages of {thresholds.num_silos} silos are seen, each with all of its own noise"
    return (
        f"{plan.aggregation.protocol}, {thresholds.num_silos} silos, at least "
        f"{thresholds.min_survivors} survive, {thresholds.max_colluding} may collude, "
        f"{thresholds.threshold} shares unmask"
    )


def _what(plan: Plan) -> dict[str, str]:
    """Says what is computed: a training, or answers."""
    numbers = f"{plan.facts.dimension:,}"
    if plan.questions:
        return {"questions": f"{len(plan.questions)}, in one sum", "numbers": numbers}
    return {
        "local training": plan.training.local.kind,
        **_class_weights(plan),
        **_own_settings(plan),
        **({} if plan.preparation is None else {"preparation": preparation_text(plan)}),
        **_rounds(plan),
        **_segments(plan),
        **_evaluations(plan),
        "weights": numbers,
    }


def _rounds(plan: Plan) -> dict[str, str]:
    """The lines on how many sums there are, and on the timetable if there is one."""
    if plan.timetable is None or plan.training.schedule is None:
        return {"rounds": f"{plan.rounds}"}
    return {
        "schedule": plan.training.schedule.describe(),
        "sums": timetable_text(plan.timetable, plan.facts.silos),
        **_room(plan, plan.timetable),
    }


def _segments(plan: Plan) -> dict[str, str]:
    """A line for each segment, if there are any; noise and sensitivity are shown of the first."""
    return {
        f"segment {number}": f"{text}; noise multiplier {stage.noise_multiplier:.4g}"
        for number, (text, stage) in enumerate(plan.segment_plans(), 1)
    }


def _room(plan: Plan, planned: Timetable) -> dict[str, str]:
    """The line on what a dropout costs, where sums have a floor."""
    if not plan.thresholds.summed:
        return {}
    return {"dropouts": room_text(planned, plan.thresholds.min_survivors)}


def _evaluations(plan: Plan) -> dict[str, str]:
    """The line on evaluations between rounds, if there are any: when, and what each side costs by itself."""
    if plan.evaluation is None:
        return {}
    (alone, rounds), (asked, count) = parts(plan, plan.releases)
    sides = (epsilon_text(one.spent(releases).epsilon) for one, releases in ((alone, rounds), (asked, count)))
    training, held_out = sides
    return {
        "evaluations": f"{count}, {evaluation_text(plan)}; noise multiplier {asked.noise_multiplier:.4g}",
        "each side alone": f"ε {training} for records in the training, ε {held_out} for held-out ones",
    }


def _own_settings(plan: Plan) -> dict[str, str]:
    """The lines on silos with settings of their own, and on one that decides the noise, if there are any."""
    stated = {"of their own": plan.own_settings} if plan.own_settings else {}
    decides = None if plan.timetable is not None else decides_text(plan.facts.silos, plan.own)
    return stated if decides is None else stated | {"needs most": decides}


def _class_weights(plan: Plan) -> dict[str, str]:
    """The line on weights of classes, if there are any."""
    stated = plan.training.local.weighs
    return {} if stated is None else {"class weights": weights_text(stated)}


def _measure(plan: Plan) -> str:
    """Says what one real unit of the grid is."""
    if plan.questions:
        return "of the longest that a record adds"
    rule = plan.norm_rule
    return "in weights" if rule is None else f"clipping norms; the first is {rule.initial:g}"
