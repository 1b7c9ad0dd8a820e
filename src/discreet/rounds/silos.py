"""The contributions of several silos that one process plays; clients of few records train together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.data import Records
from discreet.kinds import ClippedUpdate, QuantileClipped, SiloTraining
from discreet.learning import CountedUpdate, LocalUpdate
from discreet.learning.clipped_update import absent, clipped_updates, takes_part
from discreet.learning.objective import Client
from discreet.learning.quantile_clipped import joined
from discreet.plan import Plan
from discreet.randomness import RandomSource
from discreet.rounds.contribution import (
    Contribution,
    contribute,
    encoded,
    require_capacity,
    round_rotation,
    round_training,
    silo_source,
)
from discreet.rounds.engine import RoundOrder, Start
from discreet.rounds.phases import Stopwatch

_Finish = Callable[[CountedUpdate], LocalUpdate]


def contributions(
    plan: Plan, silos: Mapping[str, Records], order: RoundOrder, *, model: nn.Module, randomness: RandomSource
) -> dict[str, Contribution]:
    """Returns the contribution of each of ``silos`` that is asked to a round, in their order.

    Guarantee:
        Each is, to the bit, what `contribute` computes for the silo alone from its `silo_source`. So it does
        not depend on which silos share a process.

    Args:
        plan: the agreement.
        silos: names and training records.
        order: the round.
        model: the architecture; scratch space.
        randomness: what every silo's source is derived from.

    Raises:
        DataError, PrivacyViolation: as `contribute`.
    """
    asked = order.asked(silos)
    groups: dict[tuple[int, float], list[str]] = {}
    for name in asked:
        start = order.start_of(name)
        groups.setdefault((id(start.parameters), start.weight), []).append(name)
    found: dict[str, Contribution] = {}
    for names in groups.values():
        own = {name: silos[name] for name in names}
        start = order.start_of(names[0])
        found |= _from(plan, own, start, order, model=model, randomness=randomness)
    return {name: found[name] for name in asked}


def _from(
    plan: Plan,
    silos: Mapping[str, Records],
    start: Start,
    order: RoundOrder,
    *,
    model: nn.Module,
    randomness: RandomSource,
) -> dict[str, Contribution]:
    """Returns the contributions of silos, at least one, that start alike."""
    # Clients all train alike; what silos differ in, their capacity, does not matter to those.
    training, weights = round_training(
        plan, next(iter(silos)), order.release, start.parameters, order.prepared
    )
    sources = {name: silo_source(randomness, order.sequence, name) for name in silos}
    rotation = round_rotation(plan, order.sequence)
    alike = _clients_alike(training)
    if alike is None:
        return {
            name: contribute(
                plan,
                name,
                order.release,
                model=model,
                parameters=start.parameters,
                records=records,
                randomness=sources[name],
                rotation=rotation,
                weight=start.weight,
                told=order.prepared,
            )
            for name, records in silos.items()
        }
    kind, finish = alike
    for name, records in silos.items():
        require_capacity(plan, name, records)
    clients = {name: Client(records, sources[name].derive("training")) for name, records in silos.items()}
    found, watch, stage = dict[str, Contribution](), Stopwatch(), plan.at(order.release)
    for name, counted in _counted(kind, model, weights, clients):
        update, seconds = finish(counted), watch.lap()
        found[name] = encoded(
            stage, update, sources[name], rotation, weight=start.weight, training_seconds=seconds
        )
        watch.lap()
    return found


def _clients_alike(training: SiloTraining) -> tuple[ClippedUpdate, _Finish] | None:
    """Returns how every client trains and what is sent of that; None where a silo is not one client."""
    match training:
        case ClippedUpdate():
            return training, lambda counted: counted.update
        case QuantileClipped(kind=ClippedUpdate() as kind):
            return kind, partial(joined, training)
        case _:
            return None


def _counted(
    kind: ClippedUpdate, model: nn.Module, weights: npt.NDArray[np.float64], clients: Mapping[str, Client]
) -> Iterator[tuple[str, CountedUpdate]]:
    """Yields the updates of the clients that stay out of the round, then those of the others."""
    taking_part: dict[str, Client] = {}
    for name, client in clients.items():
        if takes_part(kind, client):
            taking_part[name] = client
        else:
            yield name, absent(weights)
    updates = clipped_updates(kind, model, weights, list(taking_part.values()))
    yield from zip(taking_part, updates, strict=True)
