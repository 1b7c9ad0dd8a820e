"""Canaries in a rehearsal of the whole walk: who was in, judged from what an adversary sees."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.audit.canaries import (
    Canaries,
    CoordinateCanaries,
    Directions,
    RecordCanaries,
    add_records,
    with_canaries,
)
from discreet.audit.rehearsal import Rehearsal, added, rehearse, sampling_prob
from discreet.encoding import to_ring
from discreet.engines.local import Prepared
from discreet.mechanisms import per_silo
from discreet.plan import Plan, server_rule
from discreet.privacy.adversary import Adversary, AggregationServer, ReleasedModels, ServerWithColluders
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum, round_rotation
from discreet.rounds.walk import update

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Coins = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scores:
    """What one adversary thinks of every canary: larger means more likely in.

    Attributes:
        adversary: whose view it is.
        values: shape ``(m,)``.
        included: the truth, shape ``(m,)``.
    """

    adversary: Adversary
    values: Floats
    included: Coins


@dataclass(frozen=True, slots=True)
class CanaryRun:
    """One rehearsal with gradient-space canaries: the scores of every view, and the noise that was seen.

    Attributes:
        scores: one for each adversary that sees an aggregate.
        noise: what all survivors added, one row a round; grid units.
        honest_noise: the same without the shares of colluders.
    """

    scores: tuple[Scores, ...]
    noise: Integers
    honest_noise: Integers


def coordinate_run(prepared: Prepared, canaries: CoordinateCanaries, randomness: SeededRandom) -> CanaryRun:
    """Rehearses once with gradient-space canaries, each in or out by a fair coin."""
    prob = sampling_prob(prepared.plan)
    included = randomness.derive("coins").bernoulli(canaries.count, 0.5)
    sampling = randomness.derive("canary sampling")
    injected: list[Integers] = []

    def inject(_: RoundOrder, outcome: RoundSum) -> RoundSum:
        injected.append(canaries.injected(included, sampling.bernoulli(canaries.count, prob)))
        return added(prepared.plan, outcome, injected[-1])

    rehearsal = rehearse(prepared, randomness, known=prepared.federation, alter=inject)
    noise = _left_over(rehearsal, 0) - np.stack(injected)
    honest = _left_over(rehearsal, prepared.plan.thresholds.max_colluding) - np.stack(injected)
    return CanaryRun(_views(prepared, rehearsal, canaries, included), noise, honest)


def record_run(prepared: Prepared, canaries: RecordCanaries, randomness: SeededRandom) -> tuple[Scores, ...]:
    """Rehearses once with input-space canaries, each in or out by a fair coin; one score a view."""
    included = randomness.derive("coins").bernoulli(canaries.count, 0.5)
    known = with_canaries(prepared.federation, prepared.plan, canaries)
    trained = add_records(known, canaries.owner, canaries.records.take(included))
    rehearsal = rehearse(prepared, randomness, known=known, trained=trained, keep=(canaries.owner,))
    return _views(prepared, rehearsal, canaries, included)


def _left_over(rehearsal: Rehearsal, colluding: int) -> Integers:
    """Returns what is left of every sum when the first ``colluding`` survivors tell their noise."""
    return np.stack(
        [
            rehearsal.insider.left_over(
                step.order, step.outcome, colluders=step.outcome.survivors[:colluding]
            )
            for step in rehearsal.steps
        ]
    )


def _views(
    prepared: Prepared, rehearsal: Rehearsal, canaries: Canaries, included: Coins
) -> tuple[Scores, ...]:
    """Scores the canaries in every view that the plan makes a claim for."""
    directions = [
        canaries.at(step.order.parameters, round_rotation(prepared.plan, step.order.sequence))
        for step in rehearsal.steps
    ]
    # The owner of record canaries may be any silo, so it does not collude.
    honest = canaries.owner if isinstance(canaries, RecordCanaries) else None
    colluding = prepared.plan.thresholds.max_colluding

    def sums(colluders: int) -> Floats:
        return _sum_scores(
            prepared.plan, rehearsal, directions, honest, colluding=colluders, opposed=canaries.opposed
        )

    views = [
        Scores(ReleasedModels(), _model_scores(prepared.plan, rehearsal, directions), included),
        Scores(AggregationServer(), sums(0), included),
    ]
    if colluding:
        views.append(Scores(ServerWithColluders(colluding), sums(colluding), included))
    return tuple(views)


def _sum_scores(
    plan: Plan,
    rehearsal: Rehearsal,
    directions: list[Directions],
    honest: str | None,
    *,
    colluding: int,
    opposed: bool,
) -> Floats:
    r"""Returns each canary's log likelihood ratio, in minus out, over all sums.

    A canary that is out contributes nothing, or its opposite if it is ``opposed``.
    """
    prob, scores = sampling_prob(plan), np.zeros(len(directions[0].squared_norms()))
    for step, canary in zip(rehearsal.steps, directions, strict=True):
        survivors = step.outcome.survivors
        colluders = [name for name in survivors if name != honest][:colluding]
        left = rehearsal.insider.left_over(step.order, step.outcome, colluders=colluders)
        variance = per_silo(plan.release.share, len(survivors) - len(colluders)).variance
        along = canary.project(left.astype(np.float64)) - canary.expected(prob / 2.0)
        scores += _log_likelihood(along, canary.squared_norms(), variance, prob)
        if opposed:
            scores -= _log_likelihood(-along, canary.squared_norms(), variance, prob)
    return scores


def _log_likelihood(along: Floats, squared_norms: Floats, variance: float, prob: float) -> Floats:
    """Returns log(1 − q + q·exp((⟨c, x⟩ − ‖c‖²/2)/σ²)), relative to noise alone."""
    exponent = (along - squared_norms / 2.0) / variance
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log1p(-prob), np.log(prob) + exponent))


def _model_scores(plan: Plan, rehearsal: Rehearsal, directions: list[Directions]) -> Floats:
    """Correlates the last model with what each canary would have done to it.

    The last model is compared with the one that the same walk would have reached on known sums only.
    """
    state, prob = rehearsal.start, sampling_prob(plan)
    rotations = [round_rotation(plan, step.order.sequence) for step in rehearsal.steps]
    for step, rotation in zip(rehearsal.steps, rotations, strict=True):
        known = rehearsal.insider.contributions(step.order, step.outcome.survivors)
        outcome = dataclasses.replace(step.outcome, total=to_ring(known, plan.grid.bits))
        state = update(plan, state, outcome, rotation)
    moved = rehearsal.steps[-1].after.parameters - state.parameters
    # In grid units of one round, so that the other canaries' mean can be taken off.
    moved = moved / _movement_of_a_unit(plan, rehearsal)
    scores = np.zeros(len(directions[0].squared_norms()))
    for canary, rotation in zip(directions, rotations, strict=True):
        seen = moved if rotation is None else rotation.forward(moved)
        scores += canary.project(seen) - canary.expected(prob / 2.0)
    return scores


def _movement_of_a_unit(plan: Plan, rehearsal: Rehearsal) -> float:
    """Returns about how far one grid unit in every sum moves a weight of the last model.

    Exact for linear server rules; for adaptive ones it only sets the scale on which the mean is taken off.
    """
    rule, dimension = server_rule(plan.config), plan.facts.dimension
    state, place = rule.init(dimension), np.zeros(dimension)
    for step in rehearsal.steps:
        unit = np.full(dimension, 1.0 / (plan.grid.scale * plan.normaliser(step.outcome.survivors)))
        state, place = rule.step(state, place, unit)
    return float(np.abs(place).mean()) or 1.0
