"""The main job on one machine: load, plan, train, measure, and write everything down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

from discreet.config import Config
from discreet.data import Federation
from discreet.data.map_answers import require_planned_map
from discreet.engines.local.comparison import Comparison, compare
from discreet.engines.local.crew import Crew
from discreet.engines.local.device import torch_device
from discreet.engines.local.engine import LocalEngine, check_dropouts
from discreet.engines.local.measure import measure, quality_of
from discreet.engines.local.processes import WorkerProcess, early_processes
from discreet.engines.local.work import source_for
from discreet.errors import ConfigurationError, DataError
from discreet.kinds.model_facts import defined_in_main
from discreet.models import flatten, looks_up
from discreet.plan import (
    FederationFacts,
    Plan,
    beyond_capacity,
    exceeded,
    guarantees_after,
    make_plan,
)
from discreet.plan.follows import require_follows
from discreet.plan.over_records import Planned, facts_of, records_of
from discreet.plan.public_model import made_model
from discreet.plan.start import require_start
from discreet.plan.untuned import settled
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import LedgerWriter, Spending, spending
from discreet.quality import AnyQuality, quality_json
from discreet.rounds import (
    RoundReport,
    RunDirectory,
    Training,
    initial_state,
    open_ledger,
    require_rows_alike_for,
    restore,
    resume_ledger,
    train,
    write_model,
)
from discreet.rounds.directory import write_durably
from discreet.rounds.preparing import ToMeasure


class Opening(Enum):
    """What to do with the run directory."""

    NEW = "new"
    OVERWRITE = "overwrite"
    RESUME = "resume"


@dataclass(frozen=True, slots=True, repr=False)
class Prepared(Planned):
    """Everything that is known before the first round.

    Attributes:
        model: the public one.
        held_out: the records that evaluations ask; None where the training is not evaluated.
        start: measurements of the public weights that a linear head begins at, on held-out records (not
            private); empty where it begins at zero, if measuring is switched off, or before `run` measured.
    """

    model: nn.Module
    held_out: Federation | None = None
    start: Mapping[str, float] = field(default_factory=dict)

    @property
    def held_out_surplus(self) -> Mapping[str, int]:
        """Silo to its number of held-out records above its capacity, which are not asked; private."""
        silos = () if self.held_out is None else self.held_out.silos
        return {silo.name: silo.surplus for silo in silos if silo.surplus}


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """What a finished run has to say.

    Attributes:
        plan: the plan that was carried out.
        spending: what the ledger says was spent.
        metrics: measurements of the released model on held-out records (not private); empty if switched off,
            or if no record is held out.
        comparison: models trained without privacy, for comparison only; None if switched off, or if no record
            is held out.
        seeded: True for a simulation whose noise anyone with the seed can remove.
        directory: where the files are.
        quality: of the released model on held-out records, in detail; None as ``metrics`` is empty.
        notes: of records that could not be used as they are; for their owner alone, and in no file.
        surplus: silo to its number of training records above its capacity; likewise.
        held_out_surplus: the same of the records that evaluations ask.
        start: measurements of the public weights that a linear head began at; as of `Prepared`.
    """

    plan: Plan
    spending: Spending
    metrics: dict[str, float]
    comparison: Comparison | None
    seeded: bool
    directory: RunDirectory
    quality: AnyQuality | None = None
    notes: tuple[str, ...] = ()
    surplus: Mapping[str, int] = field(default_factory=dict)
    held_out_surplus: Mapping[str, int] = field(default_factory=dict)
    start: Mapping[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"RunResult({str(self.directory.path)!r}: {self.plan!r})"

    @property
    def failing(self) -> str:
        """Says what is left of the guarantees on records that break an assumption of theirs; or nothing."""
        return " ".join(
            said for plan, surplus in self._sides if (said := beyond_capacity(plan, self.guarantees, surplus))
        )

    @property
    def broken(self) -> frozenset[str]:
        """The assumptions of the guarantees that these records break."""
        found = (exceeded(plan, surplus) for plan, surplus in self._sides)
        return frozenset(text for text in found if text is not None)

    @property
    def _sides(self) -> list[tuple[Plan, Mapping[str, int]]]:
        asked = self.plan.evaluation
        return [(self.plan, self.surplus), *([] if asked is None else [(asked, self.held_out_surplus)])]

    @property
    def told(self) -> list[str]:
        """What the owner of the records must know, a line each."""
        return [*self.notes, *([self.failing] if self.failing else [])]

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """One for each adversary, over all that was released and every attempt besides."""
        return guarantees_after(self.plan, self.spending)


def prepare(
    config: Config, *, by_silo: Mapping[str, Any] | None = None, agreed: Plan | None = None
) -> Prepared:
    """Loads the federation, builds the public model and works out the plan; writes nothing.

    Args:
        config: what to train.
        by_silo: what each silo holds, where the config's source is ``memory``.
        agreed: a plan made before from this config; it is used as it is if it
            follows from this config and the records fit it.

    Raises:
        ConfigurationError: for anything that cannot be carried out; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target, or this machine's kernels break its
            assumption.
    """
    device = torch_device(config.speed.device)
    federation = records_of(config.data, config.training.sampling, by_silo)
    shape = federation.feature_shape
    model, found = made_model(config, shape, federation.num_classes)
    if federation.guessed_pixels and looks_up(model):
        raise ConfigurationError(
            f"'data.pixels' must be stated where records are bytes and the model {config.model.name!r} looks "
            "numbers up (nn.Embedding); it is left out, and bytes would be divided by 255. Set pixels = "
            "false for token ids."
        )
    facts = facts_of(federation, found)
    if agreed is None:
        plan = make_plan(config, facts)
    else:
        _require_facts(agreed, facts)
        plan = replace(agreed, config=settled(config, facts))
        require_follows(plan)
    if config.ask is None:
        require_start(plan, flatten(model))
    check_dropouts(plan, config.run.dropouts)
    _require_a_record(federation)
    require_rows_alike_for(plan, model.to(device), facts.silos)
    held_out = None
    if plan.evaluation is not None:
        # With the files of this machine, whose folders no plan names.
        data = plan.evaluation.data.model_copy(update={"source": config.data.source})
        held_out = records_of(data, plan.evaluation.training.sampling, by_silo)
    return Prepared(config, federation, plan, model, held_out)


def _require_a_record(federation: Federation) -> None:
    """Refuses a simulation in which not one record can be used.

    Whoever simulates holds all records, and nothing is charged, written or sent yet. A silo of a federation
    refuses nothing by what it holds: that it does would say what it holds.

    Raises:
        DataError: with what became of the records as its notes.
    """
    if not any(len(silo.train) or len(silo.test) or silo.surplus for silo in federation.silos):
        raise DataError.with_notes(
            f"{federation.name}: no record can be used, so there is nothing to train on.", federation.warnings
        )


def _require_facts(plan: Plan, found: FederationFacts) -> None:
    """Compares what a plan rests on with the records and the model at hand, field by field.

    Raises:
        ConfigurationError: naming the first that differs, with both values.
    """
    if found.map_answers is not None:
        require_planned_map(str(plan.data.transform), plan.facts.map_answers, found.map_answers)
    for fact in fields(FederationFacts):
        planned, here = getattr(plan.facts, fact.name), getattr(found, fact.name)
        if planned != here and fact.name != "map_answers":
            raise ConfigurationError(
                f"'facts.{fact.name}' must be what the plan says, {planned!r}; got {here!r}. "
                "Train on the records that were planned for, or plan again."
            )


def _ignore(_: object) -> None:
    """Observes nothing."""


def run(
    config: Config,
    out: Path,
    *,
    opening: Opening = Opening.NEW,
    observe: Callable[[RoundReport], None] = _ignore,
    announce: Callable[[Prepared], None] = _ignore,
    early: Sequence[WorkerProcess] | None = None,
    by_silo: Mapping[str, Any] | None = None,
    agreed: Plan | None = None,
) -> RunResult:
    """Trains as ``config`` says and writes plan, ledger, metrics and model into ``out``.

    Args:
        config: what to train.
        out: directory of the results.
        opening: what to do with the directory.
        observe: hears of every round.
        announce: hears of the plan before the first round.
        early: what `early_processes` started for ``config.speed`` already; it is called here if None.
        by_silo: what each silo holds, where the config's source is ``memory``.
        agreed: a plan made before from this config; left out, it is made here.

    Raises:
        DiscreetError: nothing is written if the request itself is at fault.
    """
    config = _where_its_model_is(config)
    directory = RunDirectory(out)
    seeded = config.run.seed is not None
    if opening is not Opening.RESUME:
        # Reading and planning may take minutes, and would be for nothing.
        directory.require_free(overwrite=opening is Opening.OVERWRITE)
    with ExitStack() as opened:
        if early is None:
            early = opened.enter_context(early_processes(config.speed))
        crew = opened.enter_context(Crew(config.run.seed, config.speed, early))
        prepared = _with_start(prepare(config, by_silo=by_silo, agreed=agreed))
        crew.assign(prepared.plan, prepared.federation)
        how: Callable[..., LedgerWriter] = partial(open_ledger, overwrite=opening is Opening.OVERWRITE)
        begun = resume_ledger if opening is Opening.RESUME else how
        with begun(directory, prepared.plan, seeded=seeded) as ledger:
            announce(prepared)
            initial = flatten(prepared.model)
            final = _carry_out(prepared, directory, ledger, crew, observe)
            spent = spending(ledger.entries)
    write_model(directory, prepared.plan, prepared.model, final, spent, seeded=seeded)
    used = ToMeasure(prepared.plan, prepared.federation)
    comparison = None
    if config.run.compare:
        comparison = compare(prepared.model, used.after(final.prepared, training=True), initial)
    released = replace(final, parameters=final.released)
    metrics = _measured(prepared, used, released)
    quality = _quality(prepared, used, released) if config.measures else None
    _keep(directory.file("comparison.json"), None if comparison is None else comparison.to_json())
    _keep(directory.evaluation, None if quality is None else quality_json(quality))
    return RunResult(
        prepared.plan,
        spent,
        metrics,
        comparison,
        seeded,
        directory,
        quality=quality,
        notes=prepared.notes,
        surplus=prepared.surplus,
        held_out_surplus=prepared.held_out_surplus,
        start=prepared.start,
    )


def _with_start(prepared: Prepared) -> Prepared:
    """Measures the public weights that a linear head begins at: what training brings is beyond them."""
    if prepared.plan.model.begins is None or not prepared.config.measures:
        return prepared
    used = ToMeasure(prepared.plan, prepared.federation).after(None)
    return replace(prepared, start=measure(prepared.model, used, flatten(prepared.model)))


def _keep(path: Path, document: Mapping[str, Any] | None) -> None:
    """Writes a document durably; without one, whatever an interrupted end of this training left goes."""
    if document is None:
        path.unlink(missing_ok=True)
    else:
        write_durably(path, json.dumps(document, indent=1).encode())


def _measured(prepared: Prepared, used: ToMeasure, state: Training) -> dict[str, float]:
    if not prepared.config.measures:
        return {}
    return measure(prepared.model, used.after(state.prepared), state.parameters)


def _quality(prepared: Prepared, used: ToMeasure, state: Training) -> AnyQuality | None:
    data = prepared.config.data
    federation = used.after(state.prepared)
    return quality_of(prepared.model, federation, state.parameters, classes=data.classes, labels=data.labels)


def _where_its_model_is(config: Config) -> Config:
    """Keeps training in this process if ``__main__`` defines the model; a worker's is another module."""
    asked = config.speed.workers
    if not any(map(defined_in_main, config.model.own_code)) or asked == 1:
        return config
    if asked != "auto":
        raise ConfigurationError(
            f"'speed.workers' must be 1 for the model {config.model.name!r}, which no other process can "
            f"import; got {asked}. Leave it out, or move the model into a module."
        )
    return config.model_copy(update={"speed": config.speed.model_copy(update={"workers": 1})})


def _carry_out(
    prepared: Prepared,
    directory: RunDirectory,
    ledger: LedgerWriter,
    crew: Crew,
    observe: Callable[[RoundReport], None],
) -> Training:
    config, plan = prepared.config, prepared.plan
    state = restore(directory, ledger, initial_state(plan, flatten(prepared.model)))

    used = ToMeasure(plan, prepared.federation)
    engine = LocalEngine(
        plan,
        prepared.federation,
        prepared.model,
        source_for(config.run.seed),
        session_label=len(ledger.entries),
        dropouts=config.run.dropouts,
        crew=crew,
        held_out=prepared.held_out,
    )
    return train(
        plan, engine, directory, ledger, state, measure=partial(_measured, prepared, used), observe=observe
    )
