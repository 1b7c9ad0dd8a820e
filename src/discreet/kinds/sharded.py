r"""Sharded: virtual clients inside a silo, for local steps of any model (theory §2.3); record unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from discreet.errors import ConfigurationError
from discreet.kinds.contract import DecayingSection, LocalTraining
from discreet.kinds.fields import Count, Momentum, NonNegative, Positive
from discreet.kinds.float_error import ROWS_ALIKE, with_slack
from discreet.kinds.local_sgd import LocalSgd
from discreet.kinds.persons import PersonWeights
from discreet.kinds.sampling import SamplingConfig, independent_share
from discreet.kinds.setting import SiloSetting
from discreet.privacy.events import SampledChange, Sampling
from discreet.sampling import Poisson


class ShardedConfig(DecayingSection):
    """Records in random shards; each trains alone, its whole update is clipped (theory §2.3); record unit."""

    sources: ClassVar[tuple[str, ...]] = ("mcmahan2018", "balle2018")

    kind: Literal["sharded"]
    num_shards: Count
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return (
            f"sharded: {self.num_shards} random shards a silo, each {self.epochs} epochs of batches of "
            f"{self.batch_size} at learning rate {self.learning_rate:g}{self.decay_text()}, its update "
            "clipped"
        )

    def planned(self, setting: SiloSetting) -> Sharded:
        """Returns the training of a silo, at the clipping norm of the first round."""
        shards = min(self.num_shards, setting.capacity)
        return Sharded(
            clip_norm=setting.clip_norm,
            num_shards=self.num_shards,
            local=LocalSgd(
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
                epochs=self.epochs,
                momentum=self.momentum,
                weight_decay=self.weight_decay,
            ),
            sampling_prob=setting.share,
            projection_radius=setting.clip_norm * setting.sampling.batch_bound(shards),
            persons=setting.persons,
        )

    def normaliser(
        self,
        sampling: SamplingConfig,
        capacities: Mapping[str, int],  # noqa: ARG002 - one contract for all kinds
        survivors: tuple[str, ...],
    ) -> float:
        """Returns the expected number of sampled shards of the survivors."""
        return independent_share(sampling, self.kind) * self.num_shards * len(survivors)


@dataclass(frozen=True, slots=True)
class Sharded(LocalTraining):
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
        persons: if given, persons join shards, each with all of its records; these are not weighted, since
            the shard's whole update is clipped.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    clip_norm: float
    num_shards: int
    local: LocalSgd
    sampling_prob: float = 1.0
    projection_radius: float = math.inf
    persons: PersonWeights | None = None

    def __post_init__(self) -> None:
        for name in ("clip_norm", "projection_radius"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(f"{name!r} of Sharded must be positive; got {getattr(self, name)}.")
        if not math.isfinite(self.clip_norm):
            raise ConfigurationError("'clip_norm' of Sharded must be finite.")
        if not self.num_shards >= 1:
            raise ConfigurationError(f"'num_shards' of Sharded must be >= 1; got {self.num_shards}.")
        Poisson(self.sampling_prob)

    def at_rate(self, factor: float) -> Self:
        """Returns the training at another rate, which does not touch what is clipped."""
        return replace(self, local=replace(self.local, learning_rate=factor * self.local.learning_rate))

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

    @property
    def change(self) -> SampledChange:
        """A record exchanges the contribution of its shard for another one."""
        return SampledChange.REPLACED

    def update_bound(self, record_capacity: int) -> float:
        """Every shard that holds a record contributes at most ``clip_norm``."""
        shards = min(self.num_shards, record_capacity)
        return with_slack(min(shards * self.clip_norm, self.projection_radius))

    def release_sampling(self) -> Sampling:
        """Poisson sampling of shards, which protects a record as sampling of records would."""
        return Poisson(self.sampling_prob).event()
