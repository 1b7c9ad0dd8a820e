"""``discreet audit``: rehearse a config many times with canaries and look at everything that can be seen."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from discreet.accounting import tradeoff
from discreet.audit.canaries import coordinate_canaries, record_canaries
from discreet.audit.coins import sampling_finding
from discreet.audit.findings import Finding
from discreet.audit.insider import stacked
from discreet.audit.interruption import noise_across_interruption
from discreet.audit.judge import judge
from discreet.audit.local_state import local_state_finding
from discreet.audit.noise import noise_findings
from discreet.audit.one_run import CanaryRun, Scores, coordinate_run, record_run
from discreet.audit.participation import most_canaries
from discreet.audit.post_processing import post_processing_finding
from discreet.audit.sensitivity import sensitivity_finding
from discreet.config import Config
from discreet.engines.local import Prepared
from discreet.errors import ConfigurationError
from discreet.mechanisms import per_silo
from discreet.plan import Plan
from discreet.plan.prepared import stated_key
from discreet.plan.silos import require_alike
from discreet.plan.stages import require_no_segments
from discreet.plan.timetable import require_no_timetable
from discreet.privacy.adversary import Adversary
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.tradeoff import TradeoffCurve
from discreet.privacy.units import NeighboringRelation, Unit
from discreet.randomness import SeededRandom

INTERRUPTED = "interrupted after the first sum, resumed"
"""The scenario of findings on the noise across an interruption."""

_MOST_RECORD_CANARIES = 32


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """How much work an audit does.

    Attributes:
        canaries: how many of each kind, over all rehearsals; more canaries, sharper bounds.
        trials: pairs of neighbours for the sensitivity search.
        confidence: of each statement, in (0, 1).
        seed: of all rehearsals.
    """

    canaries: int = 2000
    trials: int = 200
    confidence: float = 0.99
    seed: int = 0

    def __post_init__(self) -> None:
        if not (self.canaries >= 16 and self.trials >= 1):
            raise ConfigurationError(
                "an audit must have at least 16 canaries and 1 trial; "
                f"got canaries={self.canaries}, trials={self.trials}."
            )
        if not 0.0 < self.confidence < 1.0:
            raise ConfigurationError(f"confidence must be in (0, 1); got {self.confidence}.")
        if not self.seed >= 0:
            raise ConfigurationError(f"seed must be >= 0; got {self.seed}.")


Progress = Callable[[str, int, int], None]


def _ignore(_what: str, _done: int, _total: int) -> None:
    """Shows nothing."""


def audit(
    prepared: Prepared, settings: AuditSettings, *, progress: Progress = _ignore
) -> tuple[Finding, ...]:
    """Audits everything that a config claims, by rehearsals with seeded noise.

    The noise of several noisy local steps cannot be taken off again in a rehearsal, so they are audited by
    the local-state attack instead of canaries. Where a fixed number of records takes part, who knows the
    others' part knows a record's, so canaries are in gradient space only, in no real record's place.

    Guarantee:
        If every claim holds, a finding on sensitivity, sampling or post-processing is never ``exceeded``;
        each other kind is with the probability that its finding states.

    Args:
        prepared: config, records, public model and plan.
        settings: how much work.
        progress: called with what is being done, how much of it is done, and how much there is.

    Raises:
        ConfigurationError: for a training with a schedule, with segments, with a release before the first
            round, or of silos that differ.
        UnsupportedAnalysisError: for a single noisy step, which is audited as single-step.
    """
    require_rehearsable(prepared.config)
    require_alike(prepared.plan.own, "an audit")
    plan, source = prepared.plan, SeededRandom(settings.seed).derive("audit")
    made_of_sums = post_processing_finding(prepared, source.derive("post-processing"))
    if plan.release.steps > 1:
        attacked = local_state_finding(plan, settings.confidence, source.derive("local state"))
        return (attacked, made_of_sums)
    runs = _coordinate_runs(prepared, settings, source.derive("coordinates"), progress)
    findings: list[Finding] = list(
        _canary_findings(plan, [run.scores for run in runs], "gradient-space", settings)
    )
    crafted_units = (Unit.RECORD, Unit.PERSON) if plan.questions else (Unit.RECORD,)
    if plan.unit in crafted_units and plan.release.neighboring is NeighboringRelation.ADD_REMOVE:
        crafted = _record_runs(prepared, settings, source.derive("records"), progress)
        findings.extend(_canary_findings(plan, crafted, "input-space", settings))
    findings.extend(_noise(plan, runs, settings.confidence))
    findings.extend(_interrupted(prepared, source.derive("interruption"), settings.confidence))
    findings.extend(_sensitivities(prepared, settings, source.derive("neighbours"), progress))
    sampled = sampling_finding(prepared)
    return (*findings, made_of_sums, *(() if sampled is None else (sampled,)))


def require_rehearsable(config: Config) -> None:
    """Refuses what no rehearsal carries out, as far as a config says it: before records are read or planned.

    Raises:
        ConfigurationError: for a training with a schedule, with segments, or with a release before the first
            round.
    """
    require_no_timetable(config.training, "an audit")
    if config.preparation is not None:
        raise ConfigurationError(
            f"{stated_key(config)} must be left out for an audit, which rehearses rounds and no release "
            "before them. Audit the training without it."
        )
    require_no_segments(config.training, "an audit")


def _coordinate_runs(
    prepared: Prepared, settings: AuditSettings, source: SeededRandom, progress: Progress
) -> list[CanaryRun]:
    per_run = min(settings.canaries, most_canaries(prepared.plan))
    runs = math.ceil(settings.canaries / per_run)
    done = []
    for number in range(runs):
        progress("gradient-space canaries", number, runs)
        own = source.derive(number)
        canaries = coordinate_canaries(prepared.plan, per_run, own.derive("canaries"))
        done.append(coordinate_run(prepared, canaries, own))
    return done


def _record_runs(
    prepared: Prepared, settings: AuditSettings, source: SeededRandom, progress: Progress
) -> list[tuple[Scores, ...]]:
    per_run = min(_MOST_RECORD_CANARIES, prepared.plan.facts.dimension, max(prepared.plan.capacities) // 2)
    runs = math.ceil(settings.canaries / per_run)
    done = []
    for number in range(runs):
        progress("input-space canaries", number, runs)
        own = source.derive(number)
        canaries = record_canaries(prepared.plan, prepared.model, per_run, own.derive("canaries"))
        done.append(record_run(prepared, canaries, own))
    return done


def _canary_findings(
    plan: Plan, runs: Sequence[tuple[Scores, ...]], kind: str, settings: AuditSettings
) -> Iterator[Finding]:
    for scores in zip(*runs, strict=True):
        claim, curve = claimed(plan, scores[0].adversary)
        yield judge(scores, canaries=kind, claim=claim, curve=curve, confidence=settings.confidence)


def claimed(plan: Plan, adversary: Adversary) -> tuple[Guarantee, TradeoffCurve]:
    """Returns the plan's claim against ``adversary``: the guarantee and the whole trade-off curve."""
    guarantee = next(claim for claim in plan.guarantees if claim.adversary == adversary)
    honest = dict(plan.adversaries())[adversary]
    event = plan.event(honest, plan.rounds)
    return guarantee, tradeoff(event, neighboring=guarantee.neighboring)


