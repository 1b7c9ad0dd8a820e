"""``discreet plan``: what a training would cost, before anything is trained."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import console
from discreet.cli.listing import Listing
from discreet.cli.promises import assumptions_table, promises
from discreet.cli.sweep_plot import plot_sweep
from discreet.cli.tables import plan_table
from discreet.config import load_config
from discreet.engines.local import Prepared, prepare
from discreet.errors import ConfigurationError
from discreet.explorer import Exploration, explore, from_sweep, render
from discreet.plan.sweep import SweepRow, parse_axis, sweep
from discreet.privacy.notation import delta_text, epsilon_text


def plan(
    config: Annotated[Path, typer.Argument(help="A TOML config.", show_default=False)],
    settings: Annotated[
        list[str] | None, typer.Argument(help="With --sweep: KEY=VALUE,VALUE,…", show_default=False)
    ] = None,
    sweeping: Annotated[
        bool, typer.Option("--sweep", help="Plan every combination of the settings that follow.")
    ] = False,
    plot: Annotated[
        Path | None, typer.Option(help="With --sweep: draw the table into this .svg, .pdf or .png.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", help="Write an interactive page of plans around this one.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Work out the plan that CONFIG asks for: noise, ring, bytes, and every adversary's guarantee.

    With --sweep, --html shows the sweep; alone, it varies rounds, ε, local steps, silos and dropouts.

    Example: [bold]discreet plan examples/heart.toml --sweep local.steps=4,16 rounds=5,10,20[/bold]
    """
    if not sweeping and (settings or plot):
        raise ConfigurationError("settings and --plot belong to --sweep; give --sweep, or leave them out.")
    if sweeping and not settings:
        raise ConfigurationError("--sweep must be followed by settings, say: --sweep rounds=5,10,20.")
    prepared = prepare(load_config(config))
    if sweeping:
        _sweep(prepared, settings or [], plot, page, as_json=as_json)
    else:
        _one(prepared, as_json=as_json)
        if page is not None:
            _write_page(explore(prepared.config, prepared.plan, prepared.model), page)


def _one(prepared: Prepared, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"digest": prepared.plan.digest(), "plan": prepared.plan.to_json()}, indent=1))
        return
    out = console()
    out.print(plan_table(prepared.plan), "")
    guarantees = prepared.plan.guarantees
    out.print(promises(prepared.plan, guarantees, title="who could learn what"))
    if any(row.assumptions for row in guarantees):
        out.print("", assumptions_table(guarantees))


def _write_page(exploration: Exploration, path: Path) -> None:
    try:
        path.write_text(render(exploration), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"--html must be a file that can be written; {path}: {error.strerror}."
        ) from None
    typer.echo(f"explorer: {path}", err=True)


def _sweep(
    prepared: Prepared, settings: list[str], plot: Path | None, page: Path | None, *, as_json: bool
) -> None:
    axes = [parse_axis(text, prepared.config) for text in settings]
    rows = sweep(prepared.config, prepared.plan.facts, prepared.model, axes)
    if as_json:
        typer.echo(json.dumps([_row_json(row) for row in rows], indent=1))
    else:
        adversary, _ = prepared.plan.budget_adversary()
        out = console()
        out.print(_sweep_table(rows, adversary.describe()))
        for number, reason in enumerate(_refusals(rows), start=1):
            out.print(f"refused ({number}): {reason}")
    if plot is not None:
        plot_sweep(rows, plot)
    if page is not None:
        _write_page(from_sweep(prepared.plan, prepared.config, axes, rows), page)


def _row_json(row: SweepRow) -> dict[str, object]:
    if isinstance(row.outcome, str):
        return {"settings": dict(row.settings), "refused": row.outcome}
    figures = {field.name: getattr(row.outcome, field.name) for field in dataclasses.fields(row.outcome)}
    return {"settings": dict(row.settings), **figures, "judgement": str(row.outcome.judgement)}


def _sweep_table(rows: tuple[SweepRow, ...], adversary: str) -> Listing:
    """One row for each combination, what was chosen before what it costs."""
    names = [name for name, _ in rows[0].settings]
    figures = (
        "ε",
        "δ",
        "judgement",
        "multiplier",
        "noise norm",
        "signal/noise",
        "bits",
        "bytes/round",
        "bytes",
    )
    return Listing(
        f"ε against {adversary}; noise and signal of one round's sum",
        (", ".join(names), *figures),
        tuple((_chosen(row), *_cells(row, rows)) for row in rows),
        frozenset(figures) - {"judgement"},
    )


def _chosen(row: SweepRow) -> str:
    return ", ".join(str(value) for _, value in row.settings)


def _refusals(rows: tuple[SweepRow, ...]) -> list[str]:
    """Returns the different reasons for refusal, in order."""
    return list(dict.fromkeys(row.outcome for row in rows if isinstance(row.outcome, str)))


def _cells(row: SweepRow, rows: tuple[SweepRow, ...]) -> tuple[str, ...]:
    costs = row.outcome
    if isinstance(costs, str):
        return (f"refused ({_refusals(rows).index(costs) + 1})",)
    return (
        epsilon_text(costs.epsilon),
        delta_text(costs.delta),
        costs.judgement.short,
        f"{costs.noise_multiplier:.4g}",
        f"{costs.noise_norm:.4g}",
        f"{costs.signal_to_noise:.3g}",
        f"{costs.bits}",
        f"{costs.bytes_per_silo:,}",
        f"{costs.bytes_per_training:,}",
    )
