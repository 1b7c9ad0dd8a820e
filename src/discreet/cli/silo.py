"""``discreet silo``: the data owner's own commands."""

from __future__ import annotations

import json
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import EXIT_PRIVACY_REFUSAL
from discreet.log_line import LogFormat

if TYPE_CHECKING:
    from discreet.cli.owner_log import OwnerLog
    from discreet.health import Address, Endpoint, SiloWatch
    from discreet.silo.policy import Policy

silo = typer.Typer(
    name="silo",
    help="The data owner's side: serve a silo, see how it stands, make its key, approve a plan.",
    no_args_is_help=True,
)


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
    metrics: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve /healthz and /metrics (Prometheus) there.")
    ] = None,
    log_format: Annotated[
        LogFormat, typer.Option(help="Form of the log; auto is text on a terminal and JSON elsewhere.")
    ] = LogFormat.AUTO,
) -> None:
    """Answer training requests under POLICY until interrupted. Records and keys never leave this process.

    Examples: [bold]discreet silo serve hospital/policy.toml --socket-group hospital[/bold],
    [bold]discreet silo serve hospital/policy.toml --metrics 127.0.0.1:9464 --log-format json[/bold]
    """
    from discreet.silo.hardening import harden

    # Before anything secret is read, and before libraries start threads.
    warnings = harden()
    from discreet.cli.owner_log import OwnerLog
    from discreet.health import Address, SiloWatch, read_silo_status
    from discreet.report.owner import OwnerPage
    from discreet.secagg.keyfile import load_key
    from discreet.silo.custody import require_custody
    from discreet.silo.doorway import ONE_USER, group_number
    from discreet.silo.events import SiloEvent
    from discreet.silo.policy import load_policy
    from discreet.silo.service import serve as serve_silo
    from discreet.silo.silo import Silo, Surroundings

    address = None if metrics is None else Address.parse(metrics, option="--metrics")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    path = socket if socket is not None else policy.resolve().parent / "silo.sock"
    group = None if socket_group is None else group_number(socket_group)
    # Read once: what is checked here is what the silo keeps to.
    rules = load_policy(policy)
    require_custody(policy, rules, shared_machine=group is not None)
    log = OwnerLog(log_format)
    for warning in (*warnings, *([ONE_USER] if group is None else [])):
        log.warn(warning)
    with ExitStack() as stack:
        # Without its folder, the first page of a new silo could not be written.
        rules.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        # First and closed last: a ledger that keeps the silo from serving is what the page must say.
        page_kept = OwnerPage(rules, policy.resolve(), log.warn)
        stack.callback(page_kept.close)
        watch = SiloWatch(read_silo_status(rules))

        def tell(event: SiloEvent) -> None:
            watch.observe(event)
            log.tell(event)
            page_kept.observe(event)

        opened = Silo(rules, load_key(rules.identity), Surroundings(log=log.warn, tell=tell))
        stack.callback(opened.close)
        if address is not None:
            stack.enter_context(_endpoint(address, watch, log))

        def ready() -> None:
            page_kept.renew()  # the first one may have been written before the silo was opened
            log.note(f"{opened.name} listens at {path}")

        serve_silo(opened, path, stop=stop, ready=ready, log=log.warn, group=group)


def _endpoint(address: Address, watch: SiloWatch, log: OwnerLog) -> Endpoint:
    """Returns the endpoint at ``address``, and warns of one that other machines can reach."""
    from discreet.health import Endpoint

    if address.warning is not None:
        log.warn(f"--metrics {address}: {address.warning}")
    endpoint = Endpoint(address, health=watch.health, metrics=watch.metrics)
    log.note(f"metrics at http://{endpoint.address}/metrics")
    return endpoint


