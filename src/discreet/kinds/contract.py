"""What a kind of local training says of itself without touching a record, and without torch.

A kind is one file here, its table and its value with the proof, and one in `discreet.learning`, its
arithmetic; a line each in the union of tables and in `discreet.learning.arithmetic` name it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.encoding import Grid, Rotation, StepWeights, decode
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.kinds.decay import Decay, decay_text, factor_of
from discreet.kinds.fields import Section
from discreet.kinds.footprint import SHARED, Footprint, NoiseSharing
from discreet.kinds.persons import PersonWeights
from discreet.kinds.preparation import ClassWeightsConfig, PreparationConfig
from discreet.kinds.sampling import SamplingConfig
from discreet.kinds.setting import SiloSetting
from discreet.kinds.weighted import StatedWeights
from discreet.privacy.events import FixedSizeSampling, SampledChange, Sampling
from discreet.privacy.units import Unit


class LocalSection(Section):
    """The table of a kind: what a user may say, and what follows from that alone.

    Attributes:
        units: whom the kind can protect.
        sources: keys of the bibliography.
        takes_own_loss: whether a loss of the user's own may take the place of the head's.
        steps_share_state: whether later local steps depend on what earlier ones left in the silo.
        noise_inside: whether noise is added in every local step, and not once to the update of a round.
        clips_whole_update: whether what a unit may change is clipped as a whole, after all local steps, so
            that layers may mix records (batch norm).
    """

    units: ClassVar[tuple[Unit, ...]] = (Unit.RECORD, Unit.PERSON)
    sources: ClassVar[tuple[str, ...]]
    steps_share_state: ClassVar[bool] = False
    takes_own_loss: ClassVar[bool] = False
    noise_inside: ClassVar[bool] = False
    clips_whole_update: ClassVar[bool] = False

    def rate_factor(self, round_index: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """Returns the factor on the learning rate in a round, from 0: 1 where nothing decays."""
        return 1.0

    @property
    def weighs(self) -> StatedWeights | None:
        """How records count by their class; None where all count alike."""
        return None

    @property
    def caps(self) -> float:
        """The most that a record's residual counts; 1 where nothing is capped."""
        return 1.0

    @property
    def preparation(self) -> PreparationConfig | None:
        """What of the kind follows from a release before the first round; None where nothing does."""
        return self.weighs if isinstance(self.weighs, ClassWeightsConfig) else None

    @property
    def is_non_expansive(self) -> bool:
        """Whether a silo's round, from one model to the next, is proven to move no two models apart."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""

    def require_layers(self, layers: int) -> None:
        """Refuses settings that are for another number of the model's trainable layers; here there are none.

        Raises:
            ConfigurationError: saying how many there are.
        """

    def step_weights(self) -> StepWeights | None:
        """Returns the integer weight of each release in a silo's message; None where it is one release."""
        return None

    def expected_batch(self, capacity: int) -> float:
        """Returns how many records batch norm would see together in a silo of ``capacity`` of them."""
        return float(capacity)

    @abstractmethod
    def planned(self, setting: SiloSetting) -> LocalTraining:
        """Returns the training of a silo, at the clipping norm of the first round.

        Raises:
            ConfigurationError: if table and setting do not fit together.
        """

    def normaliser(
        self,
        sampling: SamplingConfig,  # noqa: ARG002 - one contract for all kinds
        capacities: Mapping[str, int],  # noqa: ARG002
        survivors: tuple[str, ...],
    ) -> float:
        """Returns the public number that the sum over ``survivors`` is divided by: how many they are.

        A kind may say another; it is never a count of private records.

        Args:
            sampling: who enters a round.
            capacities: public bound on the records of every planned silo.
            survivors: the silos that are in the sum.
        """
        return float(len(survivors))


class DecayingSection(LocalSection):
    """The table of a kind whose learning rate may fall from round to round.

    Attributes:
        decay: factor on the learning rate from round to round, or ``{ kind = "inverse-time", rate = … }``;
            with a schedule, from sum to sum. Left out, the rate stays.
    """

    decay: Decay | None = None

    def rate_factor(self, round_index: int) -> float:
        """Returns the factor on the learning rate in a round, from 0."""
        return factor_of(self.decay, round_index)

    def decay_text(self) -> str:
        """Says how the rate falls, after a comma; nothing if it stays."""
        return "" if self.decay is None else f", {decay_text(self.decay)} a round"


