"""Drawings with a row for each of several names: what bars of texts and forests of ratios share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.report.chart import WIDTH, Axis, Scale, figure
from discreet.report.html import Html, tag

_TOP, _BOTTOM = 6.0, 40.0
_HALF_CAP = 4.0


def shortened(words: str, most: int) -> str:
    """Returns words of at most so many letters, cut visibly."""
    return words if len(words) <= most else f"{words[: most - 1]}…"


@dataclass(frozen=True, slots=True)
class RowChart:
    """Where the rows lie.

    Attributes:
        left: how wide the names are.
        gap: between a name and the plot.
        right: what is left free beside the plot.
        row: how high a row is.
        longest: of a name, so many letters are shown.
    """

    left: float
    gap: float
    right: float
    row: float
    longest: int

    def top(self, place: int) -> float:
        """Returns the upper edge of a row."""
        return _TOP + self.row * place

    def middle(self, place: int) -> float:
        """Returns the middle of a row."""
        return self.top(place) + self.row / 2

    def across(self, scale: Scale, value: float) -> float:
        """Returns the horizontal place of a value."""
        return self.left + scale.position(value) * (WIDTH - self.left - self.right)

    def draw(
        self,
        title: str,
        words: str,
        axis: Axis,
        rows: Sequence[Iterable[Html]],
        *below: Html,
        no_effect: float | None = None,
    ) -> Html:
        """Returns the drawing as a figure over a grid, whose line at ``no_effect`` stands out."""
        height = self.top(len(rows)) + _BOTTOM
        floor, parts = height - _BOTTOM, list[Html]()
        for tick in axis.scale.ticks:
            x = f"{self.across(axis.scale, tick):.1f}"
            own = "whisker" if tick == no_effect else "grid"
            parts.append(tag("line", x1=x, x2=x, y1=f"{_TOP:g}", y2=f"{floor:.1f}", class_=own))
            label = axis.write(tick)
            parts.append(tag("text", label, x=x, y=f"{floor + 15:.1f}", text_anchor="middle"))
        middle = f"{(self.left + WIDTH - self.right) / 2:.1f}"
        parts.append(tag("text", axis.title, x=middle, y=f"{height - 6:.1f}", text_anchor="middle"))
        return figure(title, words, [*parts, *(part for row in rows for part in row)], *below, height=height)

    def name(self, words: str, place: int) -> Html:
        """Returns the name of a row."""
        x, y = f"{self.left - self.gap:g}", f"{self.middle(place) + 4:.1f}"
        short = shortened(words, self.longest)
        return tag("text", tag("title", words), short, x=x, y=y, text_anchor="end")

    def whisker(
        self, ends: Sequence[float], place: int, class_: str, capped: Sequence[bool] = (True, True)
    ) -> list[Html]:
        """Returns a line between two horizontal places, with a cap at those ends that are not cut off."""
        xs, middle = [f"{end:.1f}" for end in ends], self.middle(place)
        y, cap = f"{middle:.1f}", {"y1": f"{middle - _HALF_CAP:.1f}", "y2": f"{middle + _HALF_CAP:.1f}"}
        line = tag("line", x1=xs[0], x2=xs[1], y1=y, y2=y, class_=class_)
        caps = (x for x, is_end in zip(xs, capped, strict=True) if is_end)
        return [line, *(tag("line", x1=x, x2=x, **cap, class_=class_) for x in caps)]
