"""``discreet audit``: attack a config's own guarantees and print what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from discreet.audit import (
    EVALUATION,
    INTERRUPTED,
    TRAINING,
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
    require_rehearsable,
    sides,
)
from discreet.audit import audit as audit_claims
from discreet.cli.console import console
from discreet.cli.listing import Listing
from discreet.config import Config, load_config
from discreet.engines.local import Prepared, prepare
from discreet.errors import ConfigurationError
from discreet.plan import load_plan
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    Member,
    ReleasedAnswers,
    ReleasedModels,
    ServerWithColluders,
)
from discreet.privacy.wire import to_json
from discreet.randomness import SeededRandom
from discreet.rounds import RunDirectory

Facts = tuple[str, str, str, str]
Row = tuple[str, str, str, str, str]
_LEGEND = (
    "ε ≥: what the guesses show, and in brackets what they show if the trade-off curve is Gaussian; p: of so "
    "many right guesses if the claim is true, or of noise so far off"
)
_INTERRUPTED_ONCE = (
    "An interruption was attacked in the rounds of the training alone: its evaluations are resumed with "
    "them, and have no run of their own."
)
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

    The config, of a training or of questions, is rehearsed with canaries, at the fewest survivors that the
    plan allows; a finished run is rehearsed from its own plan, since canaries can only be placed beforehand.
    Evaluations between rounds ask other records: they are attacked by themselves.

    With --crafted, neighbouring silos are made as an adversary would make them and go through the config's
    own loader, model and local training up to the integers before noise: one row of the file left out,
    doubled or spoilt, records at kinks of the model, as large as float32 allows, and batches of all sizes.

    Example: [bold]discreet audit examples/heart.toml[/bold]

    Example: [bold]discreet audit --crafted my-table.toml[/bold]
    """
    settings = AuditSettings(canaries=canaries, trials=trials, confidence=confidence, seed=seed)
    config = _config(target)
    if not crafted:
        require_rehearsable(config)  # preparing a plan to refuse it takes long
    whole = prepare(config)
    attacked = sides(whole, SeededRandom(seed).derive("weights"))
    if crafted:
        _report_crafted(attacked, CraftedSettings(trials=trials, seed=seed), as_json=as_json)
        return
    screen = Console(stderr=True, highlight=False)
    with Progress(console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        task = bar.add_task("audit", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        found = {side: audit_claims(one, settings, progress=show) for side, one in attacked.items()}
    findings = [finding for own in found.values() for finding in own]
    if as_json:
        typer.echo(json.dumps(document(whole, settings, found), indent=1))
    else:
        tables = [findings_table(one, settings, found[side]) for side, one in attacked.items()]
        once = [_INTERRUPTED_ONCE] if EVALUATION in found and _was_interrupted(found[TRAINING]) else []
        _print(tables, _LEGEND, *once, conclusion(findings))
    if any(finding.exceeded for finding in findings):
        raise typer.Exit(1)


def _report_crafted(attacked: Mapping[str, Prepared], settings: CraftedSettings, *, as_json: bool) -> None:
    """Searches, prints one line for each way to craft neighbours, and exits with 1 if one was told apart."""
    found = {side: crafted_findings(one, settings) for side, one in attacked.items()}
    findings = [finding for own in found.values() for finding in own]
    exceeded = any(finding.exceeded for finding in findings)
    if as_json:
        plan = attacked[TRAINING].plan.digest()
        facts = {"plan": plan, "seed": settings.seed, "exceeded": exceeded}
        typer.echo(json.dumps({**facts, "findings": _findings_json(found)}, indent=1))
    else:
        _print([crafted_table(one, found[side]) for side, one in attacked.items()], conclusion(findings))
    if exceeded:
        raise typer.Exit(1)


def crafted_table(prepared: Prepared, findings: tuple[NeighbourFinding, ...]) -> Listing:
    """Returns one line for each way to craft neighbours."""
    rows = tuple(
        (
            finding.path,
            finding.crafted,
            str(finding.trials),
            f"{finding.largest:.5f}",
            "; ".join(finding.differences) or "nothing",
            verdict(finding),
        )
        for finding in findings
    )
    title = (
        f"crafted neighbours of {prepared.config.name}: how far one {prepared.plan.unit.value} moves what is "
        "sent, as a share of the claim, and what else tells neighbours apart"
    )
    return Listing(title, ("path", "crafted", "pairs", "moves by", "else", "verdict"), rows, wraps=1)


def verdict(finding: Finding | NeighbourFinding) -> str:
    """Says what came of one attack; one that saw nothing at all confirms nothing."""
    return "EXCEEDED" if finding.exceeded else "saw nothing" if finding.saw_nothing else "holds"


def _was_interrupted(findings: Sequence[Finding]) -> bool:
    return any(isinstance(one, NoiseFinding) and one.scenario == INTERRUPTED for one in findings)


def conclusion(findings: Sequence[Finding | NeighbourFinding]) -> str:
    """Says in a sentence what all attacks together came to."""
    exceeded = sum(finding.exceeded for finding in findings)
    blind = sum(finding.saw_nothing and not finding.exceeded for finding in findings)
    if exceeded:
        return f"{exceeded} of {len(findings)} attacks EXCEEDED a claim: it does not hold as stated."
    without = f"; {blind} of them saw nothing, which confirms nothing" if blind else ""
    return (
        f"None of {len(findings)} attacks exceeded a claim{without}. An attack that fails proves nothing: "
        "the guarantees rest on their proofs."
    )


def _print(tables: Sequence[Listing], *lines: str) -> None:
    """Prints tables and lines below them, whole at any width."""
    printer = console()
    for number, table in enumerate(tables):
        printer.print(*([""] if number else []), table)
    for line in lines:
        printer.print()
        printer.print(Text(line, overflow="fold"))


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


def findings_table(prepared: Prepared, settings: AuditSettings, findings: tuple[Finding, ...]) -> Listing:
    """Returns one table: what was attacked, what was found, what was claimed, whether it held."""
    title = (
        f"audit of {prepared.config.name}: claims at δ = {prepared.config.privacy.delta:g}, each statement "
        f"with {settings.confidence:.3g} confidence"
    )
    return Listing(title, ("attack", "against", "found", "claimed", "verdict"), tuple(_rows(findings)))


def _rows(findings: tuple[Finding, ...]) -> Iterator[Row]:
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
                yield (*_row(finding), verdict(finding))
    if silos:
        yield (*_neighbours_row(silos), _worst(silos))
    for family in noise.values():
        yield (*_noise_row(family), _worst(family))


def _worst(family: Sequence[Finding]) -> str:
    """Returns the verdict on a family: it saw something if one of it did."""
    verdicts = {verdict(finding) for finding in family}
    return next(word for word in ("EXCEEDED", "holds", "saw nothing") if word in verdicts)


def _noise_row(family: list[NoiseFinding]) -> Facts:
    """The check that is furthest off."""
    worst = min(family, key=lambda check: check.p_value)
    return (
        f"noise law, {len(family)} checks of {worst.samples} integers",
        worst.scenario,
        f"{worst.check} {worst.observed:.4g}, p {worst.p_value:.2g}",
        f"{worst.expected:.4g}",
    )


def _neighbours_row(silos: list[SensitivityFinding]) -> Facts:
    """The silo that came closest to its bound."""
    worst = max(silos, key=lambda finding: finding.largest / finding.claimed)
    return (
        f"{sum(finding.trials for finding in silos)} pairs of neighbours",
        f"local training, {len(silos)} silos; worst {worst.silo}",
        f"moves by {worst.largest:.5g}",
        f"≤ {worst.claimed:.5g}",
    )


def _row(finding: _Single) -> Facts:
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
                f"what is released moves by {finding.largest:.5g}",
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
        case ReleasedAnswers():
            return "released answers"
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


def document(
    prepared: Prepared, settings: AuditSettings, found: Mapping[str, tuple[Finding, ...]]
) -> dict[str, Any]:
    """Returns the findings as plain JSON, by the side that they are about."""
    return {
        "plan": prepared.plan.digest(),
        "confidence": settings.confidence,
        "seed": settings.seed,
        "exceeded": any(finding.exceeded for findings in found.values() for finding in findings),
        "findings": _findings_json(found),
    }


def _findings_json(found: Mapping[str, Sequence[Finding | NeighbourFinding]]) -> list[dict[str, Any]]:
    """Returns all findings; each says which side it is about where there are two."""
    return [
        _finding_json(finding) | ({"side": side} if len(found) > 1 else {})
        for side, findings in found.items()
        for finding in findings
    ]


def _finding_json(finding: Finding | NeighbourFinding) -> dict[str, Any]:
    fields = {name: getattr(finding, name) for name in type(finding).__slots__}
    if isinstance(finding, CanaryFinding):
        fields["claim"] = to_json(finding.claim)
    if isinstance(finding, LocalStateFinding):
        fields["status"] = finding.status.value
    found = {"kind": type(finding).__name__, "exceeded": finding.exceeded, "saw_nothing": finding.saw_nothing}
    return found | fields
