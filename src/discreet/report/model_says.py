"""The section on what the model says: its largest columns as charts, the others as a list."""

from __future__ import annotations

from discreet.report.html import Html, items, join, table, tag
from discreet.report.shape_charts import common_scale, draw_shape
from discreet.report.shapes import LOG_ODDS, Quiet, Shapes, Shown


def model_says(shown: Shown) -> Html:
    """Shows the curves of the largest columns of each class, and what their bands do not say."""
    shapes = shown.largest
    notes = [_noise(shapes.proven), _length(shapes.factors)]
    if shown.classes > len(shapes.outcomes):
        notes.append(f"Of {shown.classes:,} classes, the first {len(shapes.outcomes)} are drawn.")
    parts = [tag("h2", "What the model says"), tag("p", _meaning(shapes, shown.classes)), items(notes)]
    if shown.classes == 1:
        parts.append(_charts(shapes, shapes.outcomes[0]))
    else:
        being = "" if shapes.several else f"{shapes.label} is "
        parts += [
            tag("details", tag("summary", being + outcome), _charts(shapes, outcome))
            for outcome in shapes.outcomes
        ]
    return tag("section", *parts, *([_others(shown.others)] if shown.others else []), class_="foreign")


def _meaning(shapes: Shapes, classes: int) -> str:
    if shapes.adds_to != LOG_ODDS:
        what = f"how far the predicted {shapes.label} is from {shapes.middle:g}, the middle of its range"
    elif classes == 1:
        what = (
            f"the log-odds of {shapes.label} being {shapes.outcomes[0]}: above 0 speaks for it, below against"
        )
    elif shapes.several:
        what = (
            "the log-odds of a label being as the heading of its charts says: above 0 speaks for it, below "
            "against"
        )
    else:
        what = (
            f"the log-odds of a class of {shapes.label} against the mean over all of them: above 0 speaks "
            "for the class, below against"
        )
    return (
        f"The model is linear: what a record's columns add, and a constant, are together {what}. It is drawn "
        "from the released weights and public rules alone, so it is as private as they are. The charts have "
        "one scale, and only differences within a column mean something."
    )


def _noise(proven: bool | None) -> str:
    """Says what a band is."""
    if proven is None:
        return "No band is drawn: how far noise moves the weights of this training is not known."
    basis = (
        "It is an upper bound: later rounds cannot amplify noise, and may take some of it back."
        if proven
        else "That holds if later rounds do not amplify noise, which is not proven for this training."
    )
    return (
        "The shaded band, or whisker, is what privacy noise may explain, 95 % at each place by itself: were "
        "the training repeated with other noise, its curves would lie within the band around their middle. "
        f"{basis} Where the bands of two places overlap, their difference may be noise. They say nothing of "
        "the chance by which these records were drawn and not others, nor how far noise moves that middle."
    )


def _length(factors: tuple[float, float]) -> str:
    """Says for which record the curves hold."""
    low, high = factors
    if low == high:
        return (
            "Every complete record has the same length, so the curves hold for each as they are. A cell that "
            "says nothing usable and has no mark of its own adds 0, and what the others add grows a little."
        )
    return (
        "Records are scaled to one length, so what is shown holds for a record of typical length (numbers "
        "anywhere in their range). For another complete record all of it, the constant too, is one common "
        f"factor times as much, between {low:.2f} and {high:.2f}."
    )


def _charts(shapes: Shapes, outcome: str) -> Html:
    own, constant = shapes.of(outcome), shapes.constants[shapes.outcomes.index(outcome)]
    scale = common_scale(own)
    noise = "" if constant.band is None else f" (noise may explain ±{constant.band:.2f})"
    said = tag("p", f"The constant is {constant.contribution:.2f}{noise}.", class_="soft")
    return join([said, tag("div", *(draw_shape(shape, scale) for shape in own), class_="charts")])


def _others(others: tuple[Quiet, ...]) -> Html:
    """Lists the columns that are not drawn."""
    header = ("Column", "Adds at least", "Adds at most", "Noise may explain")
    rows = [
        (
            one.column,
            f"{one.lowest:.2f}",
            f"{one.highest:.2f}",
            "–" if one.band is None else f"±{one.band:.2f}",
        )
        for one in others
    ]
    listed = table("Columns that are not drawn", header, rows, numeric=(1, 2, 3))
    summary = tag("summary", f"The other {len(others):,} columns, which move it less")
    return tag("details", summary, listed)
