"""``discreet audit``: attack a config's own guarantees and print what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from discreet.audit import (
    AuditSettings,
    CanaryFinding,
    CraftedSettings,
    Finding,
    LocalStateFinding,
    NeighbourFinding,
    NoiseFinding,
    PostProcessingFinding,
    SamplingFinding,
    SensitivityFinding,
    crafted_findings,
)
from discreet.audit import audit as audit_claims
from discreet.config import Config, load_config
from discreet.engines.local import Prepared, prepare
from discreet.errors import ConfigurationError
from discreet.plan import load_plan
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    Member,
    ReleasedModels,
    ServerWithColluders,
)
from discreet.privacy.wire import to_json
from discreet.rounds import RunDirectory

Row = tuple[str, str, str, str]
# How a terminal that is too narrow for one line a finding is shared out.
_COLUMNS = (("attack", 16), ("against", 12), ("found", 22), ("claimed", 11))
_WIDE = 130
_Single = CanaryFinding | LocalStateFinding | PostProcessingFinding | SamplingFinding


def audit(
    target: Annotated[
        Path, typer.Argument(help="A TOML config, or the directory of a run.", show_default=False)
    ],
    canaries: Annotated[int, typer.Option(help="Canaries of each kind, over all rehearsals.")] = 2000,
    trials: Annotated[int, typer.Option(help="Pairs of neighbours to try.")] = 200,
    confidence: Annotated[float, typer.Option(help="Of every single statement.")] = 0.99,
    seed: Annotated[int, typer.Option(help="Seed of the rehearsals.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    crafted: Annotated[
        bool, typer.Option("--crafted", help="Search for crafted neighbours in place of canaries.")
    ] = False,
) -> None:
    """Attack the guarantees of TARGET in seeded rehearsals; exit code 1 if one of them does not hold.

    The config is rehearsed with canaries, at the fewest survivors that the plan allows; a finished run is
    rehearsed from its own plan, since canaries can only be placed beforehand.

    With --crafted, neighbouring silos are made as an adversary would make them and go through the config's
    own loader, model and local training up to the integers before noise: one row of the file left out,
    doubled or spoilt, records at kinks of the model, as large as float32 allows, and batches of all sizes.

    Example: [bold]discreet audit examples/heart.toml[/bold]

    Example: [bold]discreet audit --crafted my-table.toml[/bold]
    """
    settings = AuditSettings(canaries=canaries, trials=trials, confidence=confidence, seed=seed)
    prepared = prepare(_config(target))
    if crafted:
        _report_crafted(prepared, CraftedSettings(trials=trials, seed=seed), as_json=as_json)
        return
    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("audit", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        findings = audit_claims(prepared, settings, progress=show)
    if as_json:
        typer.echo(json.dumps(document(prepared, settings, findings), indent=1))
    else:
        printer = Console(highlight=False)
        printer.print(findings_table(prepared, settings, findings, narrow=printer.width < _WIDE))
    if any(finding.exceeded for finding in findings):
        raise typer.Exit(1)


def _report_crafted(prepared: Prepared, settings: CraftedSettings, *, as_json: bool) -> None:
    """Searches, prints one line for each way to craft neighbours, and exits with 1 if one was told apart."""
    findings = crafted_findings(prepared, settings)
    exceeded = any(finding.exceeded for finding in findings)
    if as_json:
        found = [_finding_json(finding) for finding in findings]
        facts = {"plan": prepared.plan.digest(), "seed": settings.seed, "exceeded": exceeded}
        typer.echo(json.dumps({**facts, "findings": found}, indent=1))
    else:
        printer = Console(highlight=False)
        printer.print(crafted_table(prepared, findings, narrow=printer.width < _WIDE))
    if exceeded:
        raise typer.Exit(1)


def crafted_table(prepared: Prepared, findings: tuple[NeighbourFinding, ...], *, narrow: bool) -> Table:
    """Returns one line for each way to craft neighbours."""
    table = Table(
        title=f"crafted neighbours of {prepared.config.name}: how far one {prepared.plan.unit.value} moves "
        "what is sent, as a share of the claim, and what else tells neighbours apart",
        title_justify="left", title_style="bold", show_edge=False, pad_edge=False, expand=narrow)  # fmt: skip
    for name in ("path", "crafted", "pairs", "moves by", "else", "verdict"):
        table.add_column(name, overflow="fold", min_width=len("EXCEEDED") if name == "verdict" else None)
    for finding in findings:
        other = "\n".join(finding.differences) or "nothing"
        verdict = "EXCEEDED" if finding.exceeded else "holds"
        row = (finding.path, finding.crafted, str(finding.trials), f"{finding.largest:.5f}", other, verdict)
        table.add_row(*row, style="bold red" if finding.exceeded else "")
    return table


def _config(target: Path) -> Config:
    """Reads a config file, or takes the config out of a finished run's plan."""
    if not target.is_dir():
        return load_config(target)
    plan = RunDirectory(target).plan
    if not plan.is_file():
        raise ConfigurationError(
            f"TARGET must be a TOML config or the directory of a run; the directory {target} holds no "
            f"{plan.name}."
        )
    return load_plan(plan).config


