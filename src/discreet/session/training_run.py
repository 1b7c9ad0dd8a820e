"""Training by a program: from an agreed plan and records to a finished run, result and report included."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from rich.console import Console

from discreet.config import Config, DataConfig, RunConfig, SpeedConfig
from discreet.config.arguments import known_arguments
from discreet.data import IN_MEMORY
from discreet.data.remarks import grouped
from discreet.engines.local import Opening, Prepared, RunResult
from discreet.engines.local import run as run_locally
from discreet.errors import ConfigurationError
from discreet.plan import Plan
from discreet.plan.untuned import settled
from discreet.rounds import RoundReport, RunDirectory, finished, read_record
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


@known_arguments
def train(
    plan: Plan | Config,
    records: InMemory | None = None,
    *,
    out: str | Path,
    seed: int | None = None,
    evaluate: bool | None = None,
    compare: bool | None = None,
    opening: Opening | str = Opening.NEW,
    speed: SpeedConfig | None = None,
    progress: bool = False,
    observe: Callable[[RoundReport], None] | None = None,
    sign: str | Path | None = None,
) -> Run:
    """Carries a plan or a config out in one process and writes all files of a run, result and seal included.

    Guarantee:
        What runs is the plan that was given, unchanged: records or a model that do not fit its public facts
        are refused before anything is written. A config is planned here first.

    Args:
        plan: what was agreed, or a config as of `discreet.load_config`.
        records: `Frames` or `Arrays`, for a plan made of their `public`; left out, the plan's own source is
            read.
        out: directory of the run; new or empty, unless ``opening`` says otherwise.
        seed: makes a simulation reproducible; whoever knows it can remove the noise. Left out, as the config
            says, and secret noise for a plan; so are the next two.
        evaluate: measure the model on held-out records after every round; not private. A plan's own is true.
        compare: also train without privacy, pooled and alone; never released. A plan's own is false.
        opening: what to do with a directory that holds a training: ``resume`` or ``overwrite`` it. One that
            is finished stays as it is when resumed.
        speed: processes and device; changes no guarantee.
        progress: show every round on stderr.
        observe: hears of every round.
        sign: the coordinator's private key.

    Warns:
        UserWarning: with counts of cells and rows that could not be used as they are, one a silo and kind
            where many columns have such cells; for the owner alone.

    Raises:
        DiscreetError: nothing is written if the request itself is at fault.
    """
    _require_kinds(plan, records, out, speed, observe)
    config = _on_this_machine(plan, speed, {"seed": seed, "evaluate": evaluate, "compare": compare})
    _require_records_of(config.data, records)
    directory, opened_as = Path(out), _opening(opening)
    if opened_as is Opening.RESUME and nothing_left(config, directory, sign):
        return open_run(directory, own_code=True)
    with ExitStack() as opened:
        display = opened.enter_context(RunDisplay(Console(stderr=True), quiet=not progress))
        watching = [display.observe] if observe is None else [observe, display.observe]

        def tell(report: RoundReport) -> None:
            for watcher in watching:
                watcher(report)

        def announce(prepared: Prepared) -> None:
            _warn(prepared)
            display.begin(prepared.start)

        result, _ = carry_out(
            config,
            directory,
            opening=opened_as,
            sign=sign,
            observe=tell,
            announce=announce,
            by_silo=None if records is None else records.by_silo,
            agreed=plan if isinstance(plan, Plan) else None,
        )
    if result.failing:
        warnings.warn(result.failing, UserWarning, stacklevel=3)  # whoever called train
    return replace(open_run(directory, own_code=True), failing=result.failing)


def carry_out(
    config: Config, directory: Path, *, opening: Opening, sign: str | Path | None, **how: Any
) -> tuple[RunResult, Path]:
    """Trains as `discreet.engines.local.run` does, writes result and report, and seals and signs all files.

    This is the one way to a finished run in one process, of commands and programs alike.

    Args:
        config: what to train.
        directory: of the results.
        opening: what to do with it.
        sign: the coordinator's private key.
        how: what else `discreet.engines.local.run` takes.

    Returns:
        The result, and the report's page.

    Raises:
        DiscreetError: nothing is written if the request itself is at fault.
    """
    identity = None if sign is None else load_key(Path(sign))
    if opening is Opening.RESUME:
        require_key(directory, identity)
    result = run_locally(config, directory, opening=opening, **how)
    return result, finish(result, identity)


def nothing_left(config: Config, directory: Path, sign: str | Path | None) -> bool:
    """Says whether a training has nothing to go on with: every round is charged, and all files are sealed.

    The seal is the last file that `finish` writes: where it is missing, that is done again. A config that
    makes another plan is left to the training, which refuses it.

    Raises:
        DiscreetError: if plan or ledger are damaged, or the run was signed by another key than ``sign``.
    """
    run = RunDirectory(directory)
    if not all(run.file(name).is_file() for name in ("manifest.json", "result.json", "plan.json")):
        return False
    require_key(directory, None if sign is None else load_key(Path(sign)))
    record = read_record(directory)
    plan, spent = record.plan, record.spending
    if replace(plan, config=settled(config, plan.facts)).digest() != plan.digest():
        return False
    return spent.pending is None and finished(plan, run, spent)


def _on_this_machine(plan: Plan | Config, speed: SpeedConfig | None, stated: dict[str, Any]) -> Config:
    """Returns the config that is carried out, with what this process says of itself."""
    given = (
        plan
        if isinstance(plan, Config)
        else plan.config.model_copy(update={"run": RunConfig(), "speed": SpeedConfig()})
    )
    own = {name: value for name, value in stated.items() if value is not None}
    try:
        machine = RunConfig.model_validate(given.run.model_dump() | own)
    except ValidationError as error:
        name = str(error.errors()[0]["loc"][0])
        must = "a whole number from 0, or None for secret noise" if name == "seed" else "True, False or None"
        raise ConfigurationError(f"{name} must be {must}; got {stated.get(name)!r}.") from None
    return given.model_copy(update={"run": machine, "speed": speed or given.speed})


def _require_kinds(plan: object, records: object, out: object, speed: object, observe: object) -> None:
    """Refuses, before anything is read, what is none of the things that `train` takes."""
    wrong = [
        (
            "plan",
            "a plan, as of plan_training or load_plan, or a config",
            plan,
            isinstance(plan, Plan | Config),
        ),
        ("records", "Frames or Arrays", records, isinstance(records, InMemory | None)),
        ("out", "the directory of the run", out, isinstance(out, str | PathLike)),
        ("speed", "a SpeedConfig", speed, isinstance(speed, SpeedConfig | None)),
        ("observe", "a function of a RoundReport", observe, observe is None or callable(observe)),
    ]
    for name, must, given, fits in wrong:
        if not fits:
            raise ConfigurationError(f"{name} must be {must}; got {type(given).__name__}.")


def _require_records_of(data: DataConfig, records: InMemory | None) -> None:
    """Refuses records beside a source that has its own, and none where a program hands them over."""
    if (data.source == IN_MEMORY) != (records is not None):
        given = "none" if records is None else "some"
        raise ConfigurationError(
            f"records must be given for a plan of source {IN_MEMORY!r}, and for no other; {given} were given "
            f"for {data.source!r}. Plan from what their public() returns, or leave the records out."
        )
    if records is not None:
        _require_same_facts(data, records)


def _opening(stated: Opening | str) -> Opening:
    try:
        return Opening(stated)
    except ValueError:
        named = ", ".join(one.value for one in Opening)
        raise ConfigurationError(f"opening must be one of {named}; got {stated!r}.") from None


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
    for note in grouped(prepared.notes):
        warnings.warn(note, UserWarning, stacklevel=7)  # whoever called train
