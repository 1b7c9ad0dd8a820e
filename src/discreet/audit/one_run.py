"""Canaries in a rehearsal of the whole walk: who was in, judged from what an adversary sees."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Floats, Integers
from discreet.audit.canaries import (
    Canaries,
    CoordinateCanaries,
    Directions,
    RecordCanaries,
    add_records,
    with_canaries,
)
from discreet.audit.insider import Insider, LeftOver, left_over, stacked, sum_of
from discreet.audit.participation import participation
from discreet.audit.rehearsal import Rehearsal, Step, rehearse
from discreet.encoding import to_ring
from discreet.engines.local import Prepared
from discreet.mechanisms import per_silo
from discreet.plan import Plan
from discreet.plan.counted import divisor
from discreet.privacy.adversary import (
    Adversary,
    AggregationServer,
    Member,
    ReleasedAnswers,
    ReleasedModels,
    ServerWithColluders,
)
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum, round_rotation, update


@dataclass(frozen=True, slots=True)
class Scores:
    """One adversary's score for every canary: larger means more likely in.

    Attributes:
        adversary: whose view it is.
        values: shape ``(m,)``.
        included: the truth, shape ``(m,)``.
    """

    adversary: Adversary
    values: Floats
    included: Booleans


@dataclass(frozen=True, slots=True)
class CanaryRun:
    """One rehearsal with gradient-space canaries: the scores of every view, and the noise that was seen.

    Attributes:
        scores: one for each adversary that sees an aggregate.
        noise: what all survivors added, one row a round.
        honest_noise: the same when colluders tell what they sent.
    """

    scores: tuple[Scores, ...]
    noise: LeftOver
    honest_noise: LeftOver


@dataclass(frozen=True, slots=True)
class Seen:
    """One round of a rehearsal, as the insider sees it.

    Attributes:
        step: the round.
        known: the survivors' updates without noise and canaries, to the nearest integers, added up.
        injected: what gradient-space canaries added, grid units.
        by_server: what is left when nobody colludes; injected canaries are taken off.
        by_member: what is left to one silo that knows what itself sent.
        by_colluders: what is left when colluders tell what they sent.
    """

    step: Step
    known: Integers
    injected: Floats
    by_server: LeftOver
    by_member: LeftOver
    by_colluders: LeftOver


def coordinate_run(prepared: Prepared, canaries: CoordinateCanaries, randomness: SeededRandom) -> CanaryRun:
    """Rehearses once with gradient-space canaries, each in or out by a fair coin."""
    taking_part = participation(prepared.plan)
    included = randomness.derive("coins").bernoulli(canaries.count, 0.5)
    sampling = randomness.derive("canary sampling")
    injected: list[Floats] = []

    def inject(insider: Insider, order: RoundOrder, outcome: RoundSum) -> RoundSum:
        injected.append(canaries.injected(included, taking_part.drawn(canaries.count, sampling)))
        return insider.lengthened(order, outcome, canaries.owner, injected[-1])

    rehearsal = rehearse(
        prepared, randomness, known=prepared.federation, alter=inject, keep=(canaries.owner,)
    )
    seen = [
        _seen(rehearsal, step, canaries.owner, vector)
        for step, vector in zip(rehearsal.steps, injected, strict=True)
    ]
    return CanaryRun(
        _views(prepared.plan, rehearsal, seen, canaries, included),
        stacked([round_.by_server for round_ in seen]),
        stacked([round_.by_colluders for round_ in seen]),
    )


def record_run(prepared: Prepared, canaries: RecordCanaries, randomness: SeededRandom) -> tuple[Scores, ...]:
    """Rehearses once with input-space canaries, each in or out by a fair coin; one score a view."""
    included = randomness.derive("coins").bernoulli(canaries.count, 0.5)
    known = with_canaries(prepared.federation, prepared.plan, canaries)
    trained = add_records(known, canaries.owner, canaries.some(included))
    rehearsal = rehearse(prepared, randomness, known=known, trained=trained, keep=(canaries.owner,))
    nothing = np.zeros(prepared.plan.grid.dimension)
    seen = [_seen(rehearsal, step, canaries.owner, nothing) for step in rehearsal.steps]
    return _views(prepared.plan, rehearsal, seen, canaries, included)


def _seen(rehearsal: Rehearsal, step: Step, owner: str, injected: Floats) -> Seen:
    """Trains the survivors of one round again; the owner of canaries does not collude."""
    insider, outcome = rehearsal.insider, step.outcome
    shares = insider.shares(step.order, outcome.survivors)
    known = sum_of(share.whole for share in shares.values())
    shares[owner] = shares[owner].longer(injected)
    bits, most = insider.plan.grid.bits, insider.plan.thresholds.max_colluding
    others = [name for name in outcome.survivors if name != owner]
    by_server = left_over(outcome, shares, bits=bits)
    by_member = left_over(outcome, shares, bits=bits, colluders=others[:1])
    by_colluders = left_over(outcome, shares, bits=bits, colluders=others[:most])
    return Seen(step, known, injected, by_server, by_member, by_colluders)


def _views(
    plan: Plan, rehearsal: Rehearsal, seen: list[Seen], canaries: Canaries, included: Booleans
) -> tuple[Scores, ...]:
    """Scores the canaries in every view that the plan makes a claim for."""
    directions = [
        canaries.at(step.order.release, step.order.parameters, round_rotation(plan, step.order.sequence))
        for step in rehearsal.steps
    ]
    aggregates: list[tuple[Adversary, list[LeftOver], int]] = [
        # A member sees what the sum made of the model, which is at most the sum.
        (_member(plan), [round_.by_member for round_ in seen], 1),
        (AggregationServer(), [round_.by_server for round_ in seen], 0),
    ]
    colluding = plan.thresholds.max_colluding
    if colluding:
        left = [round_.by_colluders for round_ in seen]
        aggregates.append((ServerWithColluders(colluding), left, colluding))
    models: tuple[Scores, ...] = ()
    if plan.questions:
        # Answers are made from the sum alone, and say no more than it does.
        aggregates.insert(0, (ReleasedAnswers(), [round_.by_server for round_ in seen], 0))
    else:
        models = (Scores(ReleasedModels(), _model_scores(plan, rehearsal, seen, directions), included),)
    return (
        *models,
        *(
            Scores(
                adversary,
                _sum_scores(plan, seen, directions, left, known, opposed=canaries.opposed),
                included,
            )
            for adversary, left, known in aggregates
        ),
    )


def _member(plan: Plan) -> Adversary:
    """Returns the plan's other member."""
    return next(adversary for adversary, _ in plan.adversaries() if isinstance(adversary, Member))