class LocalTraining(ABC):
    """What a silo trains, and how far one unit moves it. Values are frozen; nothing in them depends on data.

    Guarantee:
        Take two silos whose records differ by one unit, and equal coins for everything but that unit. If the
        unit is not sampled, the update of a release is the same vector; if it is, the vectors differ by at
        most `l2_sensitivity` in L2, except for draws of probability at most `failure_prob`, in which an error
        is raised and nothing is released. The norm of the vector is at most `update_bound`. Floating-point
        error is inside both bounds (`discreet.kinds.float_error` says under which assumption).
    """

    __slots__ = ()

    @property
    def persons(self) -> PersonWeights | None:
        """How the records of one person share what one unit may move; None where that is not the unit."""
        return None

    @property
    def unit(self) -> Unit:
        """Whom the sensitivity protects."""
        return Unit.RECORD if self.persons is None else Unit.PERSON

    def at_rate(self, factor: float) -> Self:
        """Returns the training of a round whose learning rate is ``factor``, at most 1, times the first.

        Guarantee:
            Sensitivity, bounds and sampling are those of the first round.

        Raises:
            ConfigurationError: for a kind whose rate does not decay, or a rate that no number holds.
        """
        raise ConfigurationError(
            f"'training.local.decay' must be left out for {type(self).__name__}, which has no rate of its "
            f"own; got the factor {factor:g}."
        )

    def starting_from(self, announced: Floats) -> tuple[Self, Floats]:
        """Returns the training of a round that starts from ``announced``, and the weights in that.

        Raises:
            PrivacyViolation: for a clipping norm at which no bound would hold.
        """
        return self, announced

    @property
    def unit_length(self) -> float:
        """What one real unit of the vector is in weights."""
        return 1.0

    def rounding_share(self, num_features: int, weight_norm: float | None = None) -> float:
        """Returns which share of the slack for it float64 rounding may take in a round; at most 1 is proven.

        0 where no rounding is left that does not fall with the learning rate.

        Args:
            num_features: of a record.
            weight_norm: Frobenius norm of the weights before the round; None before anybody knows them: they
                are then as long as a first round may make them.
        """
        del num_features, weight_norm
        return 0.0

    @property
    @abstractmethod
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee assumes beyond theorems and this program, in sentences for people."""

    @abstractmethod
    def l2_sensitivity(self) -> float:
        """How far adding or removing one *sampled* unit moves the vector, L2, real units."""

    @abstractmethod
    def update_bound(self, record_capacity: int) -> float:
        """Public worst-case L2 norm of the vector for a silo of at most ``record_capacity`` units."""

    def failure_prob(self, record_capacity: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """Probability per round, added to δ, that the bound is not met and the round is aborted: none."""
        return 0.0

    @abstractmethod
    def release_sampling(self) -> Sampling:
        """How units enter a release."""

    def contribution_norm(self) -> float:
        """L2 norm of one sampled contribution; as `l2_sensitivity`, unless a unit replaces a contribution."""
        return self.l2_sensitivity()

    @property
    def change(self) -> SampledChange:
        """Whether one unit more or less adds a contribution or replaces one."""
        return SampledChange.ADDED_OR_REMOVED

    @property
    def releases(self) -> int:
        """How often a round adds noise; more than once only for noisy-steps."""
        return 1

    @property
    def weight(self) -> int:
        """How many times one release's integers count in the sum, at most."""
        return 1

    def step_weights(self) -> StepWeights | None:
        """Returns the integer weight of each release in the message; None where it is one release."""
        return None

    def decoded(self, total: npt.NDArray[np.uint64], grid: Grid, rotation: Rotation | None = None) -> Floats:
        """Returns what the modular sum of messages stands for: the noisy updates together, in weights.

        Where the clipping norm follows a quantile, these are units of the round's norm, and the last
        coordinate is the count.
        """
        decoded = decode(total, grid, rotation)
        return decoded if self.unit_length == 1.0 else self.unit_length * decoded

    @property
    def roundings(self) -> int:
        """How often the rounding bound of one release counts in δ.

        Twice where a contribution turns into another one, both of which are rounded, and where a unit's own
        coin (the step that it is given) decides what is rounded; once elsewhere.
        """
        exchanged = isinstance(self.release_sampling(), FixedSizeSampling)
        return 2 if exchanged or self.change is SampledChange.REPLACED else 1

    def noise_sharing(self, accepted: Collection[str]) -> NoiseSharing:
        """Says how far the noise of several silos may be added up.

        Noise that is added once, to a vector of bounded sensitivity, adds up over the silos: PROVEN.

        Args:
            accepted: assumptions that the user accepts by name.

        Raises:
            UnsupportedAnalysisError: for one that this training does not have.
        """
        require_known(accepted, known=())
        return SHARED

    def footprint(self, capacity: int) -> Footprint:
        """Returns what a silo of at most ``capacity`` records, or persons, puts into a round."""
        return Footprint(
            l2_sensitivity=self.contribution_norm(),
            change=self.change,
            silo_bound=self.update_bound(capacity),
            guard_failure_prob=self.failure_prob(capacity),
            sampling=self.release_sampling(),
            releases=self.releases,
            weight=self.weight,
            roundings=self.roundings,
            assumptions=self.assumptions,
        )


def require_known(accepted: Collection[str], known: Collection[str]) -> None:
    """Refuses accepted assumptions that a training does not have."""
    unknown = sorted(set(accepted) - set(known))
    if unknown:
        raise UnsupportedAnalysisError(
            f"'privacy.accept_assumptions' must name assumptions that this training has "
            f"({', '.join(sorted(known)) or 'it has none'}); got {unknown[0]!r}."
        )
