"""What a histogram of scores by label answers: measures, ROC curve, calibration, and who was called what."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.arrays import Floats
from discreet.kinds.blocks import Axis, Cells
from discreet.kinds.questions import EvaluationQuestion
from discreet.report.plots import Curve, Grid, Plot
from discreet.rounds.judging import LEVEL
from discreet.statistics import Row, classification, evaluation
from discreet.statistics.evaluation import confusion, from_edge
from discreet.statistics.roc import curve
from discreet.statistics.rows import interval_row

_ROC = (
    "Each place on the line is a threshold: how many of those who are {positive} it finds, against how many "
    "of the others it takes for {positive} by mistake. The nearer the upper left corner, the better. Shaded: "
    "where the point of a threshold lies with 95 %, noise of privacy included."
)
_CALIBRATION = (
    "Of the records whose predicted probability is in a bin, so many are {positive}. On the dashes, "
    "predictions are as they say; below them the model states too much. Shaded: intervals of 95 %."
)
_COUNTS = (
    "About these held-out records; in brackets, intervals of 95 % that hold the noise of privacy. What noise "
    "makes negative is shown as 0, after sums are added up."
)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What the cells of an evaluation hold.

    Attributes:
        question: that was asked.
        block: its axes: score, label, and maybe a group.
        sums: real units, shape ``(block.size,)``.
        variance: of the noise of each.
    """

    question: EvaluationQuestion
    block: Cells
    sums: Floats
    variance: float

    @property
    def cells(self) -> Floats:
        """Counts by score and label, and group if there is one; every record has a label."""
        return self.sums.reshape(self.block.shape)[:, :-1]

    @property
    def whole(self) -> tuple[Floats, float]:
        """Counts by score and label, with the variance of each."""
        counts = self.cells
        if counts.ndim == 2:
            return counts, self.variance
        return counts.sum(axis=2), self.variance * counts.shape[2]

    @property
    def threshold(self) -> float:
        """From which edge on a record is called positive."""
        return self.question.called_from(self.block.axes[0].edges)

    def rows(self) -> tuple[Row, ...]:
        """Returns all measures, those of each group, and who was called what."""
        rows = self._measures(*self.whole, "")
        for by in self.block.axes[2:]:
            for place, text in enumerate(by.texts):
                rows += self._measures(self.cells[:, :, place], self.variance, f"{by.name} = {text}: ")
        grid = self.grid()
        named = [
            interval_row(f"{own}, {called}: count", cell)
            for own, cells in grid.rows[:-1]
            for called, cell in zip(grid.header[:-1], cells[:-1], strict=True)
        ]
        return (*rows, *named)

    def plots(self) -> tuple[Plot, ...]:
        """Returns ROC and calibration curve, as far as noise does not hide them; none of several classes."""
        score, label = self.block.axes[:2]
        if not score.edges:
            return ()
        found = (self._roc(label.texts[1]), self._calibration(label.texts[1]))
        return tuple(one for one in found if one is not None)

    def grid(self) -> Grid:
        """Returns how many of each class were called what, from the threshold on."""
        counts, variance = self.whole
        score, label = self.block.axes[:2]
        classes = label.texts[:-1]
        bins = np.arange(len(counts))
        where = ""
        if score.edges:
            bins = from_edge(score.edges, self.threshold).astype(np.int64)
            where = f" Called {classes[1]} is who has a probability of {self.threshold:g} or more."
        merged = np.zeros((len(classes), len(classes)))
        np.add.at(merged, bins, counts)
        cells = confusion(merged.T, np.tile(variance * np.bincount(bins), (len(classes), 1)), level=LEVEL)
        rows = tuple(zip((*(f"is {text}" for text in classes), "all"), cells, strict=True))
        header = (*(f"called {text}" for text in classes), "all")
        return Grid(label.name, header, rows, _COUNTS + where)

    def _measures(self, counts: Floats, variance: float, prefix: str) -> tuple[Row, ...]:
        score = self.block.axes[0]
        if score.edges:
            found = evaluation(
                counts.ravel(), variance, score.edges, threshold=self.threshold, level=LEVEL
            ).rows(score.edges)
        else:
            found = classification(counts.ravel(), variance, score.texts, level=LEVEL)
        return tuple(row._replace(name=prefix + row.name) for row in found)

    def _roc(self, positive: str) -> Plot | None:
        counts, variance = self.whole
        edges = self.block.axes[0].edges
        points = curve(counts.ravel(), variance, edges, level=LEVEL)
        if points is None:
            return None
        return Plot(
            title="ROC curve",
            axes=("false-positive rate", "true-positive rate"),
            curves=(Curve("model", tuple(map(tuple, points))),),  # type: ignore[arg-type]
            diagonal="guessing",
            read=_ROC.format(positive=positive),
            said=self._said(counts, variance),
        )

    def _said(self, counts: Floats, variance: float) -> str:
        """Words the curve at the threshold."""
        found = evaluation(counts.ravel(), variance, self.block.axes[0].edges, level=LEVEL).rates or ()
        at = [one for one in found if one.threshold >= self.threshold][:1]
        return "".join(
            f"From a probability of {one.threshold:g} on, {one.found.value:.3g} ({one.found.low:.3g} to "
            f"{one.found.high:.3g}) of the positive are found, and {one.mistaken.value:.3g} "
            f"({one.mistaken.low:.3g} to {one.mistaken.high:.3g}) of the others called so."
            for one in at
        )

    def _calibration(self, positive: str) -> Plot | None:
        score: Axis = self.block.axes[0]
        counts, variance = self.whole
        observed = evaluation(counts.ravel(), variance, score.edges, level=LEVEL).observed
        points = tuple(
            ((low + high) / 2, *share)
            for (low, high), share in zip(pairwise(score.edges), observed, strict=True)
            if share is not None
        )
        if not points:
            return None
        return Plot(
            title="Calibration",
            axes=(score.name, f"observed share of {positive}"),
            curves=(Curve("model", points),),
            diagonal="as predicted",
            read=_CALIBRATION.format(positive=positive),
        )
