"""The answers of a run that asked questions: every number with its interval, and curves with their bands."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.privacy.notation import pair_text
from discreet.quality.intervals import UNKNOWN
from discreet.report.answered import Answer, number_text, whole
from discreet.report.chart import Axis, Band, Chart, Line, draw, nice_scale
from discreet.report.content import ReportInput
from discreet.report.forest import draw_forest
from discreet.report.html import Html, table, tag
from discreet.report.plots import Curve, Grid, Plot
from discreet.statistics.rows import Row


def answered(report: ReportInput, answers: tuple[Answer, ...]) -> Html:
    """Shows each question with its answer; and says what all of them cost together."""
    silos = len(report.completed[-1].survivors) if report.completed else 0
    cost = pair_text(report.spent.epsilon, report.spent.delta)
    lead = (
        f"All answers come from one secure sum over {silos} of {len(report.silos)} silos. Together they cost "
        f"{cost}, {report.spent.status.value}, against {report.spent.adversary.describe()}. In brackets: "
        "intervals of 95 %, in which the noise of privacy is counted."
    )
    parts = [tag("h2", "Answers"), tag("p", lead)]
    if not answers:
        parts.append(tag("p", "The sum was not released, so there is no answer."))
    return tag("section", *parts, *(part for one in answers for part in _one(one)), class_="foreign")


def held_out(report: ReportInput) -> Html:
    """Shows what held-out records said of the model between rounds, under the guarantee."""
    lead = (
        "Records that the training never used were asked by secure sums of their own, with noise. A record "
        "is in the training or among those held out, so that its ε is the larger of the two, as the "
        "guarantees above state it. In brackets: intervals of 95 %, in which the noise of privacy is counted."
    )
    parts = (part for one in report.held_out for part in _one(one))
    heading = tag("h2", "How good the model is, under the guarantee")
    return tag("section", heading, tag("p", lead), *parts, class_="foreign")


def _one(answer: Answer) -> list[Html]:
    asked = "" if answer.question == answer.title else f"{answer.question} "
    about = tag("p", f"{asked}{answer.about[0].upper()}{answer.about[1:]}.", class_="soft")
    if answer.plots or answer.forest is not None:
        summary = tag("summary", f"All {len(answer.rows)} numbers")
        numbers = _numbers(f"Numbers: {answer.title}", answer.rows)
        shown = [_numbers(f"In short: {answer.title}", answer.main)] if answer.main else []
        shown += [] if answer.grid is None else _counts(f"Who is called what: {answer.title}", answer.grid)
        return [tag("h3", answer.title), _drawn(answer), *shown, tag("details", summary, numbers), about]
    if answer.grid is not None:
        tests = [_numbers("Test", answer.main)] if answer.main else []
        return [*_counts(answer.title, answer.grid), *tests, about]
    return [_numbers(answer.title, answer.rows), about]


def _drawn(answer: Answer) -> Html:
    if answer.forest is not None:
        return tag("div", draw_forest(answer.title, answer.forest), class_="charts single")
    figures = [tag("div", draw(_chart(answer.title, plot)), *_soft(plot.read)) for plot in answer.plots]
    return tag("div", *figures, class_="charts" if len(figures) > 1 else "charts single")


def _soft(words: str) -> list[Html]:
    return [tag("p", words, class_="soft")] if words else []


def _numbers(title: str, rows: Sequence[Row]) -> Html:
    cells = [(row.name, number_text(row.value), _interval(row.low, row.high), row.remark) for row in rows]
    width = 4 if any(row.remark for row in rows) else 3
    header = ("What", "Value", "95 % interval", "Remark")[:width]
    return table(title, header, [row[:width] for row in cells], numeric=(1, 2))


def _counts(title: str, grid: Grid) -> list[Html]:
    cells = [(text, *(whole(cell) for cell in counts)) for text, counts in grid.rows]
    header = (grid.corner, *grid.header)
    shown = table(title, header, cells, numeric=range(1, len(header)))
    return [shown, *_soft(grid.read)]


def _chart(title: str, plot: Plot) -> Chart:
    points = [point for curve in plot.curves for point in curve.points]
    marked = len(plot.curves) > 1 or bool(plot.diagonal)
    lines = tuple(
        Line(curve.label, tuple((at, value) for at, value, _, _ in curve.points), marked=marked)
        for curve in plot.curves
    )
    x = nice_scale([point[0] for point in points])
    y = nice_scale([end for point in points for end in point[1:]], from_zero=True)
    if plot.diagonal:
        x = y = nice_scale([0.0, 1.0])
        lines = (*lines, Line(plot.diagonal, ((0.0, 0.0), (1.0, 1.0)), marked=False))
    return Chart(
        title=plot.title or title,
        description=f"{plot.said or '; '.join(map(_ends, plot.curves)) + '.'} Shaded: intervals of 95 %.",
        x=Axis(plot.axes[0], x, "{:g}".format),
        y=Axis(plot.axes[1], y),
        lines=lines,
        bands=tuple(Band(tuple((at, low, high) for at, _, low, high in one.points)) for one in plot.curves),
        legend=len(lines) > 1,
    )


def _ends(curve: Curve) -> str:
    (first, start, _, _), (last, end, low, high) = curve.points[0], curve.points[-1]
    return f"{curve.label}: {start:.3g} at {first:.3g}, {end:.3g} ({low:.3g} to {high:.3g}) at {last:.3g}"


def _interval(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return UNKNOWN
    return f"{number_text(low)} to {number_text(high)}"
