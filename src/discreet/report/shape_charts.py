"""What the model says, drawn: a step or a line with its band for each column, a bar for each text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from discreet.report.chart import Axis, Band, Chart, Line, Linear, draw, nice_scale
from discreet.report.html import Html, tag
from discreet.report.row_chart import RowChart, shortened
from discreet.report.shapes import Form, Level, Shape

# Of the drawn range: where a missing cell is marked, half the width of the mark, and what it needs.
_APART, _HALF, _ROOM = 0.12, 0.03, 0.2
_MOST_TEXT_TICKS = 3

_CHART = RowChart(left=118.0, gap=6.0, right=12.0, row=20.0, longest=18)
_MOST_BARS, _LONGEST_TITLE = 20, 40


def common_scale(shapes: Sequence[Shape]) -> Linear:
    """Returns one scale for several charts, to compare their heights; it holds 0 and all bands."""
    ends = [0.0]
    for shape in shapes:
        for level in shape.places:
            ends += [_low(level), _high(level)]
    return nice_scale(ends)


def draw_shape(shape: Shape, scale: Linear) -> Html:
    """Returns one column's chart."""
    return _bars(shape, scale) if shape.form is Form.BARS else _curve(shape, scale)


def _low(level: Level) -> float:
    return level.contribution - (level.band or 0.0)


def _high(level: Level) -> float:
    return level.contribution + (level.band or 0.0)


def _described(shape: Shape) -> str:
    """Says in words what the chart shows."""
    low, high = (choose(shape.places, key=lambda at: at.contribution) for choose in (min, max))
    ends = f"from {low.contribution:.2f} at {place_text(shape, low)} to {high.contribution:.2f} at "
    noise = "" if high.band is None else f"; noise may explain up to ±{_widest(shape):.2f}"
    return f"{ends}{place_text(shape, high)}{noise}."


def _widest(shape: Shape) -> float:
    return max(level.band or 0.0 for level in shape.places)


def place_text(shape: Shape, level: Level) -> str:
    """Words where a level is: a bin, a number, a day, a text."""
    match level.x:
        case (low, high):
            return f"{low:g} to {high:g}"
        case str(text):
            return text or "blank"
        case number:
            return _tick(shape, number)


def _corners(shape: Shape) -> list[tuple[float, Level]]:
    """Returns the points of a curve: the ends of each step, or a line's own points."""
    found: list[tuple[float, Level]] = []
    for level in shape.levels:
        ends = level.x if isinstance(level.x, tuple) else (level.x,)
        found += [(float(end), level) for end in ends]
    return found


def _curve(shape: Shape, scale: Linear) -> Html:
    corners = _corners(shape)
    low, high = corners[0][0], corners[-1][0]
    width, apart = high - low, high + _APART * (high - low)
    lines = [Line(shape.column, tuple((x, at.contribution) for x, at in corners), marked=False)]
    known = shape.levels[0].band is not None
    bands = [Band(tuple((x, _low(at), _high(at)) for x, at in corners))] if known else []
    if shape.missing is not None:
        lines.append(Line(place_text(shape, shape.missing), ((apart, shape.missing.contribution),)))
        if known:
            sides = (apart - _HALF * width, apart + _HALF * width)
            bands.append(Band(tuple((x, _low(shape.missing), _high(shape.missing)) for x in sides)))
    return draw(
        Chart(
            title=shape.column,
            description=_described(shape),
            x=_x_axis(shape, low, high, apart),
            y=Axis(f"adds to {shape.adds_to}", scale),
            lines=tuple(lines),
            bands=tuple(bands),
            legend=False,
        )
    )


def _x_axis(shape: Shape, low: float, high: float, apart: float) -> Axis:
    """Returns the axis of the public range, with a place apart for cells that are missing."""
    title = shortened(shape.column, _LONGEST_TITLE)
    ticks = nice_scale([low, high]).ticks
    inside = tuple(tick for tick in ticks if low <= tick <= high)
    if shape.form is Form.DAYS:
        inside = tuple(low + part * (high - low) / (_MOST_TEXT_TICKS - 1) for part in range(_MOST_TEXT_TICKS))
    missing = shape.missing
    if missing is None:
        return Axis(title, Linear(low, high, inside), lambda tick: _tick(shape, tick))
    # The last tick would stand under the word beside it.
    inside = tuple(tick for tick in inside if tick <= low + 0.93 * (high - low))
    scale = Linear(low, low + (1.0 + _ROOM) * (high - low), (*inside, apart))
    words = place_text(shape, missing)
    return Axis(title, scale, lambda tick: words if tick == apart else _tick(shape, tick))


def _tick(shape: Shape, tick: float) -> str:
    return date.fromordinal(round(tick)).isoformat() if shape.form is Form.DAYS else f"{tick:g}"


def _bars(shape: Shape, scale: Linear) -> Html:
    """Draws a bar for each text with a whisker for its band; long lists only their largest bars."""
    shown = shape.places
    left_out = len(shown) - _MOST_BARS
    if left_out > 0:
        kept = sorted(shown, key=lambda level: -abs(level.contribution))[:_MOST_BARS]
        shown = tuple(level for level in shown if level in kept)
    more = [tag("p", f"and {left_out} texts with smaller ones", class_="soft")] if left_out > 0 else []
    rows = [_bar(shape, level, scale, place) for place, level in enumerate(shown)]
    return _CHART.draw(shape.column, _described(shape), Axis(f"adds to {shape.adds_to}", scale), rows, *more)


def _bar(shape: Shape, level: Level, scale: Linear, place: int) -> list[Html]:
    left, right = sorted((_CHART.across(scale, 0.0), _CHART.across(scale, level.contribution)))
    bar = tag(
        "rect",
        x=f"{left:.1f}",
        y=f"{_CHART.top(place) + 4:.1f}",
        width=f"{right - left:.1f}",
        height=f"{_CHART.row - 8:g}",
        class_="bar",
    )
    ends = [_CHART.across(scale, end) for end in (_low(level), _high(level))]
    whisker = _CHART.whisker(ends, place, "whisker") if level.band else []
    return [_CHART.name(place_text(shape, level), place), bar, *whisker]
