"""The explorer's page: controls, key figures, a chart and a sortable table; all of it inside one file."""

from __future__ import annotations

import json

from discreet.plan.sweep import Costs, SweepRow
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.report.exploration import Dimension, Exploration
from discreet.report.html import Html, items, join, tag
from discreet.report.shell import document, resource

MEASURES = {
    "epsilon": "ε",
    "delta": "δ",
    "noise_multiplier": "noise multiplier",
    "noise_norm": "norm of the noise in a round's sum",
    "signal_to_noise": "signal / noise of a round, at most",
    "bits": "bits a weight",
    "bytes_per_silo": "bytes a silo and round",
    "bytes_per_training": "bytes a silo, all rounds",
}


# The script shows these as they are written here, so that they are rounded up in one place.
_WRITTEN = {"epsilon": epsilon_text, "delta": delta_text}


def render(exploration: Exploration) -> str:
    """Returns the page as an HTML document. Pure: the same input, the same bytes.

    Guarantee:
        Every text is escaped, nothing outside the page is referred to, and the browser runs no script
        but the bundled ones: their hashes are in the page's security policy.
    """
    sections = (_controls(exploration), _figures(), _chart(exploration), _table(exploration))
    data = tag("script", Html(_data(exploration)), type="application/json", id="data")
    return document(
        f"Plan explorer: {exploration.title}",
        [_header(exploration), tag("main", *sections), data],
        style=resource("style.css") + resource("explorer.css"),
        scripts=(
            resource("sort.js"),
            resource("explorer.js"),
        ),
    )


def _header(exploration: Exploration) -> Html:
    about = (
        f"Every ε is against {exploration.adversary}, for all rounds together, for each {exploration.unit}. "
        f"{len(exploration.rows)} combinations planned, nothing trained."
    )
    without = tag("p", "Controls, chart and sorting need JavaScript; the table below holds every number.")
    return tag(
        "header",
        tag("h1", f"Plan explorer: {exploration.title}"),
        tag("p", about, class_="soft"),
        tag("noscript", without),
    )


def _controls(exploration: Exploration) -> Html:
    """Draws one choice for each dimension, and what the chart shows."""
    asked = dict(exploration.asked)
    choices = [
        _choice(f"set-{n}", dimension.name, dimension.values, asked.get(dimension.name))
        for n, dimension in enumerate(exploration.dimensions)
    ]
    names = [dimension.name for dimension in exploration.dimensions]
    shown = [
        _choice("along", "chart along", names, names[0]),
        _choice("measure", "chart shows", list(MEASURES.values()), MEASURES["signal_to_noise"]),
    ]
    heading = tag("h2", "Choose", id="choose")
    return tag("section", heading, tag("form", *choices, *shown, class_="controls", aria_labelledby="choose"))


def _choice(name: str, label: str, values: list[str] | tuple[object, ...], chosen: object) -> Html:
    """Draws a labelled selection; options go by their place."""
    options = [
        tag("option", _text(value), value=str(n), **({"selected": "selected"} if value == chosen else {}))
        for n, value in enumerate(values)
    ]
    return tag("label", tag("span", label), tag("select", *options, id=name))


def _figures() -> Html:
    """Leaves room for the chosen combination's figures."""
    figures = [
        tag("div", tag("dt", title), tag("dd", "–", id=f"figure-{name}")) for name, title in MEASURES.items()
    ]
    return tag(
        "section",
        tag("h2", "This combination"),
        tag("p", "", id="refused", class_="warning", role="status", hidden="hidden"),
        tag("dl", *figures, class_="figures", aria_live="polite"),
        tag(
            "p", "Judged by ε and δ alone, it is ", tag("span", "–", id="judgement"), ".", aria_live="polite"
        ),
    )


