"""``discreet audit``: attack a config's own guarantees and print what came of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from discreet.audit import (
    AuditSettings,
    CanaryFinding,
    Finding,
    LocalStateFinding,
    NoiseFinding,
    PostProcessingFinding,
    SamplingFinding,
    SensitivityFinding,
)
from discreet.audit import audit as audit_claims
from discreet.config import Config, load_config
from discreet.engines.local import Prepared, prepare
from discreet.plan import load_plan
from discreet.privacy.wire import to_json
from discreet.rounds import RunDirectory

Row = tuple[str, str, str, str]
_Single = CanaryFinding | LocalStateFinding | PostProcessingFinding | SensitivityFinding | SamplingFinding


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
) -> None:
    """Attack the guarantees of TARGET in seeded rehearsals; exit code 1 if one of them does not hold.

    The config is rehearsed with canaries, at the fewest survivors that the plan allows; a finished run is
    rehearsed from its own plan, since canaries can only be placed beforehand.

    Example: [bold]discreet audit examples/heart.toml[/bold]
    """
    settings = AuditSettings(canaries=canaries, trials=trials, confidence=confidence, seed=seed)
    prepared = prepare(_config(target))
    console = Console(stderr=True, highlight=False)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("audit", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        findings = audit_claims(prepared, settings, progress=show)
    if as_json:
        typer.echo(json.dumps(document(prepared, settings, findings), indent=1))
    else:
        Console(highlight=False).print(findings_table(prepared, settings, findings))
    if any(finding.exceeded for finding in findings):
        raise typer.Exit(1)


def _config(target: Path) -> Config:
    """Reads a config file, or takes the config out of a finished run's plan."""
    return load_plan(RunDirectory(target).plan).config if target.is_dir() else load_config(target)


def findings_table(prepared: Prepared, settings: AuditSettings, findings: tuple[Finding, ...]) -> Table:
    """Returns one table: what was attacked, what was found, what was claimed, whether it held."""
    table = Table(
        title=f"audit of {prepared.config.name}: each statement with {settings.confidence:.3g} confidence",
        title_justify="left", title_style="bold", show_edge=False, pad_edge=False)  # fmt: skip
    for name, justify in (("attack", "left"), ("against", "left"), ("found", "left"), ("claimed", "left"),
                          ("verdict", "left")):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    noise: dict[str, list[NoiseFinding]] = {}
    for finding in findings:
        if isinstance(finding, NoiseFinding):
            noise.setdefault(finding.scenario, []).append(finding)
    single = [finding for finding in findings if not isinstance(finding, NoiseFinding)]
    for row, exceeded in [
        *((_row(finding), finding.exceeded) for finding in single),
        *((_noise_row(family), any(check.exceeded for check in family)) for family in noise.values()),
    ]:
        verdict = "EXCEEDED" if exceeded else "holds"
        table.add_row(*row, verdict, style="bold red" if exceeded else "")
    return table


def _noise_row(family: list[NoiseFinding]) -> Row:
    """Summarises all checks of one scenario by the one that is furthest off."""
    worst = min(family, key=lambda check: check.p_value)
    return (
        f"noise law, {len(family)} checks of {worst.samples} integers",
        worst.scenario,
        f"furthest off: {worst.check} {worst.observed:.4g}, p {worst.p_value:.2g}",
        f"{worst.expected:.4g}",
    )


def _row(finding: _Single) -> Row:
    match finding:
        case LocalStateFinding():
            return (
                "local-state attack, two noisy local steps of a crafted federation",
                f"sum over {finding.num_silos} honest silos, noise multiplier {finding.noise_multiplier:.3g}",
                f"ε ≥ {finding.audited_epsilon_lower:.3f} in {finding.trials} rounds",
                f"ε ≤ {finding.claimed:.3f}, δ {finding.delta:g}, {finding.status.value}",
            )
        case CanaryFinding():
            return (
                f"{finding.count} {finding.canaries} canaries",
                finding.claim.adversary.describe(),
                f"{finding.correct} of {finding.guesses} right: ε ≥ {finding.audited_epsilon_lower:.3f} "
                f"(Gaussian: {finding.audited_gaussian_epsilon_lower:.3f}), p {finding.p_value:.2g}",
                f"ε ≤ {finding.claim.epsilon:.3f}, δ {finding.claim.delta:g}, {finding.claim.status.value}",
            )
        case SensitivityFinding():
            return (
                f"{finding.trials} pairs of neighbours",
                f"local training of {finding.silo}",
                f"moves by {finding.largest:.5g}",
                f"≤ {finding.claimed:.5g}",
            )
        case PostProcessingFinding():
            return (
                f"the same sums, one record fewer, {finding.rounds} rounds",
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


def document(prepared: Prepared, settings: AuditSettings, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """Returns the findings as plain JSON."""
    return {
        "plan": prepared.plan.digest(),
        "confidence": settings.confidence,
        "seed": settings.seed,
        "exceeded": any(finding.exceeded for finding in findings),
        "findings": [_finding_json(finding) for finding in findings],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    fields = {name: getattr(finding, name) for name in type(finding).__slots__}
    if isinstance(finding, CanaryFinding):
        fields["claim"] = to_json(finding.claim)
    if isinstance(finding, LocalStateFinding):
        fields["status"] = finding.status.value
    return {"kind": type(finding).__name__, "exceeded": finding.exceeded, **fields}
