"""The privacy report of a run, as a page and as JSON; the plan explorer, in `discreet.report.explorer`."""

from discreet.report.collect import collect
from discreet.report.content import ReportInput
from discreet.report.page import render
from discreet.report.silo_budgets import state_budgets
from discreet.report.write import report_json, write_report

__all__ = ["ReportInput", "collect", "render", "report_json", "state_budgets", "write_report"]
