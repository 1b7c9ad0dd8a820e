"""A model card in Markdown: what is known of a model, and by blanks what only people can say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from discreet.data import TableRules
from discreet.data.bins import Bins
from discreet.data.columns import Column, Days, Numeric
from discreet.documents import shown
from discreet.kinds.model_facts import names_own_code
from discreet.plan import Plan
from discreet.plan.held_out import NOT_MEASURED
from discreet.privacy.assumptions import numbered
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.quality import NumberQuality, Quality
from discreet.quality.intervals import Interval, off_by, percents
from discreet.quality.levels import level_rows
from discreet.quality.owners import of_persons
from discreet.released.model import rules_of
from discreet.released.public_map import of_a_network, weights_name
from discreet.report import ReportInput, collect
from discreet.report.overview import GUARANTEE_COLUMNS, guarantee_cells
from discreet.report.wording import accuracy_text, does_not_say, says
from discreet.rounds import read_record

_TO_FILL_IN = "*(to be filled in: no program can know it)*"
_TAGS = ("differential-privacy", "federated-learning", "secure-aggregation")
_SIMULATION = (
    "> **Simulation.** The noise was drawn from a seed. Whoever knows the seed can remove the noise: this "
    "model protects nobody. The numbers below are those that the same plan has with secure randomness.\n"
)
_NOT_PRIVATE = (
    "These numbers are exact functions of held-out records, and not private: no guarantee covers them. "
    "Publish them only if that is agreed, or take this section out."
)
_BREAKS = (
    " **Publishing them breaks A{number}**, on which the guarantees above rest: then none of them holds for "
    "held-out records."
)


def model_card(run: Path) -> str:
    """Returns the card of the model that a run released, with front matter as the Hugging Face Hub reads it.

    Texts of the plan, such as names of columns, are escaped; nothing in it is read from records but the
    section on evaluation, which says so.

    Args:
        run: the folder of a run; no model is built, and no code imported.

    Raises:
        ConfigurationError: if the plan is missing or altered.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    plan, report = read_record(run).plan, collect(run)
    rules = rules_of(plan)
    parts = [
        _front_matter(rules),
        f"# {_plain(report.title)}\n",
        *([_SIMULATION] if report.seeded else []),
        _summary(report, plan.model_title),
        _section("Intended use", _use(report, rules)),
        _section("Data", _data(report, rules)),
        _section("Training", _training(report)),
        _section("Privacy", _privacy(report)),
        _section("Evaluation", _evaluation(report, plan)),
        _section("Limits", _list(does_not_say(report.budget, measured=False))),
        _section("How to use it", _usage(rules, plan)),
        _section("Citation", _citation(report)),
    ]
    return "\n".join(parts)


def _front_matter(rules: TableRules | None) -> str:
    kind = (
        ""
        if rules is None
        else f"pipeline_tag: tabular-{'classification' if _classes(rules) else 'regression'}\n"
    )
    tags = "".join(f"- {tag}\n" for tag in _TAGS)
    return f"---\nlicense:  # to be filled in\nlibrary_name: discreet\n{kind}tags:\n{tags}---\n"


def _classes(rules: TableRules) -> bool:
    return rules.schema.outcome is None


def _summary(report: ReportInput, model: str) -> str:
    budget = report.budget
    kept = "" if report.kept is None else f"; this is the model after round {report.kept}, the best one asked"
    return (
        f"Model *{_plain(model)}*, trained over {len(report.silos)} silos in {len(report.completed)} of "
        f"{report.planned}{kept}. What was released is "
        f"({epsilon_text(budget.epsilon)}, {delta_text(budget.delta)})-differentially private for each "
        f"{budget.unit.value} against {budget.adversary.describe()} ({budget.status.value}), under the "
        "assumptions below: whether the records keep to them, such as to their capacity, no file says.\n\n"
        f"Finished: {report.finished or 'not yet'}. Plan `{report.plan_digest}`.\n"
    )


