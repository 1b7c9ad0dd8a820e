"""The report as JSON for programs, and both forms written beside the files that they were made from."""

from __future__ import annotations

import dataclasses
import json
from enum import Enum
from pathlib import Path

from discreet.privacy.wire import Json, to_json
from discreet.quality import NumberQuality, Quality, quality_json
from discreet.report.answers_csv import answers_csv
from discreet.report.collect import collect
from discreet.report.content import ReportInput
from discreet.report.page import render
from discreet.rounds.directory import write_durably

REPORT_VERSION = 1


def write_report(directory: Path, *, signer: str = "") -> Path:
    """Writes ``report.html`` and ``report.json`` into a run directory; returns the path of the page.

    Where questions or held-out records were asked, ``answers.csv`` besides.

    Args:
        directory: of the run.
        signer: public key, in hexadecimal, of who is going to sign the run; empty if nobody is.

    Raises:
        ConfigurationError: if the plan is missing or altered.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    report = collect(directory, signer=signer)
    page, data = directory / "report.html", directory / "report.json"
    if answers := report.answers or report.held_out:
        listed = answers_csv((one.title, one.rows) for one in answers)
        write_durably(directory / "answers.csv", listed.encode())
    write_durably(data, (json.dumps(report_json(report), indent=1, ensure_ascii=False) + "\n").encode())
    write_durably(page, render(report).encode())
    return page


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
    if isinstance(value, Quality | NumberQuality):
        return {"type": type(value).__name__, **quality_json(value)}
    if isinstance(value, Enum) or dataclasses.is_dataclass(value) or isinstance(value, float):
        return to_json(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} has no place in a report.")
