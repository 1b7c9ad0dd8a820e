"""From the files of a run to the content of its report."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

from discreet.accounting import tradeoff
from discreet.data import bundled_attribution
from discreet.documents import read_json
from discreet.errors import ConfigurationError, LedgerError
from discreet.plan import Plan, public_units
from discreet.plan.counted import contributions, parts
from discreet.plan.held_out import measure_text
from discreet.plan.order import count_of
from discreet.plan.persons import for_persons
from discreet.privacy.ledger import Aborted, Completed, Entry, Intent, Lost
from discreet.quality import AnyQuality, quality_from_json
from discreet.report.answered import Answer, answers_of
from discreet.report.attack import attack_bound, either
from discreet.report.board import columns, stated
from discreet.report.citations import citations
from discreet.report.content import (
    AbortedRound,
    AttackBound,
    Comparison,
    CompletedRound,
    Fact,
    LostRound,
    Measured,
    ReportInput,
    RoundOutcome,
)
from discreet.report.evaluated import released_and_others
from discreet.report.facts import plan_facts
from discreet.report.prepared import prepared_facts
from discreet.report.refusals import refusals
from discreet.report.shapes import Shown, model_shapes, shown, shown_rules
from discreet.report.silo_budgets import silo_budgets
from discreet.rounds import RunRecord, read_record
from discreet.rounds.judging import best, evaluated_from, summary_of_evaluations

_SOFTWARE = ("torch", "numpy", "scipy", "cryptography")
_SILO_PREFIXES = ("accuracy/", "mae/")
# Curves of a few kilobytes each; the page is to stay small.
_COLUMNS_DRAWN, _CLASSES_DRAWN = 12, 12
_UNFINISHED = "the process ended between intent and completion"


def collect(path: Path, *, signer: str = "") -> ReportInput:
    """Reads plan, ledger, metrics, comparison and budgets of a run; verifies plan and ledger.

    Args:
        path: the run directory.
        signer: public key, in hexadecimal, of who signs the run; empty if nobody does.

    Raises:
        ConfigurationError: if the plan is missing or altered.
        LedgerError: if the ledger is missing, altered, or belongs to another plan.
    """
    run = read_record(path)
    plan, directory, charged = run.plan, run.directory, run.spending.charged
    outcomes = _outcomes(run.entries, {line["release"]: line for line in directory.read_metrics()}, plan)
    completed = [outcome for outcome in outcomes if isinstance(outcome, CompletedRound)]
    return ReportInput(
        title=plan.name,
        seeded=run.seeded,
        silos=plan.facts.silos,
        planned_rounds=plan.rounds,
        budget=plan.spent(plan.releases),
        spent=plan.spent(charged),
        guarantees=run.guarantees,
        persons=for_persons(plan),
        units=public_units(plan),
        silo_budgets=silo_budgets(directory, plan, charged),
        attack=_attack(plan),
        outcomes=outcomes,
        final=next((one.measured for one in completed if one.release == _released_after(run)), None),
        comparison=_comparison(directory.file("comparison.json")),
        facts=(*plan_facts(plan), *prepared_facts(run), *_released_model(run)),
        refusals=refusals(plan, outcomes),
        citations=citations(plan),
        plan_digest=plan.digest(),
        ledger_head=run.head,
        signer=signer,
        versions=_versions(),
        attribution=bundled_attribution(plan.data.source),
        finished=_finished(directory.file("result.json")),
        about=stated(plan),
        columns=columns(plan.data),
        quality=_quality(directory.evaluation),
        shapes=_shapes(run),
        answers=_answers(run),
        held_out=_held_out(run),
        evaluations=plan.order.evaluations,
        lost_evaluations=(summary_of_evaluations(plan, run.spending) or {"lost": 0})["lost"],
        kept=_kept(run),
        preparations=int(plan.preparation is not None),
        most_contributions=None if plan.timetable is None else contributions(plan, charged),
        start=_start(directory.file("result.json")),
    )


def _released_after(run: RunRecord) -> int | None:
    """Returns the release whose model is released; the last one where a state cannot say which was best."""
    try:
        return run.released_after
    except LedgerError:
        return run.spending.completed[-1].release


def _kept(run: RunRecord) -> int | None:
    """Returns the round whose model is released, where the plan keeps the best one and there is one."""
    release = _released_after(run) if run.plan.keeps_best else None
    return None if release is None else run.plan.order.round_of(release)


def _outcomes(
    entries: tuple[Entry, ...], metrics: Mapping[int, Mapping[str, Any]], plan: Plan
) -> tuple[RoundOutcome, ...]:
    """Returns what became of each intent; the last one may be without an end."""
    found: list[RoundOutcome] = []
    for entry in entries:
        match entry:
            case Completed():
                found.append(_completed(entry, metrics.get(entry.release, {}), plan))
            case Lost():
                found.append(LostRound(entry.release, entry.reason, _name(plan, entry.release)))
            case Aborted():
                found.append(AbortedRound(entry.release, entry.code, _name(plan, entry.release)))
    if entries and isinstance(entries[-1], Intent):
        release = entries[-1].release
        found.append(LostRound(release, _UNFINISHED, _name(plan, release)))
    return tuple(found)


def _name(plan: Plan, release: int) -> str:
    """Returns what a release is called in a sentence; nothing where all are rounds."""
    return "" if plan.releases == plan.rounds else plan.order.name(release)


def _completed(entry: Completed, line: Mapping[str, Any], plan: Plan) -> CompletedRound:
    """Joins a ledger entry with its metrics line, which a crash may have prevented."""
    spent = line.get("epsilon_spent")
    return CompletedRound(
        release=entry.release,
        survivors=entry.survivors,
        epsilon_spent=plan.spent(entry.release).epsilon if spent is None else float(spent),
        bytes_per_silo=line.get("bytes_per_silo"),
        training_loss=line.get("training_loss"),
        seconds=line.get("seconds"),
        measured=_measured(line),
        clip_norm=line.get("clip_norm"),
        asked=None if plan.timetable is None else plan.asked(entry.release),
        tick=None if plan.timetable is None else plan.timetable.sums[entry.release - 1].tick,
        held_out=plan.order.evaluates(entry.release),
        prepared=plan.order.prepares(entry.release),
        round=None if plan.releases == plan.rounds else plan.order.round_of(entry.release),
    )


def _measured(line: Mapping[str, Any]) -> Measured | None:
    """Reads measurements; None where evaluation was off."""
    if not {"accuracy", "mae"} & line.keys():
        return None
    by_silo = tuple(
        (name.partition("/")[2], float(value))
        for name, value in sorted(line.items())
        if name.startswith(_SILO_PREFIXES)
    )
    names = ("accuracy", "auc", "base_rate", "mae", "constant_mae")
    found = {name: None if line.get(name) is None else float(line[name]) for name in names}
    return Measured(loss=float(line["loss"]), by_silo=by_silo, **found)


def _comparison(path: Path) -> Comparison | None:
    """Reads the comparison, if there is one."""
    if not path.exists():
        return None
    data = read_json(path.read_bytes(), finite=False)
    pooled = _measured(data["pooled"])
    alone = [(silo, _measured(values)) for silo, values in data["alone"].items()]
    if pooled is None:
        return None
    return Comparison(pooled, tuple((silo, measured) for silo, measured in alone if measured is not None))


def _finished(path: Path) -> str:
    """Returns the date in the result, which a training has once it is finished."""
    if not path.exists():
        return ""
    try:
        return date.fromisoformat(read_json(path.read_bytes(), finite=False)["finished"]).isoformat()
    except (ValueError, KeyError, TypeError):
        raise ConfigurationError(f"{path.name} must state the day on which the run was finished.") from None


def _start(path: Path) -> Measured | None:
    """Returns the measurements of the public weights that a head began at, which a result has."""
    if not path.exists():
        return None
    try:
        return _measured(read_json(path.read_bytes(), finite=False).get("start", {}))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(f"'start' of {path.name} must be a table of measurements.") from None


def _quality(path: Path) -> AnyQuality | None:
    """Reads how good the model is, if it was measured."""
    if not path.exists():
        return None
    try:
        data = read_json(path.read_bytes())
    except ValueError:
        raise ConfigurationError(f"{path.name} must be JSON; it cannot be read.") from None
    return quality_from_json(data)


def _answers(run: RunRecord) -> tuple[Answer, ...] | None:
    """Returns the answers of a run that asked questions, if its sum is the one of the ledger."""
    if not run.plan.questions:
        return None
    try:
        return answers_of(run)
    except LedgerError:
        return ()


def _held_out(run: RunRecord) -> tuple[Answer, ...]:
    """Returns what evaluations between rounds found: over the rounds, and of the released model in detail."""
    try:
        return released_and_others(run)
    except LedgerError:
        return ()


def _released_model(run: RunRecord) -> tuple[Fact, ...]:
    """Returns which model is released, where the plan keeps that of the best evaluation."""
    plan, completed = run.plan, run.spending.completed
    if not plan.keeps_best or not completed:
        return ()
    try:
        asked = evaluated_from(run.directory.load_state().arrays)
    except LedgerError:
        return ()
    measure = measure_text(plan)
    if (chosen := best(plan, asked)) is not None:
        which = f"the best {measure} of {count_of(len(asked), 'evaluation')}, the first of equals"
        return (Fact("Released model", f"after round {chosen.after}", which),)
    why = f"noise hid the {measure} of every evaluation" if asked else "no evaluation was completed"
    return (Fact("Released model", "the last", f"since {why}"),)


def _shapes(run: RunRecord) -> Shown | None:
    """Returns what the model says, if it is linear over columns and its weights are those of the ledger.

    They need not be: a process may end between writing them and the ledger's entry.
    """
    if shown_rules(run.plan) is None or not run.spending.completed:
        return None
    try:
        return shown(model_shapes(run), columns=_COLUMNS_DRAWN, outcomes=_CLASSES_DRAWN)
    except LedgerError:
        return None


def _attack(plan: Plan) -> AttackBound | None:
    """Returns what the whole plan leaves to the budget adversary."""
    budget = plan.spent(plan.releases)
    if budget.is_vacuous:
        return None
    _, honest = plan.budget_adversary()
    return either(
        attack_bound(tradeoff(part.event(honest, count), neighboring=budget.neighboring))
        for part, count in parts(plan, plan.releases)
    )


def _versions() -> tuple[tuple[str, str], ...]:
    """Returns the versions that a reader needs to repeat the accounting."""
    installed = [("discreet", metadata.version("discreet")), ("Python", platform.python_version())]
    return (*installed, *((name, metadata.version(name)) for name in _SOFTWARE))