@silo.command()
def status(
    policy: Annotated[
        Path, typer.Argument(help="The silo's policy.toml, or its folder.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what was spent, what is left and what waits, from the state folder; also while the silo serves.

    Examples: [bold]discreet silo status hospital/policy.toml[/bold],
    [bold]discreet silo status hospital/policy.toml --json | jq .share.lifetime[/bold]
    """
    from discreet.health import read_silo_status

    found = read_silo_status(policy)
    for line in [json.dumps(found.to_json())] if as_json else found.lines():
        typer.echo(line)


@silo.command()
def budget(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
    plan: Annotated[
        Path | None,
        typer.Option(help="A proposed plan.json: what it would cost and leave.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say what was spent, by which training and when, and what a proposed plan would leave; changes nothing.

    Exit code 3 if the budget does not allow the plan.

    Examples: [bold]discreet silo budget hospital/policy.toml[/bold],
    [bold]discreet silo budget hospital/policy.toml --plan plan.json[/bold]
    """
    from discreet.cli.silo_budget import show_budget

    if not show_budget(policy, plan, as_json=as_json):
        raise typer.Exit(EXIT_PRIVACY_REFUSAL)


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
    reason: Annotated[str, typer.Option(help="Why, for this silo's own records; nobody else is told.")] = "",
) -> None:
    """Approve a plan in person, where the policy says approval = "person".

    Example: [bold]discreet silo approve hospital/policy.toml hospital/state/pending/4350….json[/bold]
    """
    from discreet.silo.decisions import APPROVED

    _decide(policy, plan, APPROVED, reason)


@silo.command()
def refuse(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
    plan: Annotated[Path, typer.Argument(help="The plan.json to refuse.", show_default=False)],
    reason: Annotated[str, typer.Option(help="Why, for this silo's own records; nobody else is told.")] = "",
) -> None:
    """Refuse a plan in person: it waits no longer, and is refused if it is proposed again.

    Example: [bold]discreet silo refuse hospital/policy.toml hospital/state/pending/4350….json[/bold]
    """
    from discreet.silo.decisions import REFUSED

    _decide(policy, plan, REFUSED, reason)


def _decide(policy: Path, plan: Path, verdict: str, reason: str) -> None:
    """Records what a person decided on a plan, and shows it on the owner's page."""
    from datetime import UTC, datetime

    from discreet.documents import shown
    from discreet.silo.decisions import decide
    from discreet.silo.policy import load_policy, read_plan_file
    from discreet.silo.state import SiloState

    chosen, rules = read_plan_file(plan), load_policy(policy)
    decide(SiloState(rules), chosen, verdict, datetime.now(UTC), reason)
    _renew_page(rules, policy)
    typer.echo(f"{verdict} plan {chosen.digest()}")
    typer.echo(f"{shown(chosen.name, _LONGEST_NAME)}: {_FOLLOWS[verdict]}")
    sys.stdout.flush()


_LONGEST_NAME = 80
_FOLLOWS = {
    "approved": "this silo takes part when it is proposed again, if the policy and the budget allow it then.",
    "refused": "it waits no longer, and is refused if it is proposed again, until somebody approves it.",
}


def _renew_page(rules: Policy, policy: Path) -> None:
    """Writes this user's page again, if there is one, so that it asks no more for what was decided."""
    import os
    from datetime import UTC, datetime

    from discreet.report.owner import PAGE, write_owner_page

    place = rules.state / PAGE
    # Written by another user, it could not be read by the silo's own any more.
    if place.exists() and place.stat().st_uid == os.geteuid():
        try:
            write_owner_page(rules, policy.resolve(), datetime.now(UTC))
        except OSError as error:
            typer.echo(f"the owner's page still shows the plan; it cannot be written: {error}", err=True)


@silo.command()
def page(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Where it goes; by default page.html in the state folder.")
    ] = None,
) -> None:
    """Write the owner's page: what waits for a decision, what was spent and refused; for who has no terminal.

    A serving silo writes page.html in its state folder again after everything that happens.

    Example: [bold]discreet silo page hospital/policy.toml --out page.html[/bold]
    """
    from datetime import UTC, datetime

    from discreet.report.owner import write_owner_page
    from discreet.silo.policy import load_policy

    typer.echo(write_owner_page(load_policy(policy), policy.resolve(), datetime.now(UTC), out))


@silo.command()
def anchor(
    policy: Annotated[Path, typer.Argument(help="The silo's policy.toml.", show_default=False)],
) -> None:
    """State that the ledger is the newest one, its anchor being lost. Never do so after restoring a backup.

    Example: [bold]discreet silo anchor hospital/policy.toml[/bold]
    """
    from discreet.silo.policy import load_policy
    from discreet.silo.state import SiloState

    made = SiloState(load_policy(policy)).anchor_anew()
    typer.echo(f"anchored a ledger of {made.lines} lines, which charge {made.charged}")
