"""Curves: how a few series of numbers go over rounds, for figures whose cells belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import ConfigurationError
from reproducing.rows import Computed, Row

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """One series.

    Attributes:
        label: its name in the legend.
        points: (x, y) in order of x; empty if nothing of it was computed.
        published: the paper's own numbers, in order of x; they are drawn dashed.
    """

    label: str
    points: Points
    published: Points = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """What a reproduction's function ``chart`` returns.

    Attributes:
        x_label: what the curves go over.
        curves: in the order of the legend.
    """

    x_label: str
    curves: tuple[Curve, ...]


def curves_of_cells(rows: Sequence[Row], x_label: str) -> Chart:
    """Makes a curve of every cell; one that kept none stands where the others end.

    A published number is where the paper's own curve ends; it is drawn as a level.
    """
    places = [x for row in rows if isinstance(row.cell, Computed) for x, _ in row.cell.curve]
    span = (min(places), max(places)) if places else None
    return Chart(x_label, tuple(_own_curve(row, span) for row in rows))


def _own_curve(row: Row, span: tuple[float, float] | None) -> Curve:
    """The curve of one cell; no points if it was not computed, or no cell has a curve."""
    name, published = row.cell.name, row.expected.published
    if span is None or not isinstance(row.cell, Computed):
        return Curve(name, ())
    points = row.cell.curve
    if not points and row.cell.value is not None:
        points = ((span[1], row.cell.value),)
    return Curve(name, points, () if published is None else tuple((x, published) for x in span))


def curves_over_cells(rows: Sequence[Row], x_label: str, *, separator: str) -> Chart:
    """Makes a curve of all cells of one series; a cell is called x, ``separator``, series.

    Args:
        rows: cells that were skipped leave a gap.
        x_label: what x is.
        separator: as it stands in the cells' names, blanks included.

    Raises:
        ConfigurationError: if a cell is not called like that.

    Example:
        >>> from reproducing.expected import Expected
        >>> rows = [Row(Computed(f"{x} rounds: ours", ours=70.0 + x), Expected("here")) for x in (5, 10)]
        >>> curves_over_cells(rows, "rounds", separator=" rounds: ").curves[0].points
        ((5.0, 75.0), (10.0, 80.0))
    """
    points: dict[str, list[tuple[float, float]]] = {}
    published: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        x, series = _split(row.cell.name, separator)
        points.setdefault(series, [])
        if isinstance(row.cell, Computed) and row.cell.value is not None:
            points[series].append((x, row.cell.value))
        if row.expected.published is not None:
            published.setdefault(series, []).append((x, row.expected.published))
    curves = (
        Curve(series, tuple(sorted(found)), tuple(sorted(published.get(series, ()))))
        for series, found in points.items()
    )
    return Chart(x_label, tuple(curves))


def _split(name: str, separator: str) -> tuple[float, str]:
    number, found, series = name.partition(separator)
    try:
        x = float(number)
    except ValueError:
        found = ""
    if not found:
        raise ConfigurationError(
            f"a cell of a curve must be called like '10{separator}series'; got {name!r}. Rename the cell."
        )
    return x, series
