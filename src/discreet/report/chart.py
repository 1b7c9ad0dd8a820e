"""Line charts as inline SVG: no script, no colour-only meaning, readable on a phone, in the dark, on paper.

Colours come from the page's style sheet by class, so that one drawing serves light, dark and print.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from discreet.report.html import Html, tag

WIDTH, _HEIGHT = 340.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 20.0, 12.0, 40.0
_MOST_MARKERS = 24
_MOST_TICKS = 6


@dataclass(frozen=True, slots=True)
class Line:
    """One line; each line has its own dash pattern and marker besides its colour, by its place.

    Attributes:
        label: of the legend.
        points: x and y.
        marked: whether few points have a marker each.
    """

    label: str
    points: tuple[tuple[float, float], ...]
    marked: bool = True


@dataclass(frozen=True, slots=True)
class Band:
    """A shaded area between two lines: x, the lower y and the upper y of each of its points."""

    points: tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Linear:
    """A scale from ``low`` to ``high`` with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def position(self, value: float) -> float:
        """Returns where a value lies, 0 at the low end and 1 at the high end."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Logarithmic:
    """A logarithmic scale between two powers of ten."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def position(self, value: float) -> float:
        """Returns where a positive value lies, 0 at the low end and 1 at the high end."""
        return math.log(value / self.low) / math.log(self.high / self.low)


Scale = Linear | Logarithmic


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale with a title and the way its ticks are written."""

    title: str
    scale: Scale
    write: Callable[[float], str] = "{:.3g}".format


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with a title for everyone and a description for those who cannot see it.

    Attributes:
        title: for everyone.
        description: for those who cannot see it.
        x: the horizontal axis.
        y: the vertical axis.
        lines: drawn over the bands.
        bands: shaded areas.
        legend: whether the lines are named below the drawing.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    bands: tuple[Band, ...] = ()
    legend: bool = True


def nice_scale(values: Sequence[float], *, from_zero: bool = False, whole: bool = False) -> Linear:
    """Returns a linear scale with round ticks that covers ``values``.

    Args:
        values: at least one finite number.
        from_zero: whether the scale starts at 0.
        whole: whether ticks are whole numbers.

    Example:
        >>> nice_scale([0.62, 0.79]).ticks
        (0.6, 0.65, 0.7, 0.75, 0.8)
    """
    low, high = (min(0.0, *values) if from_zero else min(values)), max(values)
    if not high > low:
        low, high = low - (0.0 if from_zero else 0.5), high + 0.5
    step = _nice_step((high - low) / (_MOST_TICKS - 1))
    if whole:
        step = max(1.0, math.ceil(step))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(round(number * step, 10) for number in range(first, last + 1))
    return Linear(ticks[0], ticks[-1], ticks)


def draw(chart: Chart) -> Html:
    """Returns the chart as a figure with its legend."""
    parts = [
        *_x_axis(chart.x),
        *_y_axis(chart.y),
        *(_band(band, chart) for band in chart.bands),
        *(_line(line, place, chart) for place, line in enumerate(chart.lines)),
    ]
    named = [_legend_entry(line, place) for place, line in enumerate(chart.lines)] if chart.legend else []
    legend = [tag("ul", *named, class_="legend")] if named else []
    return figure(chart.title, chart.description, parts, *legend, height=_HEIGHT)


def figure(title: str, words: str, parts: Iterable[Html], *below: Html, height: float) -> Html:
    """Returns a drawing with its title for everyone, and its words for those who cannot see it."""
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", words),
        *parts,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{title}. {words}",
    )
    return tag("figure", tag("figcaption", title), drawing, *below)


def _nice_step(raw: float) -> float:
    """Returns the smallest of 1, 2, 2.5, 5 times a power of ten that is at least ``raw``."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= raw * (1 - 1e-9))


def _x(axis: Axis, value: float) -> float:
    """Returns the horizontal place of a value."""
    return _LEFT + axis.scale.position(value) * (WIDTH - _LEFT - _RIGHT)


def _y(axis: Axis, value: float) -> float:
    """Returns the vertical place of a value; SVG counts downward."""
    return _HEIGHT - _BOTTOM - axis.scale.position(value) * (_HEIGHT - _TOP - _BOTTOM)


def _x_axis(axis: Axis) -> list[Html]:
    """Draws tick labels and title below the plot."""
    floor = _HEIGHT - _BOTTOM
    below = f"{floor + 15:.1f}"
    labels = [
        tag("text", axis.write(tick), x=f"{_x(axis, tick):.1f}", y=below, text_anchor="middle")
        for tick in axis.scale.ticks
    ]
    middle = f"{(_LEFT + WIDTH - _RIGHT) / 2:.1f}"
    return [*labels, tag("text", axis.title, x=middle, y=f"{_HEIGHT - 6:.1f}", text_anchor="middle")]


def _y_axis(axis: Axis) -> list[Html]:
    """Draws grid lines with their labels, and the title along the side."""
    parts, sides = [], {"x1": f"{_LEFT:g}", "x2": f"{WIDTH - _RIGHT:g}"}
    for tick in axis.scale.ticks:
        y, label = _y(axis, tick), axis.write(tick)
        parts.append(tag("line", **sides, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"))
        parts.append(tag("text", label, x=f"{_LEFT - 5:g}", y=f"{y + 4:.1f}", text_anchor="end"))
    middle = (_HEIGHT - _BOTTOM + _TOP) / 2
    turn = f"rotate(-90 11 {middle:g})"
    parts.append(tag("text", axis.title, x="11", y=f"{middle:g}", text_anchor="middle", transform=turn))
    return parts


def _band(band: Band, chart: Chart) -> Html:
    """Draws a shaded area."""
    low = [(x, lower) for x, lower, _ in band.points]
    high = [(x, upper) for x, _, upper in reversed(band.points)]
    corners = " ".join(f"{_x(chart.x, x):.1f},{_y(chart.y, y):.1f}" for x, y in (*low, *high))
    return tag("polyline", points=corners, class_="band")


def _line(line: Line, place: int, chart: Chart) -> Html:
    """Draws one line with a marker at each point, if they are few."""
    where = [(_x(chart.x, x), _y(chart.y, y)) for x, y in line.points]
    path = tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in where), class_=f"line line-{place}")
    markers = [_marker(x, y, place) for x, y in where] if line.marked and len(where) <= _MOST_MARKERS else []
    return tag("g", path, *markers)


def _marker(x: float, y: float, place: int) -> Html:
    """Draws a circle for the first line and squares for the others."""
    if place == 0:
        return tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r="3", class_="marker-0")
    return tag(
        "rect", x=f"{x - 2.6:.1f}", y=f"{y - 2.6:.1f}", width="5.2", height="5.2", class_=f"marker-{place}"
    )


def _legend_entry(line: Line, place: int) -> Html:
    """Draws a sample of the line beside its label."""
    sample = tag(
        "svg",
        tag("line", x1="0", x2="34", y1="6", y2="6", class_=f"line line-{place}"),
        _marker(17, 6, place),
        viewBox="0 0 34 12",
        width="34",
        height="12",
        aria_hidden="true",
    )
    return tag("li", sample, f" {line.label}")
