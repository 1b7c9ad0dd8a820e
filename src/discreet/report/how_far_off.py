"""How far a released regression is off on held-out records: figures, and a table by group."""

from __future__ import annotations

from discreet.quality import NumberGroup, NumberQuality
from discreet.quality.intervals import off_by
from discreet.report.how_good import groups_note, measured_on, warned
from discreet.report.html import Html, join, table, tag


def how_far_off(quality: NumberQuality) -> Html:
    """Shows what is known of the errors, with a warning if they are those of the best constant."""
    parts = [tag("h2", "How good is it"), *([warned(quality.warning)] if quality.warning else [])]
    parts += [tag("p", measured_on(quality)), _overall(quality)]
    parts += [_groups(by, quality) for by in dict.fromkeys(group.by for group in quality.groups)]
    return tag("section", *parts)


def _overall(quality: NumberQuality) -> Html:
    rows = [
        ("Mean absolute error", off_by(quality.mae), "in the unit of the label"),
        ("… of always naming the median", f"{quality.constant_mae:.4g}", f"more by {off_by(quality.gain)}"),
        ("Root mean square error", off_by(quality.rmse), "large errors count more"),
        (
            "… of always naming the mean",
            f"{quality.constant_rmse:.4g}",
            "the standard deviation of the labels",
        ),
        (
            "R²",
            off_by(quality.r2),
            "share of the labels' variance that is explained: 1 is all, 0 what the mean does",
        ),
    ]
    return table("Overall", ("Measure", "Value", "What it means"), rows)


def _groups(by: str, quality: NumberQuality) -> Html:
    own = [group for group in quality.groups if group.by == by]
    header = ("Group", "Records", "Mean absolute error", "… of the median", "Root mean square error")
    shown = table(f"By {by}", header, [_row(group) for group in own])
    return join([shown, *groups_note(group.records for group in own)])


def _row(group: NumberGroup) -> tuple[str, ...]:
    constant = f"{group.constant_mae:.4g}"
    return group.name, f"{group.records:,}", off_by(group.mae), constant, off_by(group.rmse)
