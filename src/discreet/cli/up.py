"""``discreet up``: a whole Flower deployment on this machine, for trying a training out."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from discreet.cli.promises import plan_table, worth
from discreet.config import load_config
from discreet.engines.local import prepare
from discreet.privacy.wire import from_json
from discreet.session.finish import finish

_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SIGNALLED = 128


def up(
    config: Annotated[Path, typer.Argument(help="A TOML config.", show_default=False)],
    silos: Annotated[int | None, typer.Option(help="How many silos the config must have.")] = None,
    kill: Annotated[
        str | None, typer.Option(help="Cut a silo's power, e.g. silo-2@round-3.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New folder for keys, logs and results.")] = None,
    port: Annotated[int | None, typer.Option(help="The SuperLink's port; by default a free one.")] = None,
    patience: Annotated[float, typer.Option(help="Seconds that a stage waits for its slowest silo.")] = 60.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON; progress goes to stderr.")
    ] = False,
) -> None:
    """Run CONFIG over SuperLink, SuperNodes and silos on this machine, with TLS and node authentication.

    Example: [bold]discreet up examples/heart.toml --silos 4 --kill silo-2@round-3[/bold]
    """
    from discreet.engines.flower.outcome import finished_run
    from discreet.engines.flower.up import bring_up

    console = Console(stderr=as_json, highlight=False, soft_wrap=True)
    settings = load_config(config)
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    folder = out if out is not None else Path("runs") / f"{settings.name}-up-{stamp}"
    plan = prepare(settings).plan
    console.print(plan_table(plan), "")
    with _ends_by_signal(console):
        finished = bring_up(
            settings,
            folder,
            silos=silos,
            kill=kill,
            port=port,
            patience_seconds=patience,
            announce=lambda line: console.print(line, markup=False),
        )
    run = finished.folder.server.run
    report = finish(finished_run(run), None)
    if as_json:
        summary = {**finished.outcome, "seconds": round(finished.seconds, 1), "out": str(folder)}
        typer.echo(json.dumps({**summary, "run": str(run.path)}))
        return
    guarantee = from_json(finished.outcome["guarantee"])
    console.print(f"\nguarantee: {guarantee}", markup=False)
    console.print(worth(plan), markup=False)
    console.print(f"completed in {finished.seconds:.0f} s; nothing is left running. Logs and keys: {folder}")
    console.print(f"report: {report}\ncheck it with: discreet verify {run.path}", markup=False)


@contextmanager
def _ends_by_signal(console: Console) -> Iterator[None]:
    """Ends the block in good order at the first signal that asks for it; others then change nothing."""

    def end(number: int, _: object) -> None:
        for other in _ENDING:
            signal.signal(other, signal.SIG_IGN)
        # A terminal that hung up takes no more lines.
        with suppress(OSError):
            console.print(f"{signal.Signals(number).name}: ending all processes", markup=False)
        raise SystemExit(_SIGNALLED + number)

    # What a caller has had ignored stays so: nohup, or a job in the background.
    heard = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
