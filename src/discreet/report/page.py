"""One self-contained page: no script, no network, light and dark, narrow and on paper."""

from __future__ import annotations

from importlib import resources

from discreet.report import evidence, overview, training
from discreet.report.content import ReportInput
from discreet.report.html import Html, tag


def render(report: ReportInput) -> str:
    """Returns the report as an HTML document. Pure: the same input, the same bytes.

    Guarantee:
        Every text in ``report`` is escaped; the page refers to nothing outside itself.
    """
    style = resources.files(__name__.rpartition(".")[0]).joinpath("style.css").read_text(encoding="utf-8")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("title", f"Privacy report: {report.title}"),
        tag("style", Html(style)),
    )
    main = tag(
        "main",
        overview.at_a_glance(report),
        overview.meaning(report),
        overview.guarantees(report),
        overview.attacker(report),
        training.course(report),
        training.price(report),
        evidence.refused(report),
        evidence.method(report),
        evidence.verification(report),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', overview.header(report), main), lang='en')}\n"