def _chart(exploration: Exploration) -> Html:
    note = "Missing points were refused. The other settings are as chosen above."
    drawing = tag(
        "svg", id="chart", viewBox="0 0 400 240", role="img", aria_label=f"chart: {exploration.title}"
    )
    return tag(
        "section",
        tag("h2", "Along one setting"),
        tag("figure", tag("figcaption", "", id="chart-title"), drawing),
        tag("p", note, class_="soft"),
    )


def _table(exploration: Exploration) -> Html:
    """Writes every combination; refused ones refer to a numbered reason."""
    reasons = list(dict.fromkeys(row.outcome for row in exploration.rows if isinstance(row.outcome, str)))
    titles = [tag("th", title, scope="col", class_="number") for title in MEASURES.values()]
    settings = [
        tag("th", dimension.name, scope="col", class_="number") for dimension in exploration.dimensions
    ]
    head = [*settings, *_with_judgement(titles, tag("th", "judgement", scope="col"))]
    rows = [tag("tr", *_cells(row, reasons, exploration.dimensions)) for row in exploration.rows]
    inside = tag(
        "table",
        tag("thead", tag("tr", *head)),
        tag("tbody", *rows),
        id="table",
        aria_label="All combinations",
    )
    region = tag("div", inside, class_="scroll", role="region", tabindex="0", aria_label="All combinations")
    numbered = [f"({n}) {reason}" for n, reason in enumerate(reasons, start=1)]
    refused = [tag("h3", "Refused"), items(numbered)] if reasons else []
    summary = tag("summary", f"All {len(exploration.rows)} combinations; a title sorts by its column")
    return tag("section", tag("h2", "Table"), tag("details", summary, region, join(refused), open="open"))


def _cells(row: SweepRow, reasons: list[str], dimensions: tuple[Dimension, ...]) -> list[Html]:
    chosen = dict(row.settings)
    cells = [tag("td", _text(chosen[dimension.name]), class_="number") for dimension in dimensions]
    if isinstance(row.outcome, str):
        number = reasons.index(row.outcome) + 1
        return [*cells, tag("td", f"refused ({number})", colspan=str(len(MEASURES) + 1))]
    figures = [tag("td", _figure(row.outcome, name), class_="number") for name in MEASURES]
    judgement = tag("td", row.outcome.judgement.short, class_="judgement")
    return [*cells, *_with_judgement(figures, judgement)]


def _with_judgement(figures: list[Html], judgement: Html) -> list[Html]:
    """Puts the judgement right behind ε and δ, which it is about."""
    return [*figures[: len(_WRITTEN)], judgement, *figures[len(_WRITTEN) :]]


def _figure(costs: Costs, name: str) -> str:
    value = getattr(costs, name)
    if name in _WRITTEN:
        return _WRITTEN[name](value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _data(exploration: Exploration) -> str:
    """Returns the script's data, as JSON that cannot end its own element."""
    planned = [row.outcome for row in exploration.rows if isinstance(row.outcome, Costs)]
    judgements = list(dict.fromkeys(str(costs.judgement) for costs in planned))
    document = {
        "dimensions": [
            {"name": dimension.name, "values": [_text(value) for value in dimension.values]}
            for dimension in exploration.dimensions
        ],
        "measures": [{"key": key, "title": title} for key, title in MEASURES.items()],
        "judgements": judgements,
        "rows": [
            {
                "at": [d.values.index(dict(row.settings)[d.name]) for d in exploration.dimensions],
                **(
                    {"costs": None, "refused": row.outcome}
                    if isinstance(row.outcome, str)
                    else _planned(row.outcome, judgements)
                ),
            }
            for row in exploration.rows
        ],
    }
    return json.dumps(document, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _planned(costs: Costs, judgements: list[str]) -> dict[str, object]:
    """Returns the figures, those that are shown as written here, and the judgement; an infinite ε is null."""
    found = {name: getattr(costs, name) for name in MEASURES}
    return {
        "costs": {name: None if value == float("inf") else value for name, value in found.items()},
        "refused": None,
        "written": {name: write(found[name]) for name, write in _WRITTEN.items()},
        "judgement": judgements.index(str(costs.judgement)),
    }
