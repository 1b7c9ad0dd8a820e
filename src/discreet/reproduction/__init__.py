"""Reproductions: a paper's tables and figures as code over the public API, with tolerances."""

from discreet.reproduction.carry_out import NOT_RUN, Choice, carry_out
from discreet.reproduction.catalogue import Reproduction, catalogue, find
from discreet.reproduction.context import Context
from discreet.reproduction.curves import Chart, Curve, curves_of_cells, curves_over_cells
from discreet.reproduction.expected import Expectations, Expected
from discreet.reproduction.figures import write_figure
from discreet.reproduction.outputs import read_computed, write_csv
from discreet.reproduction.rows import Cell, Computed, Deferred, Row, Skipped, Verdict
from discreet.reproduction.scale import Scale
from discreet.reproduction.training import Score, accuracy, changed, score

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
    "Reproduction",
    "Row",
    "Scale",
    "Score",
    "Skipped",
    "Verdict",
    "accuracy",
    "carry_out",
    "catalogue",
    "changed",
    "curves_of_cells",
    "curves_over_cells",
    "find",
    "read_computed",
    "score",
    "write_csv",
    "write_figure",
]
