"""Writing a report beside the files that it was made from."""

from __future__ import annotations

import json
from pathlib import Path

from discreet.report.collect import collect
from discreet.report.json_form import report_json
from discreet.report.page import render
from discreet.rounds.directory import write_durably


def write_report(directory: Path, *, signer: str = "") -> Path:
    """Writes ``report.html`` and ``report.json`` into a run directory; returns the path of the page.

    Args:
        directory: of the run.
        signer: public key, in hexadecimal, of who is going to sign the run; empty if nobody is.

    Raises:
        ConfigurationError: if the plan is missing or altered.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    report = collect(directory, signer=signer)
    page, data = directory / "report.html", directory / "report.json"
    write_durably(data, (json.dumps(report_json(report), indent=1, ensure_ascii=False) + "\n").encode())
    write_durably(page, render(report).encode())
    return page
