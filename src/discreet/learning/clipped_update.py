"""The arithmetic of clipped-update: clients train from the public model, and clip how far they moved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.kinds.clipped_update import ClippedUpdate
from discreet.kinds.float_error import finite_or_zero, project
from discreet.learning.clients import trained
from discreet.learning.objective import Client
from discreet.learning.updates import CountedUpdate, LocalUpdate
from discreet.randomness import RandomSource


def client_update(
    kind: ClippedUpdate, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
) -> CountedUpdate:
    """Trains and clips; counts one if the client took part and moved at most ``clip_norm``, else zero.

    A client that stays out, has no records, or whose update is not finite, contributes zero.
    """
    client = Client(records, randomness)
    if not takes_part(kind, client):
        return absent(parameters)
    (counted,) = clipped_updates(kind, model, parameters, [client])
    return counted


def absent(parameters: Floats) -> CountedUpdate:
    """Returns the contribution of a client that stays out: zero."""
    return CountedUpdate(LocalUpdate(np.zeros_like(parameters), loss=0.0, batch=0), within=0)


def takes_part(kind: ClippedUpdate, client: Client) -> bool:
    """Tosses the client's coin; one without records stays out."""
    enters = bool(client.randomness.bernoulli(1, kind.sampling_prob)[0])
    return enters and len(client.records) > 0


def clipped_updates(
    kind: ClippedUpdate, model: nn.Module, parameters: Floats, clients: Sequence[Client]
) -> Iterator[CountedUpdate]:
    """Yields what `client_update` returns for each of several clients that take part, to the bit."""
    radius = kind.clip_norm if kind.project_steps else math.inf
    for moved, loss in trained(kind.optimiser(), model, parameters, clients, radius=radius):
        within = int(float(np.linalg.norm(moved)) <= kind.clip_norm)  # not for NaN
        clipped = project(finite_or_zero(moved), kind.clip_norm)
        yield CountedUpdate(LocalUpdate(clipped, loss if math.isfinite(loss) else 0.0, batch=1), within)
