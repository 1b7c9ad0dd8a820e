"""A forest plot: ratios with their intervals on a logarithmic axis, a row for each; readable on a phone."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.quality.intervals import Interval
from discreet.report.chart import Axis, Logarithmic
from discreet.report.html import Html, tag
from discreet.report.row_chart import RowChart
from discreet.statistics.rows import CANNOT_BE_TOLD

_CHART = RowChart(left=130.0, gap=8.0, right=14.0, row=22.0, longest=20)
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
    words = "; ".join(_words(name, ratio) for name, ratio in shown)
    left_out = len(forest.rows) - len(shown)
    more = [tag("p", f"and {left_out} more below", class_="soft")] if left_out else []
    rows = [_drawn(*row, scale, place) for place, row in enumerate(shown)]
    return _CHART.draw(title, words, Axis(forest.title, scale, "{:g}".format), rows, *more, no_effect=1.0)


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


def _drawn(name: str, ratio: Interval | None, scale: Logarithmic, place: int) -> list[Html]:
    label, middle = _CHART.name(name, place), _CHART.middle(place)
    if ratio is None:
        words = tag("text", "cannot be told", x=f"{_CHART.left + 8:g}", y=f"{middle + 4:.1f}")
        return [label, words]
    at, *ends = (_CHART.across(scale, min(max(end, scale.low), scale.high)) for end in ratio)
    inside = [scale.low <= end <= scale.high for end in ratio[1:]]
    whisker = _CHART.whisker(ends, place, "line line-0", inside)
    return [label, *whisker, tag("circle", cx=f"{at:.1f}", cy=f"{middle:.1f}", r="4", class_="marker-0")]
