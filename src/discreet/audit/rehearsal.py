"""A seeded rehearsal of a plan through the production engine, at the fewest survivors that it allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.arrays import Floats
from discreet.audit.insider import Insider
from discreet.config.run import Dropout
from discreet.data import Federation
from discreet.engines.local import LocalEngine, Prepared
from discreet.models import flatten
from discreet.plan import Plan
from discreet.plan.public_model import public_model
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum, Training, initial_state, round_rotation, update

Alteration = Callable[[Insider, RoundOrder, RoundSum], RoundSum]


@dataclass(frozen=True, slots=True)
class Step:
    """One round of a rehearsal.

    Attributes:
        order: what the server asked for.
        outcome: what secure aggregation returned, altered as the rehearsal asks.
        after: the server's state after it.
    """

    order: RoundOrder
    outcome: RoundSum
    after: Training


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """All rounds, and who could have known what.

    Attributes:
        start: the state before the first round.
        steps: one for each round.
        insider: the adversary that knows all but the honest noise.
    """

    start: Training
    steps: tuple[Step, ...]
    insider: Insider


def rehearse(
    prepared: Prepared,
    randomness: SeededRandom,
    *,
    known: Federation,
    trained: Federation | None = None,
    alter: Alteration | None = None,
    keep: tuple[str, ...] = (),
) -> Rehearsal:
    """Carries out every round of the plan once.

    Args:
        prepared: the plan and the public model.
        randomness: all coins and noise of the rehearsal.
        known: the records that the adversary knows.
        trained: the records that are trained on, canaries included; left out, ``known``.
        alter: makes another outcome of a round's outcome, such as one with canaries in its sum; the insider
            tells it what the silos did.
        keep: silos that must not drop out.
    """
    plan = prepared.plan
    initial = initial_parameters(prepared)
    start = initial_state(plan, initial)
    source = randomness.derive("engine")
    engine = LocalEngine(
        plan,
        known if trained is None else trained,
        prepared.model,
        source,
        session_label=0,
        dropouts=worst_dropouts(plan, keep),
    )
    insider = Insider(plan, known, prepared.model, source)
    state, steps = start, []
    for release in range(1, plan.rounds + 1):
        order = RoundOrder(release, release, state.announced())
        outcome = engine.sum_round(order)
        if alter is not None:
            outcome = alter(insider, order, outcome)
        state = update(plan, state, release, outcome, round_rotation(plan, order.sequence))
        steps.append(Step(order, outcome, state))
    return Rehearsal(start, tuple(steps), insider)


def worst_dropouts(plan: Plan, keep: tuple[str, ...] = ()) -> tuple[Dropout, ...]:
    """Returns dropouts that leave exactly ``min_survivors`` silos in every sum."""
    spare = plan.thresholds.num_silos - plan.thresholds.min_survivors
    leaving = [name for name in plan.facts.silos if name not in keep][::-1][:spare]
    return tuple(
        Dropout(silo=name, round=release, stage="mask")
        for release in range(1, plan.rounds + 1)
        for name in leaving
    )


def initial_parameters(prepared: Prepared) -> Floats:
    """Builds the public initial weights again; the prepared model is scratch space."""
    return flatten(public_model(prepared.plan))
