"""One self-contained page: no network, light and dark, narrow and on paper; one script, that sorts tables."""

from __future__ import annotations

from discreet.quality import AnyQuality, Quality
from discreet.report import evidence, overview, training
from discreet.report.answers import answered, held_out
from discreet.report.board import board
from discreet.report.content import ReportInput
from discreet.report.how_far_off import how_far_off
from discreet.report.how_good import how_good
from discreet.report.html import Html, tag
from discreet.report.model_says import model_says
from discreet.report.shell import document, resource
from discreet.report.withdrawal import withdrawal


def render(report: ReportInput) -> str:
    """Returns the report as an HTML document. Pure: the same input, the same bytes.

    Guarantee:
        Every text in ``report`` is escaped; the page refers to nothing outside itself.
    """
    main = tag(
        "main",
        overview.at_a_glance(report),
        *([answered(report, report.answers)] if report.answers is not None else []),
        overview.meaning(report),
        overview.guarantees(report),
        *([evidence.budgets(report)] if report.silo_budgets else []),
        overview.attacker(report),
        withdrawal(report),
        *([held_out(report)] if report.held_out else []),
        *([_how_good(report.quality)] if report.quality is not None else []),
        *([model_says(report.shapes)] if report.shapes is not None else []),
        *([] if report.answers is not None else [training.course(report), training.price(report)]),
        board(report),
        evidence.refused(report),
        evidence.method(report),
        evidence.verification(report),
    )
    return document(
        f"Privacy report: {report.title}",
        [overview.header(report), main],
        style=resource("style.css"),
        scripts=(resource("sort.js"),),
    )


def _how_good(quality: AnyQuality) -> Html:
    return how_good(quality) if isinstance(quality, Quality) else how_far_off(quality)
