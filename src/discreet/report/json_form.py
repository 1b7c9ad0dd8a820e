"""The report for programs: the same content as the page, as plain JSON."""

from __future__ import annotations

import dataclasses
from enum import Enum

from discreet.privacy.wire import Json, to_json
from discreet.report.content import ReportInput

REPORT_VERSION = 1


def report_json(report: ReportInput) -> dict[str, Json]:
    """Returns every field of the report; guarantees and adversaries as tagged JSON, as in the plan."""
    fields = {field.name: _plain(getattr(report, field.name)) for field in dataclasses.fields(ReportInput)}
    return {"version": REPORT_VERSION, **fields}


def _plain(value: object) -> Json:
    """Returns a report value as JSON; values of `discreet.privacy` keep their tags."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and type(value).__module__.startswith("discreet.report."):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, Enum) or dataclasses.is_dataclass(value) or isinstance(value, float):
        return to_json(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a report.")
