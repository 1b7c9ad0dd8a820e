"""Single-step: one sum of clipped per-record gradients a round (theory §2.1); record unit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.learning.clipping.clipped_sum import clipped_gradient_sum
from discreet.learning.clipping.shapes import UNKNOWN_BATCH, ExpectedBatch
from discreet.learning.clipping.styles import FLAT, ClippingStyle
from discreet.learning.contract import CountedUpdate, CountingTraining, LocalUpdate
from discreet.learning.float_error import ROWS_ALIKE, project, require_summable, with_slack
from discreet.privacy.events import Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource
from discreet.sampling import EVERY_ONE, FixedSize, Poisson


@dataclass(frozen=True, slots=True)
class SingleStep(CountingTraining):
    """The negative sum of clipped gradients of a sampled batch at the public model.

    Guarantee:
        Adding or removing one sampled record moves the update by at most ``clip_norm`` (Abadi et al. 2016,
        Algorithm 1, with the sum in place of the mean). It is a descent direction: the server's learning
        rate and a public normaliser turn it into a step. Under fixed-size sampling records are exchanged, not
        added or removed, and one that takes the place of another moves the update by at most twice as much.

    Attributes:
        clip_norm: largest L2 norm of one record's gradient, real units.
        sampler: which of the silo's records enter a round.
        projection_radius: the update is projected onto the ball of this radius, which keeps the
            sensitivity and lets the ring be smaller; infinite leaves it alone.
        style: how gradients are brought into the ball; the sensitivity is the same for all styles.
        expected: public guess of the batch's size, which only the time depends on.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    unit: ClassVar[Unit] = Unit.RECORD

    clip_norm: float
    sampler: Poisson | FixedSize = EVERY_ONE
    projection_radius: float = math.inf
    style: ClippingStyle = FLAT
    expected: ExpectedBatch = UNKNOWN_BATCH

    def __post_init__(self) -> None:
        if not (self.clip_norm > 0 and math.isfinite(self.clip_norm)):
            raise ConfigurationError(f"'clip_norm' of SingleStep must be positive; got {self.clip_norm}.")
        if not self.projection_radius > 0:
            raise ConfigurationError(
                f"'projection_radius' of SingleStep must be positive; got {self.projection_radius}."
            )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: gradients are computed in float32, many records at a time."""
        return (ROWS_ALIKE,)

    def l2_sensitivity(self) -> float:
        """``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    def update_bound(self, record_capacity: int) -> float:
        """Every record contributes at most ``clip_norm``; the projection may be tighter.

        Raises:
            ConfigurationError: if a batch may be too large for its sum to be exact enough.
        """
        sampler = self.sampler
        require_summable(sampler.sample_size if isinstance(sampler, FixedSize) else record_capacity)
        return with_slack(min(record_capacity * self.clip_norm, self.projection_radius))

    def failure_prob(self, record_capacity: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """Zero: clipping cannot fail."""
        return 0.0

    def release_sampling(self) -> Sampling:
        """How records are sampled, as the sampler itself states it."""
        return self.sampler.event()

    @property
    def most_units(self) -> float:
        """How many records of norm ``clip_norm`` reach the projection radius; infinite without one."""
        return self.projection_radius / self.clip_norm

    def with_clip_norm(self, clip_norm: float) -> SingleStep:
        """Returns the same kind at another clip norm, with room for as many records in the projection."""
        return replace(self, clip_norm=clip_norm, projection_radius=self.most_units * clip_norm)

    def counted_update(
        self,
        model: nn.Module,
        parameters: Floats,
        records: Records,
        randomness: RandomSource,
    ) -> CountedUpdate:
        """Sums a batch of clipped gradients and counts those within ``clip_norm``; an empty one gives 0."""
        batch = self.sampler.draw(len(records.labels), randomness)
        total = clipped_gradient_sum(
            model,
            parameters,
            records.take(batch),
            clip_norm=self.clip_norm,
            style=self.style,
            randomness=randomness,
            expected=self.expected,
        )
        vector = project(-total.vector, self.projection_radius)
        update = LocalUpdate(vector, total.loss / max(1, len(batch)), len(batch))
        return CountedUpdate(update, total.within)