def findings_table(
    prepared: Prepared, settings: AuditSettings, findings: tuple[Finding, ...], *, narrow: bool
) -> Table:
    """Returns one table: what was attacked, what was found, what was claimed, whether it held."""
    table = Table(
        title=f"audit of {prepared.config.name}: claims at δ = {prepared.config.privacy.delta:g}, each "
        f"statement with {settings.confidence:.3g} confidence",
        caption="ε ≥: what the guesses show, and in brackets what they show if the trade-off curve is "
        "Gaussian; p: of so many right guesses if the claim is true, or of noise so far off",
        title_justify="left", caption_justify="left", title_style="bold", show_edge=False,
        pad_edge=False, expand=narrow)  # fmt: skip
    for name, ratio in _COLUMNS:
        table.add_column(name, ratio=ratio)
    table.add_column("verdict", width=len("EXCEEDED"))
    for row, exceeded in _rows(findings):
        verdict = "EXCEEDED" if exceeded else "holds"
        table.add_row(*row, verdict, style="bold red" if exceeded else "")
    return table


def _rows(findings: tuple[Finding, ...]) -> Iterator[tuple[Row, bool]]:
    """Summarises each family of findings by its worst, and gives every other finding a line."""
    noise: dict[str, list[NoiseFinding]] = {}
    silos: list[SensitivityFinding] = []
    for finding in findings:
        match finding:
            case NoiseFinding():
                noise.setdefault(finding.scenario, []).append(finding)
            case SensitivityFinding():
                silos.append(finding)
            case _:
                yield _row(finding), finding.exceeded
    if silos:
        yield _neighbours_row(silos), any(finding.exceeded for finding in silos)
    for family in noise.values():
        yield _noise_row(family), any(check.exceeded for check in family)


def _noise_row(family: list[NoiseFinding]) -> Row:
    """The check that is furthest off."""
    worst = min(family, key=lambda check: check.p_value)
    return (
        f"noise law, {len(family)} checks of {worst.samples} integers",
        worst.scenario,
        f"{worst.check} {worst.observed:.4g}, p {worst.p_value:.2g}",
        f"{worst.expected:.4g}",
    )


def _neighbours_row(silos: list[SensitivityFinding]) -> Row:
    """The silo that came closest to its bound."""
    worst = max(silos, key=lambda finding: finding.largest / finding.claimed)
    return (
        f"{sum(finding.trials for finding in silos)} pairs of neighbours",
        f"local training, {len(silos)} silos; worst {worst.silo}",
        f"moves by {worst.largest:.5g}",
        f"≤ {worst.claimed:.5g}",
    )


def _row(finding: _Single) -> Row:
    match finding:
        case LocalStateFinding():
            return (
                "local-state attack, two noisy local steps of a crafted federation",
                f"sum over {finding.num_silos} honest silos, noise multiplier {finding.noise_multiplier:.3g}",
                f"ε ≥ {finding.audited_epsilon_lower:.3f} in {finding.trials} rounds",
                f"ε ≤ {finding.claimed:.3f} {finding.status.value}",
            )
        case CanaryFinding():
            return (
                f"{finding.count} {finding.canaries} canaries",
                _short(finding.claim.adversary),
                f"ε ≥ {finding.audited_epsilon_lower:.3f} "
                f"({finding.audited_gaussian_epsilon_lower:.3f}), p {finding.p_value:.2g}",
                f"ε ≤ {finding.claim.epsilon:.3f} {finding.claim.status.value}",
            )
        case PostProcessingFinding():
            return (
                f"the same sums, {finding.difference}, {finding.rounds} rounds",
                f"the server's update, {finding.silo}",
                f"models move by {finding.largest:.5g}",
                "0",
            )
        case SamplingFinding():
            return (
                "sampling probability, exact",
                f"sampler of {finding.silo}",
                f"{finding.actual:.17g}",
                f"≤ {finding.claimed:.17g}",
            )


def _short(adversary: Adversary) -> str:
    """Names an adversary in few words."""
    match adversary:
        case ReleasedModels():
            return "released models"
        case Member(party=party):
            return f"another {party}"
        case AggregationServer():
            return "server"
        case ServerWithColluders(num_colluders=count):
            return f"server and {count} colluding"
        case other:
            return other.describe()


def document(prepared: Prepared, settings: AuditSettings, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Returns the findings as plain JSON."""
    return {
        "plan": prepared.plan.digest(),
        "confidence": settings.confidence,
        "seed": settings.seed,
        "exceeded": any(finding.exceeded for finding in findings),
        "findings": [_finding_json(finding) for finding in findings],
    }


def _finding_json(finding: Finding | NeighbourFinding) -> dict[str, Any]:
    fields = {name: getattr(finding, name) for name in type(finding).__slots__}
    if isinstance(finding, CanaryFinding):
        fields["claim"] = to_json(finding.claim)
    if isinstance(finding, LocalStateFinding):
        fields["status"] = finding.status.value
    return {"kind": type(finding).__name__, "exceeded": finding.exceeded, **fields}
