"""How the training went, what privacy cost, and what training together brought."""

from __future__ import annotations

from collections.abc import Callable

from discreet.plan.assumptions import NO_CHOSEN_END
from discreet.privacy.notation import delta_is, epsilon_text
from discreet.quality.intervals import UNKNOWN
from discreet.report.chart import Axis, Chart, Line, draw, nice_scale
from discreet.report.content import (
    AbortedRound,
    CompletedRound,
    LostRound,
    Measured,
    ReportInput,
    RoundOutcome,
)
from discreet.report.html import Html, table, tag
from discreet.report.wording import accuracy_text, main_measure, measured_text

_NEVER_RELEASED = "no noise: not private, not released"


def course(report: ReportInput) -> Html:
    """Shows curves and the table of rounds."""
    parts = [tag("h2", "Training")]
    charts = _charts(report)
    if charts:
        parts.append(tag("div", *charts, class_="charts"))
    over = f"over all rounds so far, if {NO_CHOSEN_END}; else it is the budget from the first round on"
    if report.counts_whole:
        over = "over all rounds that are planned, from the first on, for results may end the training"
    note = (
        f"ε spent is the bound against {report.budget.adversary.describe()}, at "
        f"{delta_is(report.budget.delta)}, {over}. Errors, accuracy, AUC and loss are of "
        "held-out records, without noise: not private, and no guarantee covers them. The training loss, in "
        "report.json and metrics.jsonl, is that of the training records: not private either."
    )
    parts += [_rounds(report), tag("p", note, class_="soft")]
    return tag("section", *parts)


def price(report: ReportInput) -> Html:
    """Compares the released model with models that nobody may publish."""
    compared = report.comparison is not None
    heading = tag(
        "h2", "What privacy cost, and what training together brought" if compared else "How good the model is"
    )
    if report.final is None and report.comparison is None:
        return tag("section", heading, tag("p", _not_measured(report)))
    warning = tag(
        "div",
        tag("p", tag("strong", "Not private, not released.")),
        tag(
            "p",
            "These numbers, and the models marked below, were computed from the records without noise. "
            "No guarantee covers them. They exist in simulations, to show the price of privacy.",
        ),
        class_="warning",
        role="note",
        aria_label="Not private, not released",
    )
    return tag("section", heading, warning, _comparison(report))


def _not_measured(report: ReportInput) -> str:
    """Says why there is no measurement without noise; and what became of evaluations under the guarantee."""
    if not report.evaluations:
        return "Nothing was measured: evaluation was switched off, or no record was held out."
    lost = [one.name for one in report.outcomes if isinstance(one, LostRound) and "evaluation" in one.name]
    said = [f"{name[0].upper()}{name[1:]} was lost and stays charged." for name in lost]
    if report.held_out:
        said.append("What held-out records said under the guarantee is above.")
    return " ".join(["Nothing was measured without noise.", *said])


def _charts(report: ReportInput) -> list[Html]:
    """Draws quality, loss, a moving clipping norm and spent ε over the rounds."""
    charts = []
    accuracy = _series(report, lambda m: m.accuracy)
    mae = _series(report, lambda m: m.mae)
    auc = _series(report, lambda m: m.auc)
    if accuracy:
        lines = [Line("accuracy", accuracy), *([Line("AUC", auc)] if auc else [])]
        charts.append(_over_rounds("Quality, held-out (not private)", "accuracy, AUC", lines))
    if mae:
        title = "Mean absolute error, held-out (not private)"
        charts.append(_over_rounds(title, "mean absolute error", [Line("mean absolute error", mae)]))
    loss = _series(report, lambda m: m.loss)
    if loss:
        charts.append(_over_rounds("Loss, held-out (not private)", "loss", [Line("mean loss", loss)]))
    rounds = _numbered(report)
    norms = tuple((number, r.clip_norm) for number, r in rounds if r.clip_norm is not None)
    if norms:
        charts.append(_over_rounds("Clipping norm", "L2 norm", [Line("clipping norm", norms)]))
    spent = tuple((number, r.epsilon_spent) for number, r in rounds)
    if spent:
        # An end that results decide breaks every ε below the plan's (docs/theory/budgets.md).
        whole = max(report.budget.epsilon, *(epsilon for _, epsilon in spent))
        lines = [Line("whenever it ends", tuple((number, whole) for number, _ in spent))]
        if not report.counts_whole:
            lines.append(Line("were its end fixed before", spent))
        charts.append(
            _over_rounds("ε of the rounds up to each", "ε", lines, from_zero=True, write=epsilon_text)
        )
    return charts


def _series(report: ReportInput, read: Callable[[Measured], float | None]) -> tuple[tuple[float, float], ...]:
    """Returns (round, value) for the rounds that have a value."""
    measured = [(number, read(r.measured)) for number, r in _numbered(report) if r.measured is not None]
    return tuple((number, value) for number, value in measured if value is not None)


def _numbered(report: ReportInput) -> list[tuple[float, CompletedRound]]:
    """Returns the rounds behind their numbers; what prepares or evaluates is none."""
    rounds = [one for one in report.completed if not (one.prepared or one.held_out)]
    return [(float(one.release if one.round is None else one.round), one) for one in rounds]


