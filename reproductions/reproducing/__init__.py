"""Reproductions: a paper's tables and figures as code over the public API, with tolerances."""

from reproducing.carry_out import NOT_RUN, Choice, carry_out
from reproducing.catalogue import Reproduction, catalogue, find
from reproducing.context import Context
from reproducing.curves import Chart, Curve, curves_of_cells, curves_over_cells
from reproducing.expected import Expectations, Expected, Scale
from reproducing.figures import write_figure
from reproducing.outputs import read_computed, read_verdicts, write_csv
from reproducing.papers import PrintedTable, Tally, read_papers, tally
from reproducing.rows import Cell, Computed, Deferred, Row, Skipped, Verdict
from reproducing.training import Score, accuracy, changed, score

__all__ = [
    "NOT_RUN",
    "Cell",
    "Chart",
    "Choice",
    "Computed",
    "Context",
    "Curve",
    "Deferred",
    "Expectations",
    "Expected",
    "PrintedTable",
    "Reproduction",
    "Row",
    "Scale",
    "Score",
    "Skipped",
    "Tally",
    "Verdict",
    "accuracy",
    "carry_out",
    "catalogue",
    "changed",
    "curves_of_cells",
    "curves_over_cells",
    "find",
    "read_computed",
    "read_papers",
    "read_verdicts",
    "score",
    "tally",
    "write_csv",
    "write_figure",
]
