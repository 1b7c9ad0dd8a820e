"""``discreet verify``: check a run from its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import console
from discreet.cli.listing import Listing
from discreet.verify import Finding, VerificationFailure, manifest_digest
from discreet.verify import verify as check


def verify(
    directory: Annotated[Path, typer.Argument(help="The directory of a run.", show_default=False)],
    manifest: Annotated[
        str | None, typer.Option(help="The manifest's SHA-256, noted elsewhere when the run ended.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Public key of the coordinator, who must have signed the run.")
    ] = None,
    records: Annotated[
        Path | None, typer.Option(help="Folder of the records: measure the released model on them again.")
    ] = None,
    own_code: Annotated[
        bool, typer.Option("--own-code", help="Import the model and the data source that the plan names.")
    ] = False,
    other_version: Annotated[
        bool,
        typer.Option("--other-version", help="Take files that other versions wrote as they were sealed."),
    ] = False,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="The public weights that the plan names: compare frozen layers, or where a head began, with "
            "them, or, of a feature network, make the features of --records."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Work out every number of a run again from plan and ledger; exit code 2 with the first that is wrong.

    Where other versions wrote the report, and it cannot be made again, the exit code is 1.

    Example: [bold]discreet verify runs/heart[/bold]
    """
    findings = list(check(directory, key=key, records=records, own_code=own_code, weights=weights))
    digest = manifest_digest(directory)
    if manifest is not None and manifest.lower() != digest:
        raise VerificationFailure(
            f"the manifest must have the SHA-256 that was noted, {manifest}; got {digest}."
        )
    excepted = "; ".join(finding.exception for finding in findings if finding.exception)
    if as_json:
        rows = [{"what": f.subject, "basis": f.basis.value, "detail": f.detail} for f in findings]
        typer.echo(json.dumps({"manifest": digest, "except": excepted or None, "findings": rows}, indent=1))
    else:
        out = console()
        out.print(_table(findings, excepted))
        out.print(f"\nmanifest SHA-256: {digest}", soft_wrap=True)
    if excepted and not other_version:
        typer.echo(
            f"every file must be checked; not so {excepted}. Verify with those versions, or take these files "
            "as they were sealed by --other-version.",
            err=True,
        )
        raise typer.Exit(1)


def _table(findings: list[Finding], excepted: str) -> Listing:
    """Shows what was checked and how, below what was not."""
    rows = tuple((finding.subject, finding.basis.value, finding.detail) for finding in findings)
    title = f"verified, except {excepted}" if excepted else "verified"
    return Listing(title, ("what", "how", "which"), rows, wraps=2)
