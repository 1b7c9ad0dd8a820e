"""Clipped-update: a client trains as it likes and clips the whole update (DP-FedAvg); client unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from discreet.kinds.contract import DecayingSection, LocalTraining
from discreet.kinds.fields import Count, Momentum, NonNegative, Positive
from discreet.kinds.float_error import require_norm, with_slack
from discreet.kinds.local_sgd import LocalSgd
from discreet.kinds.model_facts import NORMALISES
from discreet.kinds.sampling import SamplingConfig, independent_share
from discreet.kinds.setting import SiloSetting
from discreet.privacy.events import NoSampling, PoissonSampling, Sampling
from discreet.privacy.units import Unit


class ClippedUpdateConfig(DecayingSection):
    """Any local optimiser, the whole update clipped (theory §2.2, DP-FedAvg); client unit.

    Attributes:
        learning_rate: of the local steps.
        batch_size: records of a step.
        epochs: passes over the records in a round.
        momentum: of the local steps; 0 is none.
        weight_decay: L2 penalty in the local steps; 0 is none.
        project_steps: keep the movement inside the clipping ball after every step, and not only at the end.
    """

    units: ClassVar[tuple[Unit, ...]] = (Unit.CLIENT,)
    sources: ClassVar[tuple[str, ...]] = ("mcmahan2018",)
    clips_whole_update: ClassVar[bool] = True

    kind: Literal["clipped-update"]
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0
    project_steps: bool = False

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        return (
            f"clipped-update: {self.epochs} epochs of batches of {self.batch_size}, "
            f"learning rate {self.learning_rate:g}{self.decay_text()}, the whole update clipped"
        )

    def expected_batch(self, capacity: int) -> float:
        """Returns how many records a step of a client has that holds ``capacity`` records."""
        return float(min(self.batch_size, capacity))

    def planned(self, setting: SiloSetting) -> ClippedUpdate:
        """Returns the training of a client, at the clipping norm of the first round.

        Raises:
            ConfigurationError: if batches are too small for batch norm.
        """
        setting.require_batch(self.expected_batch(setting.capacity))
        return ClippedUpdate(
            clip_norm=setting.clip_norm,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            epochs=self.epochs,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            project_steps=self.project_steps,
            sampling_prob=setting.share,
            batch_norm=setting.batch_norm,
        )

    def normaliser(
        self,
        sampling: SamplingConfig,
        capacities: Mapping[str, int],
        survivors: tuple[str, ...],  # noqa: ARG002 - a client's presence is what the guarantee hides
    ) -> float:
        """Returns the expected number of sampled clients of the plan, whoever survived."""
        return independent_share(sampling, self.kind) * len(capacities)


@dataclass(frozen=True, slots=True)
class ClippedUpdate(LocalTraining):
    """Local SGD from the public model, then the whole update clipped to ``clip_norm``.

    Guarantee:
        Adding or removing one client moves the sum over clients by at most ``clip_norm``, whatever the
        client trains with. McMahan, Ramage, Talwar, Zhang (2018), Algorithm 1 and Lemma 1; theory §2.2.

    Attributes:
        clip_norm: L2 norm of the largest update, real units.
        learning_rate: step length per mean gradient of a batch.
        batch_size: records a local step.
        epochs: passes over the client's records.
        momentum: local heavy-ball momentum, reset every round.
        weight_decay: coefficient of the parameters added to the gradient.
        project_steps: keep the movement inside the ball after every step and not only at the end
            (Liang et al., DP-Fed, Algorithm 1); the guarantee is the same.
        sampling_prob: probability that the client takes part in a round. The client tosses the coin itself
            and contributes zero when it stays out, so that nobody learns who took part.
        batch_norm: whether the model has batch norm.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    clip_norm: float
    learning_rate: float
    batch_size: int
    epochs: int = 1
    momentum: float = 0.0
    weight_decay: float = 0.0
    project_steps: bool = False
    sampling_prob: float = 1.0
    batch_norm: bool = False

    def __post_init__(self) -> None:
        require_norm(self.clip_norm, "clip_norm", "ClippedUpdate")
        PoissonSampling(self.sampling_prob)
        self.optimiser()

    def optimiser(self) -> LocalSgd:
        """The local optimiser; its settings do not touch the guarantee."""
        return LocalSgd(self.learning_rate, self.batch_size, self.epochs, self.momentum, self.weight_decay)

    def at_rate(self, factor: float) -> Self:
        """Returns the training at another rate, which does not touch what is clipped."""
        return replace(self, learning_rate=factor * self.learning_rate)

    @property
    def unit(self) -> Unit:
        """A client."""
        return Unit.CLIENT

    @property
    def assumptions(self) -> tuple[str, ...]:
        """None: the vector is a function of one client, computed by that client, and its norm is checked.

        With batch norm, that the model keeps nothing else of it for later rounds.
        """
        return (NORMALISES,) if self.batch_norm else ()

    def l2_sensitivity(self) -> float:
        """``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    def update_bound(self, record_capacity: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    def release_sampling(self) -> Sampling:
        """Poisson sampling of clients, or none when all take part."""
        return NoSampling() if self.sampling_prob == 1.0 else PoissonSampling(self.sampling_prob)

    @property
    def most_units(self) -> float:
        """One: a silo is a single client."""
        return 1.0

    def with_clip_norm(self, clip_norm: float) -> ClippedUpdate:
        """Returns the same kind at another clip norm."""
        return replace(self, clip_norm=clip_norm)
