"""``discreet report``: write the report of a finished or interrupted run again, with budgets, and sign it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import ConfigurationError
from discreet.report import collect
from discreet.report.nist import nist_table
from discreet.report.registry import registry_entry
from discreet.session import report_again
from discreet.silo.policy import load_key


def report(
    directory: Annotated[Path, typer.Argument(help="The directory of a run.", show_default=False)],
    policy: Annotated[
        list[Path] | None,
        typer.Option(help="A silo's policy.toml, or a folder of silos: show its budget. Repeatable."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(help="The coordinator's private key, of `discreet silo keygen`.")
    ] = None,
    registry: Annotated[
        Path | None, typer.Option(help="New JSON file: an entry for the DP Deployments Registry.")
    ] = None,
    nist: Annotated[
        Path | None, typer.Option(help="New Markdown file: what the run answers of NIST SP 800-226.")
    ] = None,
) -> None:
    """Write report.html and report.json from the files of a run.

    With --policy they show what the training used of each silo's budget; what the policy states stays beside
    the run in budgets.json. --registry and --nist write what others ask for in their own form; no measurement
    on held-out records is in them.

    Example: [bold]discreet report runs/heart --sign coordinator.key[/bold]
    """
    identity = None if sign is None else load_key(sign)
    exports = _exports(directory, registry, nist)
    typer.echo(str(report_again(directory, identity, policy or ())))
    for path, text in exports.items():
        path.write_text(text, encoding="utf-8")
        typer.echo(str(path))


def _exports(directory: Path, registry: Path | None, nist: Path | None) -> dict[Path, str]:
    """Returns what is to be written beside the report; nothing is written if one of them cannot be.

    Raises:
        ConfigurationError: if a file exists, or the run has no entry to give.
    """
    asked = {"--registry": registry, "--nist": nist}
    for option, path in asked.items():
        if path is not None and path.exists():
            raise ConfigurationError(f"{option} must name a new file; {path} exists. Give another name.")
    found: dict[Path, str] = {}
    if registry is not None:
        entry = registry_entry(collect(directory))
        found[registry] = json.dumps(entry, indent=1, ensure_ascii=False) + "\n"
    if nist is not None:
        found[nist] = nist_table(collect(directory))
    return found
