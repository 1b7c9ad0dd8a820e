"""How good the released model is on held-out records: figures, curves, and tables by class and by group."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress

from discreet.quality import AnyQuality, Group, LabelQuality, Quality, Verdict
from discreet.quality.intervals import UNKNOWN, area_text, percents
from discreet.quality.levels import level_rows
from discreet.report.chart import Axis, Chart, Line, draw, nice_scale
from discreet.report.html import Html, join, table, tag
from discreet.report.wording import accuracy_text

_SHARE = nice_scale([0.0, 1.0])
# Fewer records say little about a group.
_FEW = 30

_VERDICTS = {
    Verdict.ABOVE: "is better",
    Verdict.NOT_DISTINGUISHABLE: "cannot be told from it",
    Verdict.BELOW: "is worse",
}


def how_good(quality: Quality) -> Html:
    """Shows what is known of the model's quality, with a warning if its accuracy says nothing for it."""
    parts = [tag("h2", "How good is it"), *([warned(quality.warning)] if quality.warning else [])]
    parts += [tag("p", measured_on(quality)), _overall(quality)]
    charts = [*_curves(quality), _calibration(quality)]
    parts.append(tag("div", *charts, class_="charts"))
    if quality.classes:
        parts += [_classes(quality), _confusion(quality)]
    if quality.labels is not None:
        parts.append(_labels(quality.labels))
    parts += [_groups(by, quality) for by in dict.fromkeys(group.by for group in quality.groups)]
    return tag("section", *parts)


def measured_on(quality: AnyQuality) -> str:
    """Says of how many records, and persons, numbers are, and what they do not say."""
    records, others = f"{quality.records:,} held-out records", "other records drawn as these were"
    if quality.persons is not None:
        records += f" of {quality.persons:,} persons"
        others = "other persons drawn as these were, each with all records"
    return (
        f"Measured on {records}, without noise: not private, and no guarantee covers these numbers. "
        f"In brackets: 95 % intervals, for {others}. They say "
        "nothing of people who differ from them, nor whether the model is fair or safe to use."
    )


def warned(words: str) -> Html:
    """Shows a sentence about a model that is no better than naming one answer always."""
    return tag("div", tag("p", words), class_="warning", role="note", aria_label="Accuracy and base rate")


def _overall(quality: Quality) -> Html:
    against = quality.against
    compared = (
        f"accuracy of always naming the commonest class. The model has {against.gained} records right that "
        f"this has wrong, and {against.lost} the other way: it {_VERDICTS[against.verdict]} "
        f"(McNemar, p = {against.p_value:.2g})"
    )
    right = "share of records that the model has right"
    if quality.labels is not None:
        right = "share of records of which the model has all labels right"
        compared = compared.replace("commonest class", "commonest combination of labels")
    rows = [
        ("Accuracy", percents(quality.accuracy), right),
        ("Base rate", accuracy_text(against.base_rate), compared),
        ("Balanced accuracy", percents(quality.balanced_accuracy), "mean recall over the classes"),
        *(level_rows(quality.levels) if quality.levels is not None else ()),
        ("Brier score", area_text(quality.brier), f"{_squares(quality)}: 0 best, 1 worst"),
        (
            "Calibration error",
            quality.sureness.error_text,
            "distance between stated probability and observed share, mean over the records: 0 best",
        ),
    ]
    if len(quality.classes) == 2:
        second = quality.classes[1]
        rows += [
            ("Area under the ROC curve", area_text(second.auc), "guessing has 0.5"),
            (
                "Average precision",
                area_text(second.average_precision),
                f"area under the precision-recall curve; guessing has {second.records / quality.records:.3f}",
            ),
        ]
    return table("Overall", ("Measure", "Value", "What it means"), rows)


def _squares(quality: Quality) -> str:
    """Says what the Brier score is, for of several classes others take the whole sum."""
    if len(quality.classes) == 2:
        return "squared error of the probability"
    return "half the squared errors of the probabilities, summed over the classes"


