"""``discreet silo budget``: the odometer as tables, or as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from discreet.cli.console import console
from discreet.cli.listing import Listing
from discreet.documents import shown
from discreet.privacy.ledger import read_ledger
from discreet.privacy.notation import pair_text
from discreet.silo.policy import load_policy, read_plan_file
from discreet.silo.policy.limits import Limits
from discreet.silo.spending import Level, Odometer, Proposed, odometer, proposed
from discreet.silo.state import SiloState

_LONGEST_NAME = 80


def show_budget(policy: Path, plan: Path | None, *, as_json: bool) -> bool:
    """Prints the odometer of a silo; returns whether the budget allows the plan, if one is given.

    Raises:
        ConfigurationError: if the policy or the plan cannot be read.
        LedgerError: if the ledger is damaged, or shorter than its anchor knows.
        PolicyRefusal: if the plan's guarantee cannot be added to others.
    """
    rules, today = load_policy(policy), datetime.now(UTC).date()
    # A ledger that was rolled back says that less was spent than was.
    SiloState(rules).check_anchor()
    path = rules.state / "ledger.jsonl"
    entries = tuple(line.entry for line in read_ledger(path)) if path.exists() else ()
    found = odometer(rules, entries, today)
    asked = None
    if plan is not None:
        asked = proposed(rules, entries, today, read_plan_file(plan))
    if as_json:
        typer.echo(json.dumps(_finite(_plain(found, asked)), indent=1, allow_nan=False))
    else:
        _tables(console(), found, asked)
    return asked is None or not asked.refusal


def _plain(found: Odometer, asked: Proposed | None) -> dict[str, object]:
    plain = dataclasses.asdict(found)
    if asked is not None:
        plain["proposed"] = {
            "plan": asked.plan.digest(),
            "epsilon": asked.alone[0],
            "delta": asked.alone[1],
            "after": dataclasses.asdict(asked.after),
            "refusal": asked.refusal,
        }
    return plain


def _finite(value: object) -> object:
    """Returns the same with None for ∞, which JSON does not know."""
    match value:
        case dict():
            return {name: _finite(one) for name, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _tables(out: Console, found: Odometer, asked: Proposed | None) -> None:
    rows = [
        (
            shown(one.name, _LONGEST_NAME),
            one.plan[:16],
            one.days_text,
            one.releases_text + (f", {one.lost} of them lost" if one.lost else ""),
            pair_text(one.epsilon, one.delta),
        )
        for one in found.trainings
    ]
    title = f"{found.silo}: what was spent on each {found.unit}"
    columns = ("training", "plan", "days (UTC)", "releases", "by itself")
    if rows:
        out.print(Listing(title, columns, tuple(rows), wraps=0), "")
    else:
        out.print(f"{found.silo}: nothing was spent", "")
    out.print(_line("in all", found.lifetime, found.limits))
    if found.year is not None and found.year_limits is not None:
        out.print(_line("this year", found.year, found.year_limits))
    out.print(found.composed_text)
    if found.unfixed:
        out.print(f"ATTENTION: {found.unfixed}")
    if asked is not None:
        name = shown(asked.plan.name, _LONGEST_NAME)
        verdict = f"refused: {asked.refusal}" if asked.refusal else "the budget allows it"
        words = (
            f"{name} ({asked.plan.digest()[:16]}), {asked.plan.rounds} releases, by itself: ",
            f"  {pair_text(*asked.alone)} {_line('with it', asked.after, found.limits)}",
            verdict,
        )
        # A plan's name is what somebody else wrote: never markup.
        out.print("", *words, sep="\n", markup=False, emoji=False, highlight=False)


def _line(what: str, level: Level, limits: Limits) -> str:
    left = f"{100.0 * max(0.0, 1.0 - level.share):.1f} %"
    rest = f"{left} of ε or of δ, whichever is less, is left"
    if limits.composition != "sum":
        rest = f"as the filter counts, which is not in ε, {left} of the budget is left"
    return (
        f"{what}: {limits.spent_text(level.epsilon, level.delta)}; allowed "
        f"{pair_text(limits.epsilon, limits.delta, down=True)}; {rest}"
    )
