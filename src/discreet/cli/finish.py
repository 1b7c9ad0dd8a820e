"""What every finished training gets, whatever engine ran it: result, report, seal, and a signature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.cli.log import log
from discreet.engines.local import RunResult
from discreet.privacy.wire import to_json
from discreet.report import write_report
from discreet.rounds.directory import write_durably
from discreet.secagg import Identity
from discreet.verify import seal, sign


def finish(result: RunResult, identity: Identity | None) -> Path:
    """Writes result and report, seals all files, and signs them if there is a key; returns the report."""
    directory = result.directory.path
    write_durably(result.directory.file("result.json"), json.dumps(summarise(result), indent=1).encode())
    report = write_report(directory, signer="" if identity is None else identity.public_key.hex())
    log("done", directory=directory, manifest=seal(directory))
    if identity is not None:
        sign(directory, identity)
    return report


def summarise(result: RunResult) -> dict[str, Any]:
    """Returns the result as plain JSON."""
    return {
        "name": result.plan.config.name,
        "plan": result.plan.digest(),
        "randomness": "seeded" if result.seeded else "secure",
        "rounds": {
            "planned": result.plan.rounds,
            "completed": len(result.spending.completed),
            "lost": len(result.spending.lost),
            "aborted": result.spending.aborted,
        },
        "guarantees": to_json(result.guarantees),
        "metrics": result.metrics,
        "comparison": None if result.comparison is None else result.comparison.to_json(),
        "files": sorted(path.name for path in result.directory.path.iterdir()),
    }
