"""Training by a program: from an agreed plan and records to a finished run, result and report included."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError
from rich.console import Console

from discreet.config import DataConfig, RunConfig, SpeedConfig
from discreet.data import IN_MEMORY
from discreet.engines.local import Opening, Prepared
from discreet.engines.local import run as run_locally
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.rounds import RoundReport
from discreet.session.finish import finish
from discreet.session.in_memory import InMemory
from discreet.session.progress import RunDisplay
from discreet.session.runs import Run, open_run
from discreet.silo.policy import load_key
from discreet.verify import require_key

_STATED = (
    "feature_shape", "label", "label_range", "ranges", "bins", "categories", "dates", "missing", "drop",
    "classes", "num_classes", "id", "test_fraction", "split_seed", "feature_norm_bound", "transform",
    "pixels",
)  # fmt: skip


def train(
    plan: Plan,
    records: InMemory | None = None,
    *,
    out: str | Path,
    seed: int | None = None,
    evaluate: bool = True,
    compare: bool = False,
    opening: Opening = Opening.NEW,
    speed: SpeedConfig | None = None,
    progress: bool = False,
    observe: Callable[[RoundReport], None] | None = None,
    sign: str | Path | None = None,
) -> Run:
    """Carries a plan out in one process and writes plan, ledger, metrics, model, result and report.

    Guarantee:
        What runs is the plan that was given, unchanged: records or a model that do not fit its public facts
        are refused before anything is written.

    Args:
        plan: what was agreed.
        records: `Frames` or `Arrays`, for a plan made of their `public`; left out, the plan's own source is
            read.
        out: directory of the run; new or empty, unless ``opening`` says otherwise.
        seed: makes a simulation reproducible; whoever knows it can remove the noise.
        evaluate: measure the model on held-out records after every round; not private.
        compare: also train without privacy, pooled and alone; never released.
        opening: what to do with a directory that holds a training.
        speed: processes and device; changes no guarantee.
        progress: show every round on stderr.
        observe: hears of every round.
        sign: the coordinator's private key.

    Warns:
        UserWarning: with counts of cells and rows that could not be used as they are, for the owner alone.

    Raises:
        DiscreetError: nothing is written if the request itself is at fault.
    """
    source = plan.data.source
    if (source == IN_MEMORY) != (records is not None):
        given = "none" if records is None else "some"
        raise ConfigurationError(
            f"records must be given for a plan of source {IN_MEMORY!r}, and for no other; {given} were given "
            f"for {source!r}. Plan from what their public() returns, or leave the records out."
        )
    if records is not None:
        _require_same_facts(plan.data, records)
    directory, identity = Path(out), None if sign is None else load_key(Path(sign))
    if opening is Opening.RESUME:
        require_key(directory, identity)
    try:
        machine = RunConfig(seed=seed, evaluate=evaluate, compare=compare)
    except ValidationError:
        raise ConfigurationError(
            f"seed must be a whole number from 0, or None for secret noise; got {seed!r}."
        ) from None
    config = plan.config.model_copy(update={"run": machine, "speed": speed or SpeedConfig()})
    with ExitStack() as opened:
        watching = [] if observe is None else [observe]
        if progress:
            display = RunDisplay(Console(stderr=True))
            watching.append(opened.enter_context(display).observe)

        def tell(report: RoundReport) -> None:
            for watcher in watching:
                watcher(report)

        result = run_locally(
            config,
            directory,
            opening=opening,
            observe=tell,
            announce=_warn,
            by_silo=None if records is None else records.by_silo,
            agreed=plan,
        )
    finish(result, identity)
    if result.failing:
        warnings.warn(result.failing, UserWarning, stacklevel=2)
    return replace(open_run(directory, own_code=True), failing=result.failing)


def _require_same_facts(planned: DataConfig, records: InMemory) -> None:
    """Compares what is stated of the records with the plan, by whose rules they will be read."""
    stated = records.public(capacity=1)
    for name in _STATED:
        said, agreed = getattr(stated, name), getattr(planned, name)
        if said != agreed:
            raise ConfigurationError(
                f"{name!r} of the records must be the plan's, {agreed!r}; got {said!r}. Plan from these "
                "records, or train on those that were planned for."
            )


def _warn(prepared: Prepared) -> None:
    """Tells whoever runs this what became of records that could not be used; it is for nobody else."""
    for note in prepared.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