def _noise(plan: Plan, runs: Sequence[CanaryRun], confidence: float) -> Iterator[Finding]:
    """Checks the noise of all survivors, and what is left of it when colluders tell theirs."""
    survivors, colluding = plan.thresholds.min_survivors, plan.thresholds.max_colluding
    yield from noise_findings(
        stacked([run.noise for run in runs]),
        law=per_silo(plan.release.share, survivors),
        scenario=f"{survivors} of {plan.thresholds.num_silos} silos survive",
        confidence=confidence,
    )
    if colluding:
        yield from noise_findings(
            stacked([run.honest_noise for run in runs]),
            law=per_silo(plan.release.share, plan.thresholds.honest_survivors),
            scenario=f"{survivors} survive, {colluding} of them without noise",
            confidence=confidence,
        )


def _interrupted(prepared: Prepared, source: SeededRandom, confidence: float) -> Iterator[Finding]:
    """Checks that a run that was interrupted and resumed draws fresh noise throughout.

    Several sums that ask questions are a training's evaluations. They are resumed with its rounds, from one
    ledger, and a plan of them alone is no file that could be read back.
    """
    if prepared.plan.rounds < 2 or prepared.plan.questions:
        return
    with tempfile.TemporaryDirectory() as folder:
        seen = noise_across_interruption(prepared, source, Path(folder) / "run")
    yield from noise_findings(
        seen,
        law=per_silo(prepared.plan.release.share, prepared.plan.thresholds.num_silos),
        scenario=INTERRUPTED,
        confidence=confidence,
    )


def _sensitivities(
    prepared: Prepared, settings: AuditSettings, source: SeededRandom, progress: Progress
) -> Iterator[Finding]:
    """Shares the trials among the silos; where there are more silos than trials, evenly spaced ones."""
    names = prepared.plan.facts.silos
    silos = names[:: math.ceil(len(names) / settings.trials)]
    for number, silo in enumerate(silos):
        progress("neighbouring silos", number, len(silos))
        trials = settings.trials // len(silos)
        yield sensitivity_finding(prepared, silo, trials=trials, randomness=source.derive(silo))
