"""``discreet consortium``: what the silos agree on together, before and besides the server."""

from __future__ import annotations

import json
import re
import signal
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.promises import worth
from discreet.config import load_config
from discreet.errors import ConfigurationError
from discreet.plan import judged
from discreet.rounds.directory import write_durably
from discreet.silo.policy import Consortium, SignedAllowList, load_key

consortium = typer.Typer(
    name="consortium",
    help="The consortium's side: plan without data, enrol silos, make certificates, watch, stop and seal "
    "a run.",
    no_args_is_help=True,
)


@consortium.command()
def plan(
    config: Annotated[Path, typer.Argument(help="A TOML config.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where the plan goes.")] = Path("plan.json"),
) -> None:
    """Work the plan out from public facts alone and freeze it in a file that every party loads.

    A file that holds another plan is never replaced.

    Example: [bold]discreet consortium plan config.toml --out server/plan.json[/bold]
    """
    from discreet.session.public import plan_without_data

    settings = load_config(config)
    made = plan_without_data(settings)
    if out.exists() and out.read_bytes() not in (made.file(), made.document()):
        raise ConfigurationError(
            f"--out must be a new file, or hold this plan, {made.digest()[:16]}; {out} holds something else. "
            "Move it away first, or name another file."
        )
    made.save(out)
    typer.echo(f"{out}: plan {made.digest()}")
    for guarantee in made.guarantees:
        typer.echo(f"  {guarantee}; {judged(made, guarantee).short}")
    typer.echo(worth(made))


@consortium.command()
def sign(
    key: Annotated[Path, typer.Argument(help="The consortium's private key.", show_default=False)],
    silos: Annotated[
        list[str], typer.Argument(help="NAME=PUBLICKEY, one for each silo.", show_default=False)
    ],
    serial: Annotated[int, typer.Option(help="Raise it with every change.", min=1)] = 1,
    out: Annotated[Path, typer.Option(help="Where the signed list goes.")] = Path("allow-list.json"),
) -> None:
    """Enrol silos: sign the list of their public keys. A higher serial replaces every earlier list.

    Example: [bold]discreet consortium sign consortium.key north=3f… south=a0… west=77…[/bold]
    """
    keys = dict(map(_named_key, silos))
    if len(keys) != len(silos):
        raise ConfigurationError("every silo must be named once; a name is repeated.")
    signed = Consortium(load_key(key)).sign(keys, serial)
    if out.exists():
        earlier = SignedAllowList.parse(out.read_bytes()).serial
        if not serial > earlier:
            raise ConfigurationError(
                f"--serial must be above {earlier}, that of the list in {out}; got {serial}."
            )
    write_durably(out, signed.serialise())
    typer.echo(f"{out}: {len(keys)} silos, serial {serial}")


@consortium.command()
def finish(
    server: Annotated[Path, typer.Argument(help="The server's folder.", show_default=False)],
    sign: Annotated[Path | None, typer.Option(help="The server's private key, to sign the run with.")] = None,
) -> None:
    """Write result, report and seal of a finished training, as `discreet run` does; `verify` checks them.

    Example: [bold]discreet consortium finish server[/bold]
    """
    from discreet.engines.flower.outcome import finished_run
    from discreet.engines.flower.service import ServerFolder
    from discreet.session.finish import finish as write_down
    from discreet.verify import require_key

    identity = None if sign is None else load_key(sign)
    directory = ServerFolder(server).run
    require_key(directory.path, identity)
    typer.echo(f"report: {write_down(finished_run(directory), identity)}")
    typer.echo(f"check it with: discreet verify {directory.path}")


