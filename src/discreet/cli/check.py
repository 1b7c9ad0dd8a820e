"""``discreet check``: the data owner's dry run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from discreet.errors import EXIT_BAD_REQUEST, EXIT_PRIVACY_REFUSAL
from discreet.privacy.notation import pair_text
from discreet.privacy.wire import to_json

if TYPE_CHECKING:
    from discreet.silo.check import DryRun
    from discreet.silo.policy import PolicyRefusal


def check(
    policy: Annotated[Path, typer.Argument(help="This silo's policy.toml.", show_default=False)],
    plan: Annotated[Path, typer.Argument(help="The proposed plan.json.", show_default=False)],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what would leave this silo under PLAN and what it would cost; sends nothing.

    If this silo would refuse, all its reasons are listed, each with what it would need, and the
    exit code is 3; a plan that only waits for a person is shown besides. Exit code 2 if its source of
    records does not fit, or holds none that can be used.

    Example: [bold]discreet check hospital/policy.toml plan.json[/bold]
    """
    from discreet.silo.check import dry_run, reasons_against
    from discreet.silo.policy import RefusalCode, load_policy, read_plan_file

    rules, proposed = load_policy(policy), read_plan_file(plan)
    reasons = reasons_against(rules, proposed)
    waits = [reason.code for reason in reasons] == [RefusalCode.APPROVAL]
    if reasons and not waits:
        _show_reasons(reasons, as_json=as_json)
        raise typer.Exit(EXIT_PRIVACY_REFUSAL)
    found = dry_run(rules, proposed, as_if_approved=waits)
    if as_json:
        summary = {
            "plan": found.plan.digest(),
            "cost": to_json(found.cost),
            "spent": found.spent,
            "left": found.left,
            "share": found.share,
            "records": found.records,
            "persons": found.persons,
            "features": found.features,
            "released": found.released,
            "held_out": found.held_out,
            "notes": found.notes,
            "waits": waits,
        }
        typer.echo(json.dumps(summary, indent=1))
    else:
        _show(found, waits=waits)
    if not found.records:
        raise typer.Exit(EXIT_BAD_REQUEST)
    if waits:
        approve = shlex.join(["discreet", "silo", "approve", str(policy), str(plan)])
        typer.echo(f"A person here must approve it. To let it take part:\n{approve}", err=as_json)
        raise typer.Exit(EXIT_PRIVACY_REFUSAL)


def _show_reasons(reasons: Sequence[PolicyRefusal], *, as_json: bool) -> None:
    """Prints every reason for which the silo would refuse; the words are safe to show, and no markup."""
    if as_json:
        listed = [{"code": reason.code.value, "reason": str(reason)} for reason in reasons]
        typer.echo(json.dumps({"refused": listed}, indent=1))
        return
    plural = "1 reason" if len(reasons) == 1 else f"{len(reasons)} reasons"
    typer.echo(f"This silo would refuse, for {plural}:")
    for number, reason in enumerate(reasons, start=1):
        typer.echo(f"{number}. {reason}")


def _show(found: DryRun, *, waits: bool) -> None:
    """Prints what would leave the silo, and what it would cost."""
    from discreet.data.remarks import grouped
    from discreet.plan import judged

    table = Table(show_header=False, show_edge=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    table.add_row("plan", found.plan.digest()[:16])
    table.add_row("cost", str(found.cost))
    table.add_row("judgement", str(judged(found.plan, found.cost)))
    table.add_row("spent before", f"{found.limits.spent_text(*found.spent)} in other trainings")
    table.add_row("left after", f"{_left(found)} of the policy's total")
    of = "" if found.persons is None else f" of {found.persons} persons,"
    stays = "number stays" if found.persons is None else "numbers stay"
    table.add_row("records", f"{found.records}{of} of {found.features} features; the {stays} here")
    table.add_row("held out", found.held_out)
    for line in grouped(found.notes):
        table.add_row("look at", line)
    for number, line in enumerate(found.released):
        table.add_row("what leaves" if number == 0 else "", line)
    console = Console(highlight=False)
    console.print(table)
    if found.records:
        console.print("\nThe policy allows it." if waits else "\nThis silo would take part.")
    else:
        console.print(
            "\nThis silo would take part WITHOUT ANY RECORD and send noise only: mend its source first."
        )


def _left(found: DryRun) -> str:
    # A plan that costs just what is left may leave less than nothing by a rounding error.
    if found.left is None:
        return f"{100.0 * max(0.0, 1.0 - found.share):.1f} %"
    return pair_text(*(max(0.0, part) for part in found.left), down=True)
