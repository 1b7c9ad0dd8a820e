"""``discreet plan``: what a training would cost, before anything is trained."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import console, tell_owner
from discreet.cli.listing import Listing
from discreet.cli.promises import assumptions_table, plan_table, promises
from discreet.config import load_config
from discreet.errors import ConfigurationError
from discreet.plan import Plan, judged
from discreet.plan.narrower import narrower_by_laplace
from discreet.plan.over_records import Planned, plan_over_records
from discreet.plan.persons import for_persons
from discreet.plan.sweep import Costs, SweepRow, parse_axis, sweep
from discreet.plan.untuned import Chosen, choice
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_is, delta_text, epsilon_text

_FIGURES: dict[str, Callable[[Costs], str]] = {
    "ε": lambda costs: epsilon_text(costs.epsilon),
    "δ": lambda costs: delta_text(costs.delta),
    "judgement": lambda costs: costs.judgement.short,
    "noise\nmultiplier": lambda costs: f"{costs.noise_multiplier:.4g}",
    "noise\nnorm": lambda costs: f"{costs.noise_norm:.4g}",
    "signal\n/noise": lambda costs: f"{costs.signal_to_noise:.3g}",
    "bits": lambda costs: f"{costs.bits}",
    "bytes\n/round": lambda costs: f"{costs.bytes_per_silo:,}",
    "bytes": lambda costs: f"{costs.bytes_per_training:,}",
}


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

    Example: [bold]discreet plan examples/heart.toml --sweep epsilon=0.5,1,2 rounds=5,10,20[/bold]
    """
    if not sweeping and (settings or plot):
        raise ConfigurationError("settings and --plot belong to --sweep; give --sweep, or leave them out.")
    if sweeping and not settings:
        raise ConfigurationError("--sweep must be followed by settings, say: --sweep rounds=5,10,20.")
    planned = plan_over_records(load_config(config))
    tell_owner(planned.notes)
    if sweeping:
        _sweep(planned, settings or [], plot, page, as_json=as_json)
    else:
        chosen = choice(planned.config, planned.plan.facts)
        _one(planned.plan, chosen, as_json=as_json)
        if page is not None:
            from discreet.cli.plan_page import write_neighbourhood  # reports take longer than a plan

            write_neighbourhood(planned, page)


def _one(plan: Plan, chosen: Chosen | None, *, as_json: bool) -> None:
    if as_json:
        typer.echo(plan.file(), nl=False)
        return
    out = console()
    out.print(plan_table(plan), "")
    if chosen is not None:
        out.print(f"settings: {chosen.local.describe()}; server: {chosen.server.describe()}")
        out.print(f"why: {chosen.reason}", "")
    narrower = narrower_by_laplace(plan)
    if narrower is not None:
        out.print(
            'less noise: with privacy.mechanism = "discrete-laplace" the noise of every count would have a '
            f"deviation of {narrower[1]:.3g}, not {narrower[0]:.3g}, at the same ε; asked again and again, "
            "it costs more.",
            "",
            markup=False,
        )
    guarantees = plan.guarantees
    out.print(promises(plan, guarantees, title="who could learn what"))
    persons = for_persons(plan)
    if persons:
        out.print("", _persons(plan, persons))
    if any(row.assumptions for row in guarantees):
        out.print("", assumptions_table(guarantees))


def _persons(plan: Plan, persons: Sequence[tuple[int, Guarantee]]) -> Listing:
    """What the same noise leaves to somebody with several records at one silo."""
    who = persons[0][1].adversary.describe()
    rows = tuple((f"{count}", epsilon_text(row.epsilon), judged(plan, row).short) for count, row in persons)
    title = f"somebody with several records, against {who}, {delta_is(persons[0][1].delta)}"
    return Listing(title, ("records", "ε", "judgement"), rows, frozenset({"ε"}))


def _sweep(
    planned: Planned, settings: list[str], plot: Path | None, page: Path | None, *, as_json: bool
) -> None:
    axes = [parse_axis(text, planned.config) for text in settings]
    rows = sweep(planned.config, planned.plan.facts, axes)
    if as_json:
        typer.echo(json.dumps([_row_json(row) for row in rows], indent=1))
    else:
        adversary, _ = planned.plan.budget_adversary()
        out = console()
        out.print(_sweep_table(rows, adversary.describe()))
        for number, reason in enumerate(_refusals(rows), start=1):
            out.print(f"refused ({number}): {reason}")
    if plot is not None:
        from discreet.cli.sweep_plot import plot_sweep  # matplotlib takes longer than the table

        plot_sweep(rows, plot)
    if page is not None:
        from discreet.cli.plan_page import write_sweep

        write_sweep(planned, axes, rows, page)


def _row_json(row: SweepRow) -> dict[str, object]:
    if isinstance(row.outcome, str):
        return {"settings": dict(row.settings), "refused": row.outcome}
    figures = {field.name: getattr(row.outcome, field.name) for field in dataclasses.fields(row.outcome)}
    return {"settings": dict(row.settings), **figures, "judgement": str(row.outcome.judgement)}


def _sweep_table(rows: tuple[SweepRow, ...], adversary: str) -> Listing:
    """One row for each combination; a δ that all have in common stands in the title."""
    names = ", ".join(name for name, _ in rows[0].settings)
    deltas = {delta_is(row.outcome.delta) for row in rows if isinstance(row.outcome, Costs)}
    shown = [figure for figure in _FIGURES if figure != "δ" or len(deltas) > 1]
    at = f" at {deltas.pop()}" if len(deltas) == 1 else ""
    return Listing(
        f"ε{at} against {adversary}; noise and signal of one round's sum",
        (names, *shown),
        tuple((_chosen(row, rows), *_cells(row.outcome, shown)) for row in rows),
        frozenset(shown) - {"judgement"},
    )


def _chosen(row: SweepRow, rows: tuple[SweepRow, ...]) -> str:
    """Returns the row's settings and, if it was refused, the number of the reason."""
    settings = ", ".join(str(value) for _, value in row.settings)
    if isinstance(row.outcome, Costs):
        return settings
    return f"{settings}: refused ({_refusals(rows).index(row.outcome) + 1})"


def _refusals(rows: tuple[SweepRow, ...]) -> list[str]:
    """Returns the different reasons for refusal, in order."""
    return list(dict.fromkeys(row.outcome for row in rows if isinstance(row.outcome, str)))


def _cells(costs: Costs | str, shown: list[str]) -> list[str]:
    """Returns the cells of a row; none where it was refused."""
    return [] if isinstance(costs, str) else [_FIGURES[figure](costs) for figure in shown]
