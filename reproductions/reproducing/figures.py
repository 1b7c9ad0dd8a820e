"""Figures of reproductions: a line of dots for each cell, or curves; small SVGs, the same on every run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reproducing.catalogue import Reproduction
from reproducing.curves import Chart, Curve
from reproducing.expected import Scale
from reproducing.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_HEIGHT = 0.28
# From this ratio of the last x to the first on, the axis is logarithmic.
_WIDE = 8.0
_MOST_NAMED = 8


def write_figure(path: Path, reproduction: Reproduction, scale: Scale, rows: Sequence[Row]) -> None:
    """Draws the script's chart, or published, reproduced and ours of each cell; SVG or PNG by the suffix.

    A chart in which no curve has two points yet is no chart: the cells are drawn instead.
    """
    # matplotlib takes a second to import, and only figures need it.
    from matplotlib import rc_context

    # Text stays text, and names inside the file do not change from run to run.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": reproduction.name}):
        chart = reproduction.chart(rows)
        if chart is not None and all(len(curve.points) < 2 for curve in chart.curves):
            chart = None
        quantity = reproduction.expectations.quantity
        figure, axes = _dots(rows, quantity) if chart is None else _curves(chart, quantity)
        axes.set_title(f"{reproduction.expectations.title} ({scale.value} scale)", fontsize=10)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _dots(rows: Sequence[Row], quantity: str) -> tuple[Figure, Axes]:
    """A line of dots for each cell."""
    from matplotlib.figure import Figure

    names = [row.cell.name for row in rows]
    figure = Figure(figsize=(8.0, 1.2 + _ROW_HEIGHT * len(rows)), layout="constrained")
    axes = figure.subplots()
    series = {
        "published": ("o", "black", [row.expected.published for row in rows]),
        "reproduced here": ("x", "tab:orange", [getattr(row.cell, "reproduced", None) for row in rows]),
        "ours, proven": ("D", "tab:blue", [getattr(row.cell, "ours", None) for row in rows]),
    }
    for label, (marker, color, values) in series.items():
        places = [place for place, value in enumerate(values) if value is not None]
        shown = [value for value in values if value is not None]
        if shown:
            axes.plot(shown, places, marker, color=color, fillstyle="none", label=label)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(quantity)
    axes.grid(axis="x", alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
    return figure, axes


def _curves(chart: Chart, quantity: str) -> tuple[Figure, Axes]:
    """A line for each series, the published numbers dashed in its color."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 5.0), layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(chart.curves):
        _line(axes, curve, color=f"C{number}")
    _mark_places(axes, sorted({x for curve in chart.curves for x, _ in (*curve.points, *curve.published)}))
    axes.set(xlabel=chart.x_label, ylabel=quantity)
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure, axes


def _mark_places(axes: Axes, places: list[float]) -> None:
    """Names every x if there are few, on a logarithmic axis if they double; else only whole numbers."""
    from matplotlib.ticker import MaxNLocator

    if not places or len(places) > _MOST_NAMED:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    if places[0] > 0 and places[-1] >= _WIDE * places[0]:
        axes.set_xscale("log", base=2)
    axes.set_xticks(places, [f"{x:g}" for x in places])


def _line(axes: Axes, curve: Curve, *, color: str) -> None:
    """Draws one series; one of which nothing is known keeps its color and stays away."""
    for points, style, label in (
        (curve.points, ".-", curve.label),
        (curve.published, "--", f"published: {curve.label}"),
    ):
        if points:
            axes.plot(*zip(*points, strict=True), style, color=color, linewidth=1.2, label=label)
