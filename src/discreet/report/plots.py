"""What an answer draws, as values: charts with their curves, and counts side by side."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.quality.intervals import Interval


@dataclass(frozen=True, slots=True)
class Curve:
    """A line with the ends of its intervals, for a chart.

    Attributes:
        label: whose it is.
        points: x, y, low and high.
    """

    label: str
    points: tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart of an answer.

    Attributes:
        title: of the chart; empty for that of the answer.
        axes: titles of both axes.
        curves: at least one, with one point at least.
        diagonal: what the line from (0, 0) to (1, 1) is; empty where none is drawn.
        read: how to read it, in a sentence or two.
        said: the chart in words; empty where the ends of its curves say it.
    """

    title: str
    axes: tuple[str, str]
    curves: tuple[Curve, ...]
    diagonal: str = ""
    read: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts of two columns side by side.

    Attributes:
        corner: names of both columns.
        header: texts of the second, and last that of all.
        rows: text of the first, and a number with its interval in each cell; last that of all.
        read: what it shows, where its answer does not say that.
    """

    corner: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Interval, ...]], ...]
    read: str = ""