def _curves(quality: Quality) -> list[Html]:
    """Draws ROC and precision-recall curves of two classes."""
    if not quality.roc:
        return []
    share = quality.classes[1].records / quality.records
    return [
        _chart(
            "ROC curve (not private)",
            ("false-positive rate", "true-positive rate"),
            Line("model", quality.roc),
            Line("guessing", ((0.0, 0.0), (1.0, 1.0))),
        ),
        _chart(
            "Precision and recall (not private)",
            ("recall", "precision"),
            Line("model", quality.precision_recall),
            Line("guessing", ((0.0, share), (1.0, share))),
        ),
    ]


def _calibration(quality: Quality) -> Html:
    """Draws how often what the model states happens."""
    points = tuple((part.stated, part.observed.value) for part in quality.calibration)
    drawn = _chart(
        "Calibration (not private)",
        ("stated probability", "observed share"),
        Line("model", points),
        Line("as stated", ((0.0, 0.0), (1.0, 1.0))),
    )
    return tag("div", drawn, tag("p", quality.sureness.words))


def _chart(title: str, axes: tuple[str, str], *lines: Line) -> Html:
    ends = (
        f"from ({lines[0].points[0][0]:.2f}, {lines[0].points[0][1]:.2f}) to ({lines[0].points[-1][0]:.2f}, "
    )
    return draw(
        Chart(
            title=title,
            description=f"{axes[1]} over {axes[0]}, {ends}{lines[0].points[-1][1]:.2f}). evaluation.json has "
            "all values.",
            x=Axis(axes[0], _SHARE),
            y=Axis(axes[1], _SHARE),
            lines=lines,
        )
    )


def _classes(quality: Quality) -> Html:
    rows = [
        (
            row.name,
            f"{row.records:,}",
            percents(row.recall),
            percents(row.precision),
            area_text(row.f1),
            area_text(row.auc),
            area_text(row.average_precision),
        )
        for row in quality.classes
    ]
    header = ("Class", "Records", "Recall", "Precision", "F1", "AUC", "Average precision")
    return table("Class by class", header, rows)


def _labels(labels: tuple[LabelQuality, ...]) -> Html:
    """Shows each of several labels by itself."""
    rows = [
        (
            one.second.name,
            f"{one.second.records:,}",
            percents(one.accuracy),
            accuracy_text(one.against.base_rate),
            percents(one.second.recall),
            percents(one.second.precision),
            area_text(one.second.auc),
            area_text(one.second.average_precision),
        )
        for one in labels
    ]
    header = ("Label", "Records", "Accuracy", "Base rate", "Recall", "Precision", "AUC", "Average precision")
    return table("Label by label", header, rows)


def _confusion(quality: Quality) -> Html:
    """Shows who was taken for what."""
    names = [row.name for row in quality.classes]
    rows = [
        (name, *(f"{count:,}" for count in counts))
        for name, counts in zip(names, quality.confusion, strict=True)
    ]
    header = ("Label", *(f"named {name}" for name in names))
    return table("Confusion matrix", header, rows, numeric=range(1, len(header)), stack=False)


def _groups(by: str, quality: Quality) -> Html:
    own = [group for group in quality.groups if group.by == by]
    header, rows = _without_empty(
        ("Group", "Records", "Base rate", "Accuracy", "Balanced accuracy", "Recall", "Precision", "AUC"),
        [_group_row(group) for group in own],
    )
    shown = table(f"By {by}", header, rows)
    return join([shown, *groups_note(group.records for group in own)])


def _without_empty(
    header: tuple[str, ...], rows: list[tuple[str, ...]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Leaves out columns in which nothing is known of any group, such as those of two classes alone."""
    known = [place == 0 or any(row[place] != UNKNOWN for row in rows) for place in range(len(header))]
    return tuple(compress(header, known)), [tuple(compress(row, known)) for row in rows]


def groups_note(records: Iterable[int]) -> list[Html]:
    """Returns a remark if a group has few records."""
    if not any(count < _FEW for count in records):
        return []
    note = f"Groups of fewer than {_FEW} records say little, and their numbers tell most of single people."
    return [tag("p", note, class_="soft")]


def _group_row(group: Group) -> tuple[str, ...]:
    return (
        group.name,
        f"{group.records:,}",
        accuracy_text(group.base_rate),
        percents(group.accuracy),
        percents(group.balanced_accuracy),
        percents(group.recall),
        percents(group.precision),
        area_text(group.auc),
    )