def _use(report: ReportInput, rules: TableRules | None) -> str:
    if rules is None:
        does = "It gives each record the probability of every class."
    elif (outcome := rules.schema.outcome) is not None:
        predicted = _plain(str(rules.schema.label))
        does = (
            f"It predicts the number *{predicted}* of each row. In training it was clipped to the public "
            f"range from {outcome.low:g} to {outcome.high:g}; a prediction may lie outside."
        )
    elif not isinstance(rules.schema.label, str):
        labels, (_, second) = (
            ", ".join(f"*{_plain(name)}*" for name in rules.schema.label),
            rules.schema.classes,
        )
        does = f"It gives each row the probability of each of {labels} being {_plain(second)}."
    else:
        classes = ", ".join(map(_plain, rules.schema.classes))
        does = f"It gives each row the probability that *{_plain(rules.schema.label)}* is {classes}."
    stated = [(one.label, one.value, one.meaning) for one in report.about]
    return f"{does}\n\n- In which setting, and what it must not be used for: {_TO_FILL_IN}\n\n" + _table(
        ("Stated by the parties", "", "Meaning"), stated
    )


def _data(report: ReportInput, rules: TableRules | None) -> str:
    silos = next(fact for fact in report.facts if fact.label.endswith(" capacity"))
    origin = f"{_plain(report.attribution)}\n\n" if report.attribution else ""
    said = f"{origin}{silos.label} ({_plain(silos.meaning)}): {_plain(silos.value)}.\n"
    if rules is None:
        return said
    rows = [(column.column, _rule(column)) for column in rules.schema.columns]
    return (
        f"{said}\nRanges and texts are public knowledge, stated beforehand; a row is read by itself.\n\n"
        + _table(("Column", "How it is read"), rows)
    )


def _training(report: ReportInput) -> str:
    return _table(("Part", "What", "Meaning"), [(one.label, one.value, one.meaning) for one in report.facts])


def _rule(column: Column) -> str:
    marked = (
        "; a missing one is marked" if isinstance(column, Numeric | Days | Bins) and column.missing else ""
    )
    if isinstance(column, Numeric):
        code = "" if column.not_measured is None else f"; {column.not_measured:g} stands for not measured"
        return f"number from {column.low:g} to {column.high:g}; what lies outside is clipped{code}{marked}"
    if isinstance(column, Bins):
        edges = ", ".join(f"{edge:g}" for edge in (column.low, *column.cuts, column.high))
        return f"number in bins with the edges {edges}; what lies outside is clipped{marked}"
    if isinstance(column, Days):
        return f"day from {column.first} to {column.last}; what lies outside is clipped{marked}"
    texts = ", ".join(text or "blank" for text in column.texts)
    return f"one of {texts}; anything else counts as none of them"


def _privacy(report: ReportInput) -> str:
    rows = [(row.against, *guarantee_cells(row, report)) for row in report.guarantees]
    assumed = [(f"A{number}", assumption) for assumption, number in numbered(report.guarantees).items()]
    parts = [_table(("Against", *GUARANTEE_COLUMNS), rows), _list(says(report.budget))]
    if assumed:
        parts.append(_table(("Assumption", "It says"), assumed))
    return "\n".join(parts)


def _evaluation(report: ReportInput, plan: Plan) -> str:
    quality = report.quality
    if quality is None:
        return "Nothing was measured in the training. `discreet evaluate` does, on records with labels.\n"
    rows = _measures(quality) if isinstance(quality, Quality) else _errors(quality)
    warning = f"**{quality.warning}**\n\n" if quality.warning else ""
    stated = None if plan.evaluating is None else plan.evaluating.threshold
    called = (
        ""
        if stated is None
        else f"Called is the most probable class, from 0.5 on; evaluations under the guarantee call the "
        f"second class from {stated:g} on.\n\n"
    )
    number = numbered(report.guarantees).get(NOT_MEASURED)
    breaks = "" if number is None else _BREAKS.format(number=number)
    return (
        f"{warning}{called}On records held out from the training; in brackets 95 % intervals:\n\n"
        f"{_table(('Measure', 'Value'), rows)}\n{_NOT_PRIVATE}{breaks}\n"
    )


