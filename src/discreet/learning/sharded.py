r"""Sharded: virtual clients inside a silo, for local steps of any model (theory §2.3); record unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.learning.clients import trained
from discreet.learning.contract import LocalUpdate
from discreet.learning.float_error import ROWS_ALIKE, finite_or_zero, project, with_slack
from discreet.learning.local_sgd import LocalSgd
from discreet.learning.objective import Client
from discreet.privacy.events import Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource
from discreet.sampling import Poisson


@dataclass(frozen=True, slots=True)
class Sharded:
    r"""Every record joins one of ``num_shards`` shards; each shard trains alone and clips its update.

    In every round each record draws its shard uniformly and independently of the others; a shard takes part
    with probability ``sampling_prob``, runs local SGD from the public model on its own records, and clips
    how far it moved to ``clip_norm``. A shard that is empty, or whose update is not finite, contributes zero.
    The update is the sum over shards.

    Guarantee:
        Adding or removing a record exchanges the update of its shard for another one of norm at most
        ``clip_norm``: the sum moves by at most 2·``clip_norm`` if the shard is sampled and not at all
        otherwise. To be accounted as a *replaced* contribution of norm `contribution_norm`
        (`SampledChange.REPLACED`; docs/theory/pairs.md, Theorem 1). Sensitivity 2·``clip_norm`` under plain
        Poisson sampling is not a dominating pair: it bounds the divergence at γ ≥ 1 only.

    Attributes:
        clip_norm: L2 norm of the largest update of one shard, real units.
        num_shards: public number of shards, a choice and not a count of the data.
        local: settings of the local optimiser; they do not touch the guarantee.
        sampling_prob: probability that a shard takes part in a round.
        projection_radius: the update is projected onto the ball of this radius, which keeps the
            sensitivity and lets the ring be smaller; infinite leaves it alone.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    unit: ClassVar[Unit] = Unit.RECORD

    clip_norm: float
    num_shards: int
    local: LocalSgd
    sampling_prob: float = 1.0
    projection_radius: float = math.inf

    def __post_init__(self) -> None:
        for name in ("clip_norm", "projection_radius"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name!r} of Sharded must be positive; got {getattr(self, name)}.")
        if not math.isfinite(self.clip_norm):
            raise ConfigurationError("'clip_norm' of Sharded must be finite.")
        if not self.num_shards >= 1:
            raise ConfigurationError(f"'num_shards' of Sharded must be >= 1; got {self.num_shards}.")
        Poisson(self.sampling_prob)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: a shard takes its steps together with others, whose number is data."""
        return (ROWS_ALIKE,)

    def l2_sensitivity(self) -> float:
        """Twice ``clip_norm``, enlarged for floating-point error."""
        return with_slack(2.0 * self.clip_norm)

    def contribution_norm(self) -> float:
        """Largest norm of one shard's contribution, ``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    def update_bound(self, record_capacity: int) -> float:
        """Every shard that holds a record contributes at most ``clip_norm``."""
        shards = min(self.num_shards, record_capacity)
        return with_slack(min(shards * self.clip_norm, self.projection_radius))

    def failure_prob(self, record_capacity: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """Zero: clipping cannot fail."""
        return 0.0

    def release_sampling(self) -> Sampling:
        """Poisson sampling of shards, which protects a record as sampling of records would."""
        return Poisson(self.sampling_prob).event()

    def update(
        self, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
    ) -> LocalUpdate:
        """Trains every sampled shard that is not empty."""
        taking_part = Poisson(self.sampling_prob).draw(self.num_shards, randomness)
        assigned = randomness.integers_below(len(records), self.num_shards)
        salt = randomness.random_bytes(16)
        members = [np.flatnonzero(assigned == shard) for shard in taking_part.tolist()]
        shards = [
            Client(records.take(own), randomness.derive("shard", shard, salt))
            for shard, own in zip(taking_part.tolist(), members, strict=True)
            if len(own)
        ]
        total, losses, batch = np.zeros_like(parameters), 0.0, 0
        for shard, (moved, loss) in zip(shards, trained(self.local, model, parameters, shards), strict=True):
            total += project(finite_or_zero(moved), self.clip_norm)
            losses += loss * len(shard.records) if math.isfinite(loss) else 0.0
            batch += len(shard.records)
        return LocalUpdate(project(total, self.projection_radius), losses / max(1, batch), batch)
