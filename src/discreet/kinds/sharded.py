r"""Sharded: groups of records train, each is clipped (mixed clipping, van Dijk et al. 2022); record unit.

Batch clipping is one group: the whole update of a silo is clipped. Clipping each record is a group a record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.contract import DecayingSection, LocalTraining
from discreet.kinds.fields import Count, Momentum, NonNegative, Positive
from discreet.kinds.float_error import ROWS_ALIKE, require_norm, with_slack
from discreet.kinds.local_sgd import LocalSgd
from discreet.kinds.model_facts import NORMALISES
from discreet.kinds.persons import PersonWeights
from discreet.kinds.sampling import SamplingConfig, independent_share
from discreet.kinds.setting import SiloSetting
from discreet.privacy.events import SampledChange, Sampling
from discreet.sampling import Poisson


class ShardedConfig(DecayingSection):
    """Records in random groups; each trains alone, its whole update is clipped (theory §2.3); record unit.

    Mixed clipping: van Dijk, Nguyen, Nguyen, Nguyen (2022), arXiv 2212.05796; batch clipping is one group.

    Attributes:
        learning_rate: of the local steps.
        batch_size: records of a step.
        epochs: passes over the records in a round.
        momentum: of the local steps; 0 is none.
        weight_decay: L2 penalty in the local steps; 0 is none.
        groups: public number of groups of a silo; at most its record capacity.
        num_shards: what ``groups`` was called; one of the two is given.
    """

    sources: ClassVar[tuple[str, ...]] = ("vandijk2022", "mcmahan2018", "balle2018")
    clips_whole_update: ClassVar[bool] = True

    kind: Literal["sharded"]
    groups: Count | None = None
    num_shards: Count | None = None
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if (self.groups is None) == (self.num_shards is None):
            raise ValueError("'groups' must be given ('num_shards', its old name, is read as well, not both)")
        return self

    @property
    def group_count(self) -> int:
        """The public number of groups of a silo, under whichever name it was given."""
        return self.groups or self.num_shards or 0

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        clipping = "batch clipping, 1 group" if self.group_count == 1 else f"{self.group_count} random groups"
        return (
            f"sharded (mixed clipping): {clipping} a silo, each {self.epochs} epochs of batches of "
            f"{self.batch_size} at learning rate {self.learning_rate:g}{self.decay_text()}, its whole update "
            "clipped"
        )

    def expected_batch(self, capacity: int) -> float:
        """Returns how many records a step of a group has in a full silo."""
        return min(float(self.batch_size), capacity / self.group_count)

    def planned(self, setting: SiloSetting) -> Sharded:
        """Returns the training of a silo, at the clipping norm of the first round.

        Raises:
            ConfigurationError: for more groups than records, or batches too small for batch norm.
        """
        if not self.group_count <= setting.capacity:
            raise ConfigurationError(
                "'training.local.groups' must be at most the records (persons) that each silo may hold, or "
                f"some stay empty; got {self.group_count} for a capacity of {setting.capacity}. Lower it.",
                see=HowTo.LOCAL_KIND,
            )
        setting.require_batch(self.expected_batch(setting.capacity))
        return Sharded(
            clip_norm=setting.clip_norm,
            groups=self.group_count,
            local=LocalSgd(
                learning_rate=self.learning_rate,
                batch_size=self.batch_size,
                epochs=self.epochs,
                momentum=self.momentum,
                weight_decay=self.weight_decay,
            ),
            sampling_prob=setting.share,
            projection_radius=setting.clip_norm * setting.sampling.batch_bound(self.group_count),
            persons=setting.persons,
            batch_norm=setting.batch_norm,
        )

    def normaliser(
        self,
        sampling: SamplingConfig,
        capacities: Mapping[str, int],  # noqa: ARG002 - one contract for all kinds
        survivors: tuple[str, ...],
    ) -> float:
        """Returns the expected number of sampled groups of the survivors."""
        return independent_share(sampling, self.kind) * self.group_count * len(survivors)


@dataclass(frozen=True, slots=True)
class Sharded(LocalTraining):
    r"""Every record joins one of ``groups`` groups; each group trains alone and clips its whole update.

    In every round each record draws its group uniformly and independently of the others; a group takes part
    with probability ``sampling_prob``, runs local SGD from the public model on its own records, and clips
    how far it moved to ``clip_norm``. A group that is empty, or whose update is not finite, contributes zero.
    The update is the sum over groups. Whatever mixes the records of a group, batch norm above all, is inside
    the clipped update, and so are its running statistics.

    Guarantee:
        Adding or removing a record exchanges the update of its group for another one of norm at most
        ``clip_norm``: the sum moves by at most 2·``clip_norm`` if the group is sampled and not at all
        otherwise. To be accounted as a *replaced* contribution of norm `contribution_norm`
        (`SampledChange.REPLACED`; docs/theory/pairs.md, Theorem 1). Sensitivity 2·``clip_norm`` under plain
        Poisson sampling is not a dominating pair: it bounds the divergence at γ ≥ 1 only.

    Attributes:
        clip_norm: L2 norm of the largest update of one group, real units.
        groups: public number of groups, a choice and not a count of the data.
        local: settings of the local optimiser; they do not touch the guarantee.
        sampling_prob: probability that a group takes part in a round.
        projection_radius: the update is projected onto the ball of this radius, which keeps the
            sensitivity and lets the ring be smaller; infinite leaves it alone.
        persons: if given, persons join groups, each with all of its records; these are not weighted, since
            the group's whole update is clipped.
        batch_norm: whether the model has batch norm.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    clip_norm: float
    groups: int
    local: LocalSgd
    sampling_prob: float = 1.0
    projection_radius: float = math.inf
    persons: PersonWeights | None = None
    batch_norm: bool = False

    def __post_init__(self) -> None:
        require_norm(self.clip_norm, "clip_norm", "Sharded")
        if not self.projection_radius > 0:
            raise ConfigurationError(
                f"'projection_radius' of Sharded must be positive; got {self.projection_radius}."
            )
        if not self.groups >= 1:
            raise ConfigurationError(f"'groups' of Sharded must be >= 1; got {self.groups}.")
        Poisson(self.sampling_prob)

    def at_rate(self, factor: float) -> Self:
        """Returns the training at another rate, which does not touch what is clipped."""
        return replace(self, local=replace(self.local, learning_rate=factor * self.local.learning_rate))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: a group takes its steps together with others, whose number is data."""
        return (ROWS_ALIKE, NORMALISES) if self.batch_norm else (ROWS_ALIKE,)

    def l2_sensitivity(self) -> float:
        """Twice ``clip_norm``, enlarged for floating-point error."""
        return with_slack(2.0 * self.clip_norm)

    def contribution_norm(self) -> float:
        """Largest norm of one group's contribution, ``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    @property
    def change(self) -> SampledChange:
        """A record exchanges the contribution of its group for another one."""
        return SampledChange.REPLACED

    def update_bound(self, record_capacity: int) -> float:
        """Every group that holds a record contributes at most ``clip_norm``."""
        groups = min(self.groups, record_capacity)
        return with_slack(min(groups * self.clip_norm, self.projection_radius))

    def release_sampling(self) -> Sampling:
        """Poisson sampling of groups, which protects a record as sampling of records would."""
        return Poisson(self.sampling_prob).event()
