"""A forest plot: ratios with their intervals on a logarithmic axis, a row for each; readable on a phone."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.quality.intervals import Interval
from discreet.report.chart import Logarithmic
from discreet.report.html import Html, tag
from discreet.statistics.rows import CANNOT_BE_TOLD

_WIDTH, _LEFT, _RIGHT, _ROW, _TOP, _BOTTOM = 340.0, 130.0, 14.0, 22.0, 6.0, 40.0
_LONGEST_TEXT = 20
_MOST_ROWS = 40
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
_MOST_TICKS = 7


@dataclass(frozen=True, slots=True)
class Forest:
    """Ratios to draw.

    Attributes:
        title: of the axis, such as "hazard ratio".
        rows: name of a level and its ratio, with its interval; None where it cannot be told.
    """

    title: str
    rows: tuple[tuple[str, Interval | None], ...]


def draw_forest(title: str, forest: Forest) -> Html:
    """Returns the plot as a figure; what lies beyond a hundredth or a hundred is drawn at the edge."""
    shown, scale = forest.rows[:_MOST_ROWS], _scale(forest)
    height = _TOP + _ROW * len(shown) + _BOTTOM
    words = "; ".join(_words(name, ratio) for name, ratio in shown)
    drawing = tag(
        "svg",
        tag("title", title),
        tag("desc", words),
        *_grid(forest.title, scale, height),
        *(part for place, row in enumerate(shown) for part in _drawn(*row, scale, place)),
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{title}. {words}",
    )
    left_out = len(forest.rows) - len(shown)
    more = [tag("p", f"and {left_out} more below", class_="soft")] if left_out else []
    return tag("figure", tag("figcaption", title), drawing, *more)


def _words(name: str, ratio: Interval | None) -> str:
    if ratio is None:
        return f"{name}: {CANNOT_BE_TOLD}"
    return f"{name}: {ratio.value:.3g} ({ratio.low:.3g} to {ratio.high:.3g})"


def _scale(forest: Forest) -> Logarithmic:
    """Returns a scale that holds 1 and all intervals, as far as they lie within the ticks."""
    ends = [1.0, *(end for _, ratio in forest.rows if ratio is not None for end in ratio)]
    low = max((tick for tick in _TICKS if tick <= min(ends)), default=_TICKS[0])
    high = min((tick for tick in _TICKS if tick >= max(ends)), default=_TICKS[-1])
    low, high = (0.5, 2.0) if low == high else (low, high)
    inside = tuple(tick for tick in _TICKS if low <= tick <= high)
    powers = tuple(tick for tick in inside if tick in (0.01, 0.1, 1.0, 10.0, 100.0))
    return Logarithmic(low, high, inside if len(inside) <= _MOST_TICKS else powers)


def _across(scale: Logarithmic, value: float) -> float:
    kept = min(max(value, scale.low), scale.high)
    return _LEFT + scale.position(kept) * (_WIDTH - _LEFT - _RIGHT)


def _grid(title: str, scale: Logarithmic, height: float) -> list[Html]:
    floor, parts = height - _BOTTOM, []
    for tick in scale.ticks:
        x = f"{_across(scale, tick):.1f}"
        # The line of no effect stands out.
        own = "whisker" if tick == 1.0 else "grid"
        parts.append(tag("line", x1=x, x2=x, y1=f"{_TOP:g}", y2=f"{floor:.1f}", class_=own))
        parts.append(tag("text", f"{tick:g}", x=x, y=f"{floor + 15:.1f}", text_anchor="middle"))
    middle = f"{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}"
    return [*parts, tag("text", title, x=middle, y=f"{height - 6:.1f}", text_anchor="middle")]


def _drawn(name: str, ratio: Interval | None, scale: Logarithmic, place: int) -> list[Html]:
    middle = _TOP + _ROW * (place + 0.5)
    short = name if len(name) <= _LONGEST_TEXT else f"{name[: _LONGEST_TEXT - 1]}…"
    label = tag(
        "text", tag("title", name), short, x=f"{_LEFT - 8:g}", y=f"{middle + 4:.1f}", text_anchor="end"
    )
    if ratio is None:
        words = tag("text", "cannot be told", x=f"{_LEFT + 8:g}", y=f"{middle + 4:.1f}")
        return [label, words]
    at, *ends = (_across(scale, end) for end in ratio)
    y = f"{middle:.1f}"
    parts = [label, tag("line", x1=f"{ends[0]:.1f}", x2=f"{ends[1]:.1f}", y1=y, y2=y, class_="line line-0")]
    for end, own in zip(ends, ratio[1:], strict=True):
        if scale.low <= own <= scale.high:
            ticks = {"y1": f"{middle - 4:.1f}", "y2": f"{middle + 4:.1f}"}
            parts.append(tag("line", x1=f"{end:.1f}", x2=f"{end:.1f}", **ticks, class_="line line-0"))
    return [*parts, tag("circle", cx=f"{at:.1f}", cy=y, r="4", class_="marker-0")]
