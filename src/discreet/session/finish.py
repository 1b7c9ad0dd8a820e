"""What every finished training gets, whatever engine ran it: result, report, seal, and a signature."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from discreet.engines.local import RunResult
from discreet.plan import composable_cost, load_plan
from discreet.privacy.wire import to_json
from discreet.quality.documents import NOT_PRIVATE
from discreet.report import state_budgets, write_report
from discreet.rounds import RunDirectory
from discreet.rounds.directory import write_durably
from discreet.rounds.judging import (
    Evaluated,
    evaluated_from,
    said_of_released,
    summary_of_evaluations,
    summary_of_rounds,
)
from discreet.secagg import Identity
from discreet.verify import manifest_digest, require_key, seal, seal_report, sign

_LAST = frozenset({
    "result.json", "answers.csv", "report.json", "report.html", "signature.json", "manifest.json"
})  # fmt: skip


def finish(result: RunResult, identity: Identity | None) -> Path:
    """Writes result and report, signs them if there is a key, and seals all files; returns the report.

    Guarantee:
        The seal goes first and comes last, so that a run that has one lacks nothing. Wherever this was
        interrupted, it can be done again, and its files say the same.
    """
    directory = result.directory.path
    result.directory.file("manifest.json").unlink(missing_ok=True)
    stated = summarise(result)
    # Whether it is done again is no matter of the result.
    stated["files"] = [name for name in stated["files"] if name not in _LAST]
    write_durably(result.directory.file("result.json"), json.dumps(stated, indent=1).encode())
    report = write_report(directory, signer="" if identity is None else identity.public_key.hex())
    seal(directory, None if identity is None else partial(sign, directory, identity))
    return report


def report_again(directory: Path, identity: Identity | None, policies: Sequence[Path] = ()) -> Path:
    """Writes the report of a finished or interrupted run again, seals it and signs if there is a key.

    Args:
        directory: of the run.
        identity: the key that signed it; None if nobody did.
        policies: policies of silos, or folders of them: the report shows what was used of their budgets.

    Returns:
        The page.

    Raises:
        DiscreetError: if plan or ledger are missing or altered, or the run was signed by another key.
    """
    RunDirectory(directory).require_plain_files()
    require_key(directory, identity)
    if identity is not None:
        manifest_digest(directory)  # an unfinished run has none, and cannot be signed
    if policies:
        run = RunDirectory(directory)
        state_budgets(run, load_plan(run.plan), list(policies))
    page = write_report(directory, signer="" if identity is None else identity.public_key.hex())
    seal_report(directory)
    if identity is not None:
        sign(directory, identity)
    return page


def _evaluated(result: RunResult) -> tuple[Evaluated, ...]:
    if result.plan.evaluation is None or not result.spending.completed:
        return ()
    return evaluated_from(result.directory.load_state().arrays)


def summarise(result: RunResult) -> dict[str, Any]:
    """Returns the result as plain JSON, with the date of today (UTC)."""
    asked = _evaluated(result)
    # Of the released model, or of the last that held-out records were asked about.
    said = said_of_released(result.plan, asked)
    evaluations = summary_of_evaluations(result.plan, result.spending)
    return {
        "name": result.plan.name,
        "finished": datetime.now(UTC).date().isoformat(),
        "plan": result.plan.digest(),
        "randomness": "seeded" if result.seeded else "secure",
        "rounds": summary_of_rounds(result.plan, result.spending, asked),
        **({} if evaluations is None else {"evaluations": evaluations}),
        "guarantees": to_json(result.guarantees),
        "composable": composable_cost(result.plan),
        **({} if said is None else {"held_out": said.to_json()}),
        "metrics": result.metrics,
        **({"metrics_note": NOT_PRIVATE} if result.metrics else {}),
        **({"start": dict(result.start)} if result.start else {}),
        "comparison": None if result.comparison is None else result.comparison.to_json(),
        "files": sorted(path.name for path in result.directory.path.iterdir()),
    }
