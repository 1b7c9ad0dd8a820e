"""What the model says, drawn: a step or a line with its band for each column, a bar for each text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from discreet.report.chart import Axis, Band, Chart, Line, Linear, draw, nice_scale
from discreet.report.html import Html, tag
from discreet.report.shapes import Form, Level, Shape

# Of the drawn range: where a missing cell is marked, half the width of the mark, and what it needs.
_APART, _HALF, _ROOM = 0.12, 0.03, 0.2
_MOST_TEXT_TICKS = 3

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP, _BOTTOM = 340.0, 118.0, 12.0, 20.0, 6.0, 40.0
_MOST_BARS = 20
_LONGEST_TEXT, _LONGEST_TITLE = 18, 40


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


def _short(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1]}…"


def _x_axis(shape: Shape, low: float, high: float, apart: float) -> Axis:
    """Returns the axis of the public range, with a place apart for cells that are missing."""
    title = _short(shape.column, _LONGEST_TITLE)
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
    height = _TOP + _ROW * len(shown) + _BOTTOM
    rows = [part for place, level in enumerate(shown) for part in _bar(shape, level, scale, place)]
    drawing = tag(
        "svg",
        tag("title", shape.column),
        tag("desc", _described(shape)),
        *_grid(shape, scale, height),
        *rows,
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{shape.column}. {_described(shape)}",
    )
    more = [tag("p", f"and {left_out} texts with smaller ones", class_="soft")] if left_out > 0 else []
    return tag("figure", tag("figcaption", shape.column), drawing, *more)


def _across(scale: Linear, value: float) -> float:
    return _LEFT + scale.position(value) * (_WIDTH - _LEFT - _RIGHT)


def _grid(shape: Shape, scale: Linear, height: float) -> list[Html]:
    floor, parts = height - _BOTTOM, []
    for tick in scale.ticks:
        x = f"{_across(scale, tick):.1f}"
        parts.append(tag("line", x1=x, x2=x, y1=f"{_TOP:g}", y2=f"{floor:.1f}", class_="grid"))
        parts.append(tag("text", f"{tick:.3g}", x=x, y=f"{floor + 15:.1f}", text_anchor="middle"))
    middle = f"{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}"
    return [
        *parts,
        tag("text", f"adds to {shape.adds_to}", x=middle, y=f"{height - 6:.1f}", text_anchor="middle"),
    ]


def _bar(shape: Shape, level: Level, scale: Linear, place: int) -> list[Html]:
    words = place_text(shape, level)
    top, middle = _TOP + _ROW * place, _TOP + _ROW * (place + 0.5)
    left, right = sorted((_across(scale, 0.0), _across(scale, level.contribution)))
    parts = [
        tag(
            "text",
            tag("title", words),
            _short(words, _LONGEST_TEXT),
            x=f"{_LEFT - 6:g}",
            y=f"{middle + 4:.1f}",
            text_anchor="end",
        ),
        tag(
            "rect",
            x=f"{left:.1f}",
            y=f"{top + 4:.1f}",
            width=f"{right - left:.1f}",
            height=f"{_ROW - 8:g}",
            class_="bar",
        ),
    ]
    if level.band:
        ends = [f"{_across(scale, end):.1f}" for end in (_low(level), _high(level))]
        height = f"{middle:.1f}"
        parts.append(tag("line", x1=ends[0], x2=ends[1], y1=height, y2=height, class_="whisker"))
        for end in ends:
            ticks = {"y1": f"{middle - 4:.1f}", "y2": f"{middle + 4:.1f}"}
            parts.append(tag("line", x1=end, x2=end, **ticks, class_="whisker"))
    return parts
