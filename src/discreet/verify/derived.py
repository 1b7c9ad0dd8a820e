"""Checking metrics and result against what plan and ledger give."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.documents import shown
from discreet.engines.local.measure import measured_names
from discreet.plan import composable_cost, guarantees_after
from discreet.privacy.ledger import Completed, Resumed
from discreet.privacy.wire import to_json
from discreet.quality.documents import NOT_PRIVATE
from discreet.rounds import measurements
from discreet.rounds.judging import (
    Evaluated,
    evaluated_from,
    held_out,
    said_of_released,
    summary_of_evaluations,
    summary_of_rounds,
)
from discreet.verify.evidence import (
    START,
    Evidence,
    read_stated,
    require_keys,
    require_same,
    stated_measurements,
    stated_start,
)
from discreet.verify.finding import Basis, Finding, VerificationFailure


def check_metrics(evidence: Evidence) -> Finding:
    """Checks that each release has its line, with survivors and budget, and no name that nobody measures.

    What was measured is as sealed.
    """
    completed = {entry.release: entry for entry in evidence.run.spending.completed}
    asked = _evaluated(evidence)
    if evidence.run.directory.metrics.read_bytes()[-1:] not in (b"", b"\n"):
        raise VerificationFailure("the last line of metrics.jsonl must be whole; it is torn or altered.")
    for line in evidence.run.directory.read_metrics():
        entry = completed.pop(line["release"], None)
        if entry is None:
            raise VerificationFailure(
                f"metrics.jsonl must be about releases that the ledger completed, each once; "
                f"release {line['release']} is not."
            )
        spent = evidence.run.plan.spent(entry.release)
        found: dict[str, Any] = {
            "epsilon_spent": spent.epsilon,
            "delta": spent.delta,
            "survivors": list(entry.survivors),
        }
        if "held_out" in line or evidence.run.plan.order.evaluates(entry.release):
            said = asked.get(evidence.run.plan.order.round_of(entry.release), None)
            found["held_out"] = None if said is None else held_out(evidence.run.plan, said).to_json()
        require_keys(measurements(line), measured_names(evidence.run.plan), _line_of(entry.release))
        stated = {name: line.get(name) for name in found}
        require_same(stated, found, _line_of(entry.release))
    for release in completed.keys() - _cut_short(evidence):
        raise VerificationFailure(
            "metrics.jsonl must have a line for every release that the ledger completed, unless its process "
            f"died before it wrote one and the ledger was then resumed; release {release} has none."
        )
    done = len(evidence.run.spending.completed) - len(completed)
    if completed and not done:
        return Finding(
            "metrics.jsonl", Basis.NONE, "no line: by the ledger, a process died behind each release"
        )
    releases = "1 release" if done == 1 else f"{done} releases"
    if completed:
        releases += f" of {done + len(completed)}"
    return Finding("metrics.jsonl", Basis.RECOMPUTED, f"{releases}: survivors, ε spent; the rest as sealed")


def _line_of(release: int) -> str:
    return f"metrics.jsonl, release {release}"


def _cut_short(evidence: Evidence) -> set[int]:
    """Returns the releases directly behind which a process took the training up again."""
    pairs = pairwise(evidence.run.entries)
    return {one.release for one, then in pairs if isinstance(one, Completed) and isinstance(then, Resumed)}


def _evaluated(evidence: Evidence) -> dict[int, Evaluated]:
    """Returns the released histograms of held-out records by the round that they followed."""
    if evidence.run.plan.evaluation is None or not evidence.run.spending.completed:
        return {}
    arrays = evidence.run.directory.load_state().arrays
    return {one.after: one for one in evaluated_from(arrays)}


def _require_files(stated: Any, folder: Path) -> None:
    """Refuses a list of files that names one which is not there, or one twice."""
    present = {path.name for path in folder.iterdir()}
    for name in stated:
        if name not in present:
            raise VerificationFailure(f"{shown(str(name), 60)} must be there, as result.json says.")
    if sorted(set(stated)) != stated:
        raise VerificationFailure("'files' of result.json must name each file once and in order.")


def check_result(evidence: Evidence) -> Finding:
    """Works the result out again: budget and guarantees from plan and ledger, the rest from other files.

    Where a process died before it wrote the line of the released model, its measurements follow from no file:
    the finding is then weaker, and says so.
    """
    plan, spent, directory = evidence.run.plan, evidence.run.spending, evidence.run.directory
    stated = read_stated(evidence.run, "result.json")
    compared, asked = directory.file("comparison.json"), tuple(_evaluated(evidence).values())
    found: dict[str, Any] = {
        "name": plan.name,
        "plan": plan.digest(),
        "randomness": "seeded" if evidence.run.seeded else "secure",
        "rounds": summary_of_rounds(plan, spent, asked),
        "guarantees": to_json(guarantees_after(plan, spent)),
        "comparison": read_stated(evidence.run, "comparison.json") if compared.exists() else None,
    }
    # Runs from before they were written have none.
    if "composable" in stated:
        found["composable"] = composable_cost(plan)
    if "metrics_note" in stated and stated.get("metrics"):
        found["metrics_note"] = NOT_PRIVATE
    if "evaluations" in stated:
        found["evaluations"] = summary_of_evaluations(plan, spent)
    lines = {line["release"]: line for line in directory.read_metrics()}
    if (line := lines.get(evidence.run.released_after)) is not None:
        found["metrics"] = measurements(line) if stated.get("metrics") else {}
    # Of the state, which the ledger names: lines of the metrics may be left out.
    if (said := said_of_released(plan, asked)) is not None:
        found["held_out"] = said.to_json()
    begins = {"start"} if plan.model.begins is not None else set()
    require_keys(stated, {*found, *begins, "metrics", "finished", "files"}, "result.json")
    require_same({name: stated.get(name) for name in found}, found, "result.json")
    _require_files(stated.get("files", []), directory.path)
    for where, said_of_model in stated_measurements(evidence.run).items():
        require_keys(said_of_model, measured_names(plan), where)
    start = stated_start(evidence.run)
    require_keys(start, measured_names(plan), START)
    if line is None and stated.get("metrics"):
        return Finding(
            "result.json",
            Basis.SEALED,
            "rounds, guarantees follow; its metrics are not checked, for metrics.jsonl has no line of the "
            "released model: by --records only",
        )
    measured = "" if plan.questions or line is None else ", measurements as in metrics.jsonl"
    measured += "; those of the public weights alone as sealed" if start else ""
    return Finding("result.json", Basis.RECOMPUTED, f"rounds, guarantees{measured}")
