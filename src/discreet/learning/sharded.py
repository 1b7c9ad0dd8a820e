"""The arithmetic of sharded: records join groups at random, and each sampled group trains and clips alone."""

from __future__ import annotations

import math

import numpy as np
from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.kinds.float_error import finite_or_zero, project
from discreet.kinds.sharded import Sharded
from discreet.learning.clients import trained
from discreet.learning.objective import Client
from discreet.learning.units import units_of
from discreet.learning.updates import LocalUpdate
from discreet.randomness import RandomSource
from discreet.sampling import Poisson


def sharded_update(
    kind: Sharded, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
) -> LocalUpdate:
    """Trains every sampled group that is not empty."""
    taking_part = Poisson(kind.sampling_prob).draw(kind.groups, randomness)
    units = units_of(records, kind.persons)
    assigned = randomness.integers_below(units.count, kind.groups)
    salt = randomness.random_bytes(16)
    members = [units.rows(np.flatnonzero(assigned == group)) for group in taking_part.tolist()]
    groups = [
        Client(records.take(own), randomness.derive("shard", group, salt))
        for group, own in zip(taking_part.tolist(), members, strict=True)
        if len(own)
    ]
    total, losses, batch = np.zeros_like(parameters), 0.0, 0
    for group, (moved, loss) in zip(groups, trained(kind.local, model, parameters, groups), strict=True):
        total += project(finite_or_zero(moved), kind.clip_norm)
        losses += loss * len(group.records) if math.isfinite(loss) else 0.0
        batch += len(group.records)
    return LocalUpdate(project(total, kind.projection_radius), losses / max(1, batch), batch)