@consortium.command()
def status(
    server: Annotated[Path, typer.Argument(help="The server's folder.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Say how the training in SERVER stands, what it spent, and what to type next.

    Example: [bold]discreet consortium status server[/bold]
    """
    from discreet.health import read_run_status

    found = read_run_status(server)
    for line in [json.dumps(found.to_json())] if as_json else found.lines():
        typer.echo(line)


@consortium.command()
def abort(
    server: Annotated[Path, typer.Argument(help="The server's folder.", show_default=False)],
) -> None:
    """Stop a running training cleanly before its next attempt at a round; another start goes on from there.

    What was released stays charged, and silos are told that it is over. Asking again changes nothing.

    Example: [bold]discreet consortium abort server[/bold]
    """
    from discreet.engines.flower.service import ServerFolder
    from discreet.health import RunState, read_run_status

    found = read_run_status(server)
    match found.state:
        case RunState.RUNNING:
            ServerFolder(server).stopping.request()
            typer.echo(f"asked; see: discreet consortium status {server}")
        case RunState.ABORTED | RunState.STOPPED:
            typer.echo(f"{found.state} already: {found.reason}")
        case state:
            raise ConfigurationError(f"a training must be running in {server} to be aborted; it is {state}.")


@consortium.command()
def metrics(
    server: Annotated[Path, typer.Argument(help="The server's folder.", show_default=False)],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where /healthz and /metrics are.")
    ] = "127.0.0.1:9465",
) -> None:
    """Serve the metrics of the training in SERVER for Prometheus until interrupted; reads its files only.

    Example: [bold]discreet consortium metrics server --listen 127.0.0.1:9465[/bold]
    """
    from discreet.health import Address, Endpoint, read_run_status, run_metrics

    address = Address.parse(listen, option="--listen")
    read_run_status(server)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if address.warning is not None:
        typer.echo(f"--listen {address}: {address.warning}", err=True)
    endpoint = Endpoint(
        address,
        health=lambda: {"state": str(read_run_status(server).state)},
        metrics=lambda: run_metrics(read_run_status(server)),
    )
    with endpoint:
        typer.echo(f"metrics at http://{endpoint.address}/metrics", err=True)
        stop.wait()


@consortium.command()
def certificates(
    server: Annotated[
        str, typer.Option(help="Names and addresses of the server, separated by commas.", show_default=False)
    ] = "",
    nodes: Annotated[
        str, typer.Option(help="Names of the hospitals, separated by commas.", show_default=False)
    ] = "",
    out: Annotated[Path, typer.Option(help="A new folder.")] = Path("certificates"),
    authority: Annotated[
        Path | None,
        typer.Option(help="Folder with ca.crt and ca.key, to sign again.", show_default="a new one"),
    ] = None,
    days: Annotated[int, typer.Option(help="How long the certificates are valid.", min=1, max=1825)] = 365,
) -> None:
    """Make what Flower's connections need: an authority, the server's certificate, the SuperNodes' keys.

    Each folder inside is for one party. No file is ever replaced.

    Example: [bold]discreet consortium certificates --server fl.example.org --nodes north,south,west[/bold]
    """
    from discreet.engines.flower.provision import Request, provision

    lifetime = timedelta(days=days)
    request = Request(_names(server), _names(nodes), lifetime, authority)
    provision(request, out)
    last = f"valid until {datetime.now(UTC) + lifetime:%Y-%m-%d}"
    if request.server:
        if authority is None:
            typer.echo(f"{out / 'authority'}: stays with the notary, offline; signs for five years")
        typer.echo(f"{out / 'server'}: to the server's administrator, {last}")
    for node in request.nodes:
        typer.echo(f"{out / 'nodes' / node}: to {node} alone, {last}; its supernode.pub to the server too")


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text.strip() else ()


def _named_key(text: str) -> tuple[str, bytes]:
    found = re.fullmatch(r"(?P<name>[^=]+)=(?P<key>[0-9a-fA-F]{64})", text)
    if found is None:
        raise ConfigurationError(
            f"a silo must be given as NAME=PUBLICKEY, 64 hexadecimal digits; got {text!r}."
        )
    return found["name"], bytes.fromhex(found["key"])