def _sum_scores(
    plan: Plan,
    seen: list[Seen],
    directions: list[Directions],
    left: list[LeftOver],
    known: int,
    *,
    opposed: bool,
) -> Floats:
    r"""Returns each canary's log likelihood ratio, in minus out, over all sums.

    A canary that is out contributes nothing, or its opposite if it is ``opposed``.

    Args:
        plan: the agreement.
        seen: the rounds.
        directions: of the canaries, round by round.
        left: what is left of each sum to who looks.
        known: how many survivors' noise is taken off there.
        opposed: whether a canary that is out contributes its opposite.
    """
    prob, scores = participation(plan).prob, np.zeros(len(directions[0].squared_norms()))
    for round_, canary, rest in zip(seen, directions, left, strict=True):
        noisy = rest.noise + round_.injected
        variance = per_silo(plan.release.share, len(round_.step.outcome.survivors) - known).variance
        along = canary.project(noisy) - canary.expected(prob / 2.0)
        scores += _log_likelihood(along, canary.squared_norms(), variance, prob)
        if opposed:
            scores -= _log_likelihood(-along, canary.squared_norms(), variance, prob)
    return scores


def _log_likelihood(along: Floats, squared_norms: Floats, variance: float, prob: float) -> Floats:
    """Returns log(1 − q + q·exp((⟨c, x⟩ − ‖c‖²/2)/σ²)), relative to noise alone."""
    exponent = (along - squared_norms / 2.0) / variance
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp(np.log1p(-prob), np.log(prob) + exponent))


def _model_scores(plan: Plan, rehearsal: Rehearsal, seen: list[Seen], directions: list[Directions]) -> Floats:
    """Correlates the last model with what each canary would have done to it.

    The last model is compared with the one that the same walk would have reached on known sums only.
    """
    state, prob = rehearsal.start, participation(plan).prob
    rotations = [round_rotation(plan, step.order.sequence) for step in rehearsal.steps]
    for round_, rotation in zip(seen, rotations, strict=True):
        outcome = dataclasses.replace(round_.step.outcome, total=to_ring(round_.known, plan.grid.bits))
        state = update(plan, state, round_.step.order.release, outcome, rotation)
    moved = rehearsal.steps[-1].after.parameters - state.parameters
    # In grid units of one round, so that the other canaries' mean can be taken off.
    moved = moved / _movement_of_a_unit(plan, rehearsal)
    # The model says nothing of a coordinate that travels besides the weights.
    moved = np.append(moved, np.zeros(plan.grid.dimension - len(moved)))
    scores = np.zeros(len(directions[0].squared_norms()))
    for canary, rotation in zip(directions, rotations, strict=True):
        rotated = moved if rotation is None else rotation.forward(moved)
        scores += canary.project(rotated) - canary.expected(prob / 2.0)
    return scores


def _movement_of_a_unit(plan: Plan, rehearsal: Rehearsal) -> float:
    """Returns about how far one grid unit in every sum moves a weight of the last model.

    Exact for linear server rules; for adaptive ones it only sets the scale on which the mean is taken off.
    """
    rule, dimension = plan.server_rule, plan.facts.dimension
    state, place = rule.init(dimension), np.zeros(dimension)
    for step in rehearsal.steps:
        release = step.order.release
        length = plan.unit_length(release) / plan.stage_of(release).grid.scale
        unit = np.full(dimension, length / divisor(plan, release, step.outcome.survivors))
        state, place = rule.step(state, place, unit, plan.rounds)
    return float(np.abs(place).mean()) or 1.0