def _errors(quality: NumberQuality) -> list[tuple[str, str]]:
    return [
        ("Records", of_persons(quality.records, quality.persons)),
        ("Mean absolute error", off_by(quality.mae)),
        ("Mean absolute error of always naming the median", f"{quality.constant_mae:.4g}"),
        ("Root mean square error", off_by(quality.rmse)),
        ("Root mean square error of always naming the mean", f"{quality.constant_rmse:.4g}"),
        ("R²", "–" if quality.r2 is None else off_by(quality.r2)),
        *(
            (f"Mean absolute error, {one.by} {one.name}, of {one.records:,}", off_by(one.mae))
            for one in quality.groups
        ),
    ]


def _measures(quality: Quality) -> list[tuple[str, str]]:
    rows = [
        ("Records", of_persons(quality.records, quality.persons)),
        ("Accuracy", percents(quality.accuracy)),
        ("Base rate: always the commonest class", accuracy_text(quality.against.base_rate)),
        ("Balanced accuracy", percents(quality.balanced_accuracy)),
        ("Calibration error", f"{quality.sureness.error_text}. {quality.sureness.words}"),
    ]
    if quality.levels is not None:
        rows += [(name, value) for name, value, _ in level_rows(quality.levels)]
    for own in quality.labels or ():
        second = own.second
        rows.append((f"Label {second.name}: accuracy", percents(own.accuracy)))
        rows.append((f"Label {second.name}: base rate", accuracy_text(own.against.base_rate)))
        shares = f"{_share(second.recall)} / {_share(second.precision)}"
        rows.append((f"Label {second.name}, of {second.records:,}: recall / precision", shares))
    for one in quality.classes:
        shares = f"{_share(one.recall)} / {_share(one.precision)}"
        rows.append((f"Class {one.name}, of {one.records:,}: recall / precision", shares))
    return rows + [
        (f"Accuracy, {one.by} {one.name}, of {one.records:,}", percents(one.accuracy))
        for one in quality.groups
    ]


def _share(found: Interval | None) -> str:
    return "–" if found is None else percents(found)


def _usage(rules: TableRules | None, plan: Plan) -> str:
    call = "predict_proba" if rules is None or _classes(rules) else "predict"
    data = "frame" if rules is not None else "array"
    told = "a frame with the columns above" if rules is not None else "an array of records"
    return (
        "```python\nimport discreet\n\n"
        f'model = discreet.load_model("model.safetensors"{_opened(plan)})\n'
        f"model.{call}({data})  # {told}\n```\n\n"
        "`discreet export` writes it for ONNX, torch and scikit-learn. `discreet verify` works the "
        "guarantees out again, from the folder of the run.\n"
    )


def _opened(plan: Plan) -> str:
    """Returns what a model is opened with: the weights of a public network, leave to import what is named."""
    weights = f', weights="{weights_name(plan)}"' if of_a_network(plan) else ""
    imports = names_own_code(plan.model.name) or (plan.data.transform or "").startswith(("network:", "map:"))
    return weights + ", own_code=True" * imports


def _citation(report: ReportInput) -> str:
    entries = "\n\n".join(citation.bibtex for citation in report.citations).replace("`", "'")
    return f"```bibtex\n{entries}\n```\n"


def _section(title: str, text: str) -> str:
    return f"## {title}\n\n{text}"


def _list(lines: Iterable[str]) -> str:
    return "".join(f"- {_plain(line)}\n" for line in lines)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *([_plain(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _plain(text: str) -> str:
    """Returns a text that Markdown shows as it is, on one line: names may hold anything."""
    return re.sub(r"([\\`*_\[\]<>|&#])", r"\\\1", shown(text, len(text)))
