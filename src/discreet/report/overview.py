"""The first screen of a report: what was promised, to whom, and what it means in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.plan.assumptions import NO_CHOSEN_END
from discreet.privacy.adversary import SiloMessages, WithoutSecureAggregation
from discreet.privacy.assumptions import named, numbered
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import judge
from discreet.privacy.notation import delta_is, delta_text, epsilon_text, factor_at_most, percent_at_most
from discreet.quality import Quality
from discreet.report.chart import Axis, Chart, Line, Logarithmic, draw
from discreet.report.content import AttackBound, AttackPoint, Measured, ReportInput
from discreet.report.html import Html, items, join, table, tag
from discreet.report.wording import (
    RELATIONS,
    UNITS,
    accuracy_text,
    does_not_say,
    headline,
    measured_text,
    percent,
    says,
    status_text,
)

_HEADLINE_RATE = 0.01
_DECADES = (0.001, 0.01, 0.1, 1.0)

GUARANTEE_COLUMNS = (
    "ε", "δ", "Status", "Judgement", "Assumptions", "Protected unit", "Neighbouring data sets"
)  # fmt: skip


def header(report: ReportInput) -> Html:
    """Writes the title and what the report is about."""
    done = f" on {report.finished}" if report.finished else ""
    made = (
        f"{len(report.completed)} of {report.planned} completed"
        if report.answers is None
        else f"the sum was {'made' if report.completed else 'not made'}"
    )
    kept = "" if report.kept is None else f"; released is the model after round {report.kept}"
    lost = f"; {report.lost_evaluations} of {report.evaluations} evaluations lost"
    made += lost if report.lost_evaluations else ""
    about = f"{len(report.silos)} silos; {made}{done}{kept}. Plan {report.plan_digest[:16]}…"
    return tag("header", tag("h1", f"Privacy report: {report.title}"), tag("p", about, class_="soft"))


def at_a_glance(report: ReportInput) -> Html:
    """Warns of a simulation and shows the key figures."""
    return join([*([_simulation_warning()] if report.seeded else []), _key_figures(report)])


def meaning(report: ReportInput) -> Html:
    """Says what the guarantee says, and what it does not."""
    exact = [outcome for outcome in report.completed if outcome.training_loss is not None]
    measured = report.final is not None or report.comparison is not None or bool(exact)
    worth = f"Judged by ε and δ alone, it is {judge(report.budget, report.units)}."
    return tag(
        "section",
        tag("h2", "What the guarantee says, and what it does not"),
        tag("p", headline(report.budget, _point(report.attack)), class_="lead"),
        tag("p", worth),
        tag("h3", "It says"),
        items(says(report.budget)),
        tag("h3", "It does not say"),
        items(does_not_say(report.budget, measured=measured)),
    )


def guarantees(report: ReportInput) -> Html:
    """Shows one row for each adversary, for the whole plan."""
    own = [g for g in report.guarantees if g.silo is not None]
    aggregated = [
        g
        for g in report.guarantees
        if g.silo is None and not isinstance(g.adversary, WithoutSecureAggregation)
    ]
    alone = [g for g in report.guarantees if isinstance(g.adversary, WithoutSecureAggregation)]
    planned = f"the whole plan, {report.planned}" if report.answers is None else "the sum"
    note = (
        f"For {planned}, in the worst case that the plan allows. "
        "A smaller ε protects more. The status says how well founded a number is; the judgement, by ε and δ "
        "alone, says what it is worth: in brackets how often an attacker who is right half of the time "
        "without what is released can be right with it, at most, or that δ is too large."
    )
    parts = [tag("h2", "Who can learn what"), tag("p", note)]
    numbers = numbered(report.guarantees)
    unmasked = all(isinstance(g.adversary, SiloMessages) for g in aggregated)
    what = "Without secure aggregation, as planned" if unmasked else "With secure aggregation"
    parts.append(_guarantee_table(what, "Adversary", aggregated, report))
    if own:
        parts.append(_guarantee_table(_OF_ONE_SILO, "Against", own, report))
    if alone:
        parts.append(
            _guarantee_table(
                "Without it: if someone saw a silo's own message, protected by that silo's noise only",
                "Message of",
                alone,
                report,
            )
        )
    if report.persons:
        parts.append(_persons(report))
    if numbers:
        rows = [(f"A{number}", assumption) for assumption, number in numbers.items()]
        parts += [table("What is assumed", ("Assumption", "It says"), rows), tag("p", _NOT_HERE)]
    return tag("section", *parts)


_OF_ONE_SILO = "Silo by silo, since they differ; the rows above hold for every silo"

_NOT_HERE = (
    "Whether the records kept to these assumptions, such as how many a silo may hold, is in no file: it is "
    "told to whoever holds them alone, on the terminal of the run or in the silo's own log, with the "
    "guarantee that is left. Ask each of them before you file this."
)


def _persons(report: ReportInput) -> Html:
    """Shows what the same noise leaves to somebody with several records."""
    rows = [
        (f"{count}", epsilon_text(row.epsilon), delta_text(row.delta), judge(row, report.units).short)
        for count, row in report.persons
    ]
    who = report.budget.adversary.describe()
    return table(
        f"Somebody with several records at one silo, against {who}",
        ("Records", "ε", "δ", "Judgement"),
        rows,
        numeric=(0, 1, 2),
    )


def attacker(report: ReportInput) -> Html:
    """Shows what the best attack could gain: table and trade-off curve."""
    parts = [tag("h2", "What an attacker gains")]
    if report.attack is None:
        return tag("section", *parts, tag("p", "The guarantee is not finite, so it limits no attacker."))
    who = report.budget.adversary.describe()
    note = (
        f"Upper bounds for any method of telling whether {UNITS[report.budget.unit]} was used, as {who}, "
        "who may know all the other data. They follow from the guarantee; no attack was run to get them. "
        "At any threshold, hits exceed false alarms by at most "
        f"{percent_at_most(report.attack.max_advantage)} (the membership advantage; 0 % is guessing)."
    )
    rows = [
        (percent(point.false_positive_rate), percent_at_most(point.max_true_positive_rate),
         f"{factor_at_most(point.max_true_positive_rate / point.false_positive_rate)} times")
        for point in report.attack.table
    ]  # fmt: skip
    header_row = ("False alarms allowed", "Largest share found", "Compared with guessing")
    shown = table("The best possible attack", header_row, rows, numeric=(1, 2))
    return tag(
        "section", *parts, tag("p", note), shown, tag("div", _tradeoff(report.attack), class_="charts single")
    )


def _simulation_warning() -> Html:
    """Warns about seeded noise."""
    return tag(
        "div",
        tag("p", tag("strong", "Simulation.")),
        tag(
            "p",
            "The noise was drawn from a seed. Whoever knows the seed can remove the noise: "
            "this run protects nobody. "
            "The numbers below are those that the same plan has with secure randomness.",
        ),
        class_="warning",
        role="note",
        aria_label="Simulation",
    )


def _key_figures(report: ReportInput) -> Html:
    """Shows the numbers that people look for first, never an ε alone."""
    budget = report.budget
    figures = [
        ("Privacy budget", f"ε = {epsilon_text(budget.epsilon)}", delta_is(budget.delta)),
        ("Spent so far", f"ε = {epsilon_text(report.spent.epsilon)}", _how_far(report)),
        ("Protects", UNITS[budget.unit], RELATIONS[budget.neighboring]),
        ("How well founded", budget.status.value, f"against {budget.adversary.describe()}"),
        _worth(report),
    ]
    alone = "" if report.start is None else f"public weights alone: {_main_text(report.start)}; "
    if report.final is not None and report.final.accuracy is None:
        always = f"{alone}always the median: {measured_text(report.final, report.final.constant_mae)}; "
        note = f"{always}held-out records, not private"
        figures.append(("Mean absolute error", measured_text(report.final, report.final.mae), note))
    elif report.final is not None:
        auc = "" if report.final.auc is None else f"AUC {report.final.auc:.3f} (guessing: 0.500); "
        base = report.final.base_rate
        several = isinstance(report.quality, Quality) and report.quality.labels is not None
        title, what = ("All labels right", "combination") if several else ("Accuracy", "class")
        always = "" if base is None else f"always the commonest {what}: {accuracy_text(base)}; "
        figures.append(
            (
                title,
                measured_text(report.final, report.final.accuracy),
                f"{alone}{always}{auc}held-out records, not private",
            )
        )
    return tag(
        "dl",
        *(
            tag("div", tag("dt", label), tag("dd", value, tag("small", note)))
            for label, value, note in figures
        ),
        class_="figures",
    )


def _main_text(found: Measured) -> str:
    return measured_text(found, found.mae if found.accuracy is None else found.accuracy)


def _how_far(report: ReportInput) -> str:
    """Says what was charged, and what it rests on where more was planned: else ε would be that of the end."""
    if report.counts_whole:
        return f"{report.charged}; all that is planned counts, for results may end the training"
    if NO_CHOSEN_END not in report.spent.assumptions:
        return report.charged
    return f"{report.charged}; {report.spent.status.value}, if {NO_CHOSEN_END}; whatever the end, the budget"


def _point(attack: AttackBound | None) -> AttackPoint | None:
    """Returns the quoted point that the headline uses."""
    if attack is None:
        return None
    return min(attack.table, key=lambda point: abs(point.false_positive_rate - _HEADLINE_RATE))


def _worth(report: ReportInput) -> tuple[str, str, str]:
    """Returns the key figure that says how small the number is, beside how well founded."""
    judgement = judge(report.budget, report.units)
    right = f"a 50 % guess becomes right at most {percent_at_most(judgement.best_guess)} of the time"
    return ("What it is worth", judgement.level.value, right)


def _guarantee_table(caption: str, who: str, rows: Sequence[Guarantee], report: ReportInput) -> Html:
    """Shows guarantees, one a row, with the numbers of their assumptions."""
    shown = [(_whom(row), *guarantee_cells(row, report)) for row in rows]
    return table(caption, (who, *GUARANTEE_COLUMNS), shown, numeric=(1, 2))


def guarantee_cells(guarantee: Guarantee, report: ReportInput) -> tuple[str, ...]:
    """Words a guarantee of a report, a text for each of `GUARANTEE_COLUMNS`."""
    return (
        epsilon_text(guarantee.epsilon),
        delta_text(guarantee.delta),
        status_text(guarantee),
        judge(guarantee, report.units).short,
        named(guarantee, numbered(report.guarantees)),
        UNITS[guarantee.unit],
        f"{guarantee.neighboring.value}: {RELATIONS[guarantee.neighboring]}",
    )


def _whom(row: Guarantee) -> str:
    """Names an adversary in its table."""
    return row.adversary.silo if isinstance(row.adversary, WithoutSecureAggregation) else row.against


def _tradeoff(attack: AttackBound) -> Html:
    """Draws the bound against guessing, both axes logarithmic."""
    lowest = attack.curve[0].false_positive_rate
    scale = Logarithmic(lowest, 1.0, tuple(rate for rate in _DECADES if rate >= lowest))
    bound = tuple((p.false_positive_rate, p.max_true_positive_rate) for p in attack.curve)
    chart = Chart(
        title="Trade-off curve",
        description="The largest true-positive rate at each false-positive rate, above the line of guessing. "
        "The table above gives values.",
        x=Axis("False-positive rate", scale, percent),
        y=Axis("True-positive rate", scale, percent),
        lines=(
            Line("best attack that the guarantee allows", bound),
            Line("guessing", ((lowest, lowest), (1.0, 1.0))),
        ),
    )
    return draw(chart)
