"""Reproductions: a paper's tables and figures as code over the public API, with tolerances."""

from discreet.reproduction.carry_out import carry_out
from discreet.reproduction.catalogue import Reproduction, catalogue, find
from discreet.reproduction.context import Context, Scale
from discreet.reproduction.expected import Expectations, Expected
from discreet.reproduction.outputs import write_csv, write_figure
from discreet.reproduction.rows import Cell, Computed, Row, Skipped, Verdict
from discreet.reproduction.training import accuracy, changed

__all__ = [
    "Cell",
    "Computed",
    "Context",
    "Expectations",
    "Expected",
    "Reproduction",
    "Row",
    "Scale",
    "Skipped",
    "Verdict",
    "accuracy",
    "carry_out",
    "catalogue",
    "changed",
    "find",
    "write_csv",
    "write_figure",
]
