"""The [training] table: local training, sampling, and the server's rule."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from discreet.config.fields import Count, Momentum, NonNegative, Positive, Probability, Section


class FlatStyle(Section):
    """A record's whole gradient is shortened to the clipping norm."""

    kind: Literal["flat"] = "flat"


class PerLayerStyle(Section):
    """Each layer is shortened to its share of the clipping norm; no shares: equal ones."""

    kind: Literal["per-layer"]
    shares: tuple[Positive, ...] = ()


class AutomaticStyle(Section):
    """Every gradient is scaled to the clipping norm, so that the norm needs no tuning."""

    kind: Literal["automatic"]
    stability: Positive = 0.01


StyleConfig = Annotated[FlatStyle | PerLayerStyle | AutomaticStyle, Field(discriminator="kind")]


class SingleStepConfig(Section):
    """One sum of clipped per-record gradients a round (theory §2.1); record unit."""

    kind: Literal["single-step"]
    style: StyleConfig = FlatStyle()


class ClippedUpdateConfig(Section):
    """Any local optimiser, the whole update clipped (theory §2.2, DP-FedAvg); client unit."""

    kind: Literal["clipped-update"]
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0
    project_steps: bool = False


class ShardedConfig(Section):
    """Records in random shards; each trains alone, its whole update is clipped (theory §2.3); record unit."""

    kind: Literal["sharded"]
    num_shards: Count
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Momentum = 0.0
    weight_decay: NonNegative = 0.0


class NoisyStepsConfig(Section):
    """Noise in every local step (theory §2.5); record unit.

    Several steps are proven at each silo's own noise. The published claim that the silos' noise adds up is
    CONDITIONAL: put "independent-local-state" into ``privacy.accept_assumptions`` to calibrate to it. The
    learning rate is per record: steps follow the sum over a batch.
    """

    kind: Literal["noisy-steps"]
    learning_rate: Positive
    steps: Count
    momentum: Momentum = 0.0
    style: StyleConfig = FlatStyle()


class _ConvexSteps(Section):
    """Local steps whose number does not enter the sensitivity.

    Give ``steps``, or ``records_per_step`` so that larger silos take more steps. The learning rate is per
    record: steps follow the sum over a batch. ``residual_cap`` bounds how far the model's probability of a
    record's own class counts as too low; the sensitivity, and so the noise, is proportional to it. 1 caps
    nothing.
    """

    learning_rate: Positive
    steps: Count | None = None
    records_per_step: Count | None = None
    passes: Count = 1
    residual_cap: Probability = 1.0

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.steps is None) == (self.records_per_step is None):
            raise ValueError("exactly one of 'steps' and 'records_per_step' must be given")
        return self


class StableStepsConfig(_ConvexSteps):
    """Several local steps of a convex model with sensitivity γL (theory §2.4); record unit."""

    kind: Literal["stable-steps"]
    l2_regulariser: NonNegative = 0.0


class TangentStepsConfig(_ConvexSteps):
    """Several local steps of any network's linearisation, sensitivity γL (theory §2.7); record unit.

    ``privacy.clip_norm`` bounds how far a record's logits may move apart when the weights move by one.
    """

    kind: Literal["tangent-steps"]


LocalConfig = Annotated[
    SingleStepConfig
    | ClippedUpdateConfig
    | ShardedConfig
    | StableStepsConfig
    | TangentStepsConfig
    | NoisyStepsConfig,
    Field(discriminator="kind"),
]


class NoSamplingConfig(Section):
    """Every unit (record, or client) takes part in every round."""

    kind: Literal["none"] = "none"


class PoissonConfig(Section):
    """Every unit takes part in a round with this probability, independently; the coins stay in the silo."""

    kind: Literal["poisson"]
    probability: Probability


class FixedSizeConfig(Section):
    """The same number of a silo's places takes part in every round, drawn inside the silo; for single-step.

    A silo has ``data.record_capacity`` places; what is drawn are places, and an empty one contributes
    nothing. The guarantee is about exchanging what a place holds for another record, or for none
    (replace-one), which costs about twice the ε of Poisson sampling at the same noise.

    Attributes:
        fraction: share of each silo's places that a round takes, rounded down to whole places.
    """

    kind: Literal["fixed-size"]
    fraction: Probability


SamplingConfig = Annotated[NoSamplingConfig | PoissonConfig | FixedSizeConfig, Field(discriminator="kind")]


class SmoothingConfig(Section):
    """Laplacian smoothing of the aggregate with strength ``sigma``, on a cycle or a chain of weights."""

    graph: Literal["cycle", "chain"] = "cycle"
    sigma: NonNegative


class _ServerSection(Section):
    """What every server rule has; all of it is post-processing of what is released, so it is free.

    Attributes:
        learning_rate: length of the server's step.
        decay: factor on the learning rate from round to round.
        smoothing: Laplacian smoothing of the aggregate before the rule sees it.
    """

    learning_rate: Positive = 1.0
    decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    smoothing: SmoothingConfig | None = None


class AveragingConfig(_ServerSection):
    """θ ← θ + learning_rate · aggregate."""

    kind: Literal["averaging"] = "averaging"


class MomentumConfig(_ServerSection):
    """Heavy-ball momentum on the server."""

    kind: Literal["momentum"]
    momentum: Momentum = 0.9


class AdaptiveConfig(_ServerSection):
    """Adagrad, Adam or Yogi on the server (Reddi et al. 2021)."""

    kind: Literal["adagrad", "adam", "yogi"]
    first_decay: Momentum = 0.9
    second_decay: Momentum = 0.99
    adaptivity: Positive = 1e-3


ServerConfig = Annotated[AveragingConfig | MomentumConfig | AdaptiveConfig, Field(discriminator="kind")]


class TrainingConfig(Section):
    """How the model is trained."""

    rounds: Count
    local: LocalConfig
    sampling: SamplingConfig = NoSamplingConfig()
    server: ServerConfig = AveragingConfig()