def _over_rounds(
    title: str,
    unit: str,
    lines: list[Line],
    *,
    from_zero: bool = False,
    write: Callable[[float], str] = "{:.3g}".format,
) -> Html:
    """Draws lines over the number of the round; ``write`` puts their ends into words."""
    values = [y for line in lines for _, y in line.points]
    rounds = [x for line in lines for x, _ in line.points]
    ends = "; ".join(
        f"{line.label} from {write(line.points[0][1])} in round {line.points[0][0]:g} "
        f"to {write(line.points[-1][1])} in round {line.points[-1][0]:g}"
        for line in lines
    )
    return draw(
        Chart(
            title=title,
            description=f"{ends}. The table of rounds gives all values.",
            x=Axis("round", nice_scale(rounds, whole=True)),
            y=Axis(unit, nice_scale(values, from_zero=from_zero)),
            lines=tuple(lines),
        )
    )


def _rounds(report: ReportInput) -> Html:
    """Shows every attempt at a round, in order."""
    main = main_measure(r.measured for r in report.completed)
    header = ("Round", "Outcome", "Silos in the sum", main, "AUC", "Loss", "ε spent", "Bytes a silo")
    return table(
        "Rounds",
        header,
        [_round_row(outcome, report) for outcome in report.outcomes],
        numeric=(3, 4, 5, 6, 7),
    )


def _round_row(outcome: RoundOutcome, report: ReportInput) -> tuple[str, ...]:
    """Returns the cells of one attempt."""
    empty = (UNKNOWN,) * 4
    match outcome:
        case LostRound(reason=reason):
            return (
                _cell(outcome),
                f"interrupted, stays charged: {reason}",
                UNKNOWN,
                *empty[:3],
                UNKNOWN,
                UNKNOWN,
            )
        case AbortedRound(code=code):
            return (
                _cell(outcome),
                f"stopped before its sum was opened, charged to a silo's own message only: {code}",
                *empty,
                "none",
                UNKNOWN,
            )
        case CompletedRound():
            asked = report.silos if outcome.asked is None else outcome.asked
            missing = [silo for silo in asked if silo not in outcome.survivors]
            silos = f"{len(outcome.survivors)} of {len(asked)}" + ("" if outcome.asked is None else " asked")
            return (
                outcome.name,
                _how_it_ended(outcome),
                f"{silos}; without {', '.join(missing)}" if missing else silos,
                *_measured_cells(outcome.measured),
                epsilon_text(outcome.epsilon_spent),
                UNKNOWN if outcome.bytes_per_silo is None else f"{outcome.bytes_per_silo:,}",
            )


def _cell(outcome: LostRound | AbortedRound) -> str:
    """Names a release as completed ones are named in the table."""
    return outcome.name.removeprefix("the ").removeprefix("round ") or str(outcome.release)


def _how_it_ended(outcome: CompletedRound) -> str:
    if outcome.prepared:
        return "completed: training records asked what they are prepared by"
    if outcome.held_out:
        return "completed: held-out records asked"
    return "completed" if outcome.tick is None else f"completed, tick {outcome.tick}"


def _measured_cells(measured: Measured | None) -> tuple[str, str, str]:
    """Returns accuracy or mean absolute error, AUC and loss."""
    if measured is None:
        return (UNKNOWN,) * 3
    return (
        measured_text(measured, measured.mae if measured.accuracy is None else measured.accuracy),
        UNKNOWN if measured.auc is None else f"{measured.auc:.3f}",
        UNKNOWN if measured.loss is None else f"{measured.loss:.3f}",
    )


def _comparison(report: ReportInput) -> Html:
    """Shows the released model beside the others, over all records and silo by silo."""
    models: list[tuple[str, str, Measured]] = []
    if report.final is not None:
        models.append(("this run", "private, released", report.final))
    if report.comparison is not None:
        models.append(("all records pooled", _NEVER_RELEASED, report.comparison.pooled))
        models += [(f"{silo} alone", _NEVER_RELEASED, measured) for silo, measured in report.comparison.alone]
    if report.start is not None:
        models.append(
            ("no records: public weights alone", "before round 1: a measurement, not private", report.start)
        )
    silos = list(dict.fromkeys(name for _, _, measured in models for name, _ in measured.by_silo))
    rows = []
    for label, standing, measured in models:
        at = dict(measured.by_silo)
        by_silo = [measured_text(measured, at.get(silo)) for silo in silos]
        rows.append((label, standing, *_measured_cells(measured)[:2], *by_silo))
    base = next((measured.base_rate for _, _, measured in models if measured.base_rate is not None), None)
    if base is not None:
        auc = UNKNOWN if models[0][2].auc is None else "0.500"
        always = ("no records: always the commonest class", "the base rate: a count, not private")
        rows.append((*always, accuracy_text(base), auc, *(UNKNOWN for _ in silos)))
    median = next((one for _, _, one in models if one.constant_mae is not None), None)
    if median is not None:
        always = ("no records: always the median", "of the held-out labels: not private")
        unknown = (UNKNOWN for _ in ("AUC", *silos))
        rows.append((*always, measured_text(median, median.constant_mae), *unknown))
    main = main_measure(measured for _, _, measured in models)
    header = ("Trained on", "Standing", f"{main}, all silos", "AUC", *(f"{main}, {silo}" for silo in silos))
    return table("Measured on the held-out records", header, rows, numeric=range(2, len(header)))
