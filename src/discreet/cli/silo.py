"""``discreet silo``: the data owner's own commands."""

from __future__ import annotations

import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

silo = typer.Typer(
    name="silo",
    help="The data owner's side: serve a silo, make its key, approve a plan.",
    no_args_is_help=True,
)


def _log(line: str) -> None:
    stamp = datetime.now(UTC).strftime("%H:%M:%S")
    typer.echo(f"{stamp} {line}", err=True)


@silo.command()
def serve(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
    socket: Annotated[Path | None, typer.Option(help="Unix socket; by default silo.sock beside it.")] = None,
) -> None:
    """Answer training requests under POLICY until interrupted. Records and keys never leave this process.

    Example: [bold]discreet silo serve hospital/policy.toml[/bold]
    """
    from discreet.engines.silo.service import serve as serve_silo
    from discreet.engines.silo.silo import Surroundings, open_silo

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    path = socket if socket is not None else policy.resolve().parent / "silo.sock"
    opened = open_silo(policy, Surroundings(log=_log))
    try:
        serve_silo(opened, path, stop=stop, ready=lambda: _log(f"{opened.name} listens at {path}"), log=_log)
    finally:
        opened.close()


@silo.command()
def keygen(
    path: Annotated[Path, typer.Argument(help="Where the new private key goes.", show_default=False)],
) -> None:
    """Make a signing key for a silo, a consortium or a coordinator, and print its public half.

    To rotate: move the old key away, make a new one, and let the consortium sign a newer list.

    Example: [bold]discreet silo keygen hospital/identity.key[/bold]
    """
    from discreet.secagg.keyfile import generate_key

    typer.echo(generate_key(path).public_key.hex())


@silo.command()
def approve(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
    plan: Annotated[Path, typer.Argument(help="The plan.json to approve.", show_default=False)],
) -> None:
    """Approve a plan in person, where the policy says approval = "person".

    Example: [bold]discreet silo approve hospital/policy.toml hospital/state/pending/4350….json[/bold]
    """
    from discreet.engines.silo.state import SiloState
    from discreet.policy import load_policy, read_plan

    digest = read_plan(plan.read_bytes()).digest()
    SiloState(load_policy(policy)).approve(digest)
    typer.echo(f"approved plan {digest}")
    sys.stdout.flush()
