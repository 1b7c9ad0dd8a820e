"""``discreet silo``: the data owner's own commands."""

from __future__ import annotations

import signal
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from discreet.policy import generate_key, load_policy, read_plan

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
    socket_group: Annotated[
        str | None,
        typer.Option(
            help="Group of this silo's user and of the SuperNode's; by default both are one user.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Answer training requests under POLICY until interrupted. Records and keys never leave this process.

    Example: [bold]discreet silo serve hospital/policy.toml --socket-group hospital[/bold]
    """
    from discreet.engines.silo.hardening import harden

    # Before anything secret is read, and before libraries start threads.
    for warning in harden():
        _log(warning)
    from discreet.engines.silo.custody import require_custody
    from discreet.engines.silo.doorway import ONE_USER, group_number
    from discreet.engines.silo.service import serve as serve_silo
    from discreet.engines.silo.silo import Surroundings, open_silo

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    path = socket if socket is not None else policy.resolve().parent / "silo.sock"
    group = None if socket_group is None else group_number(socket_group)
    require_custody(policy, load_policy(policy), shared_machine=group is not None)
    if group is None:
        _log(ONE_USER)
    opened = open_silo(policy, Surroundings(log=_log))

    def announce() -> None:
        _log(f"{opened.name} listens at {path}")

    try:
        serve_silo(opened, path, stop=stop, ready=announce, log=_log, group=group)
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

    digest = read_plan(plan.read_bytes()).digest()
    SiloState(load_policy(policy)).approve(digest)
    typer.echo(f"approved plan {digest}")
    sys.stdout.flush()


@silo.command()
def anchor(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
) -> None:
    """State that the ledger is the newest one, its anchor being lost. Never do so after restoring a backup.

    Example: [bold]discreet silo anchor hospital/policy.toml[/bold]
    """
    from discreet.engines.silo.state import SiloState

    made = SiloState(load_policy(policy)).anchor_anew()
    typer.echo(f"anchored a ledger of {made.lines} lines, which charge {made.charged}")
