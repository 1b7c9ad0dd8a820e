"""``discreet consortium``: what the silos agree on together, before and besides the server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.promises import worth
from discreet.config import load_config
from discreet.errors import ConfigurationError
from discreet.plan import judged
from discreet.policy import Consortium, SignedAllowList, load_key
from discreet.rounds.directory import write_durably

consortium = typer.Typer(
    name="consortium",
    help="The consortium's side: plan without data, enrol silos and sign their list, seal a finished run.",
    no_args_is_help=True,
)


@consortium.command()
def plan(
    config: Annotated[Path, typer.Argument(help="A TOML config.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where the plan goes.")] = Path("plan.json"),
) -> None:
    """Work the plan out from public facts alone and freeze it in a file that every party loads.

    Example: [bold]discreet consortium plan config.toml --out server/plan.json[/bold]
    """
    from discreet.session.public import plan_without_data

    made = plan_without_data(load_config(config))
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


def _named_key(text: str) -> tuple[str, bytes]:
    found = re.fullmatch(r"(?P<name>[^=]+)=(?P<key>[0-9a-fA-F]{64})", text)
    if found is None:
        raise ConfigurationError(
            f"a silo must be given as NAME=PUBLICKEY, 64 hexadecimal digits; got {text!r}."
        )
    return found["name"], bytes.fromhex(found["key"])
