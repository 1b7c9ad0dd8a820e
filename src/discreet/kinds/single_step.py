"""Single-step: one sum of clipped per-record gradients a round (theory §2.1); record unit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from discreet.errors import ConfigurationError
from discreet.kinds.contract import LocalSection, LocalTraining
from discreet.kinds.float_error import ROWS_ALIKE, require_norm, require_summable, with_slack
from discreet.kinds.persons import PersonWeights, records_of, require_computable
from discreet.kinds.sampling import UNKNOWN_BATCH, ExpectedBatch, SamplingConfig
from discreet.kinds.setting import SiloSetting
from discreet.kinds.styles import FLAT, ClippingStyle
from discreet.privacy.events import Sampling
from discreet.sampling import EVERY_ONE, FixedSize, Poisson


class SingleStepConfig(LocalSection):
    """One sum of clipped per-record gradients a round (theory §2.1); record unit.

    Attributes:
        style: how gradients are shortened to the clipping norm.
    """

    sources: ClassVar[tuple[str, ...]] = ("abadi2016",)

    kind: Literal["single-step"]
    style: ClippingStyle = FLAT

    def require_layers(self, layers: int) -> None:
        """Refuses a style that is for another number of layers."""
        self.style.require_layers(layers)

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return "single-step: one sum of clipped gradients"

    def planned(self, setting: SiloSetting) -> SingleStep:
        """Returns the training of a silo, at the clipping norm of the first round."""
        require_computable(setting.persons, written_out=setting.linear and self.style == FLAT)
        return SingleStep(
            clip_norm=setting.clip_norm,
            sampler=setting.sampling.sampler(setting.capacity),
            projection_radius=setting.clip_norm * setting.batch_bound,
            style=self.style,
            expected=setting.expected,
            persons=setting.persons,
        )

    def normaliser(
        self, sampling: SamplingConfig, capacities: Mapping[str, int], survivors: tuple[str, ...]
    ) -> float:
        """Returns the expected number of sampled records if every survivor were full."""
        return sum(sampling.expected(capacities[silo]) for silo in survivors)


@dataclass(frozen=True, slots=True)
class SingleStep(LocalTraining):
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
        persons: how a person's gradients count in the one vector that is clipped; None where each record is
            by itself. Persons are then what is sampled.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    clip_norm: float
    sampler: Poisson | FixedSize = EVERY_ONE
    projection_radius: float = math.inf
    style: ClippingStyle = FLAT
    expected: ExpectedBatch = UNKNOWN_BATCH
    persons: PersonWeights | None = None

    def __post_init__(self) -> None:
        require_norm(self.clip_norm, "clip_norm", "SingleStep")
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
        units = sampler.sample_size if isinstance(sampler, FixedSize) else record_capacity
        require_summable(records_of(self.persons, units))
        return with_slack(min(record_capacity * self.clip_norm, self.projection_radius))

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
