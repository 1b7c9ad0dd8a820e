"""The tables of a config file: what a user may say, and nothing derived from it.

Noise, scale, ring and guarantees are worked out once, by the plan.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Probability = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class _Section(BaseModel):
    """A table of the file: immutable, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


# --- [data] ----------------------------------------------------------------------------------------------


class IidPartition(_Section):
    """Splits one table into ``silos`` silos at random; simulation only."""

    kind: Literal["iid"]
    silos: Count


class DirichletPartition(_Section):
    """Splits one table into ``silos`` silos with label proportions drawn from Dirichlet(alpha)."""

    kind: Literal["dirichlet"]
    silos: Count
    alpha: Positive


class ColumnPartition(_Section):
    """One silo for every value of a column."""

    kind: Literal["column"]
    column: str


PartitionConfig = Annotated[IidPartition | DirichletPartition | ColumnPartition, Field(discriminator="kind")]


class ScatteringConfig(_Section):
    """Scattering features of images: public, computed from each record alone; for linear heads."""

    kind: Literal["scattering"]
    depth: Count = 2
    rotations: Annotated[int, Field(ge=2, multiple_of=2)] = 8


class DataConfig(_Section):
    """Where the records are, and what is publicly known of them; never computed from private records.

    Attributes:
        source: ``heart-disease``, ``digits``, ``npz:PATH``, ``csv:PATH`` or ``module:function``. A PATH may
            hold environment variables such as ``$DISCREET_DATA``; its folder is not part of the agreed plan.
        record_capacity: public upper bound on the training records of a silo: one number, or one for each
            silo by name. It is part of the plan, so it must not be counted from private data.
        test_fraction: probability that a record is held out for measurements.
        split_seed: public seed of the split and of random partitions.
        label: the column to predict (csv).
        ranges: numeric feature columns with their plausible range (csv).
        categories: categorical feature columns with their possible texts (csv).
        num_classes: number of classes.
        feature_norm_bound: L2 norm that every record is scaled to.
        partition: which record belongs to which silo; left out, the source's own silos.
        transform: a public feature extractor, applied to each record by itself.
    """

    source: str
    record_capacity: Count | dict[str, Count] | None = None
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.25
    split_seed: Annotated[int, Field(ge=0)] = 0
    label: str | None = None
    ranges: dict[str, tuple[float, float]] | None = None
    categories: dict[str, tuple[str, ...]] | None = None
    num_classes: Annotated[int, Field(ge=2)] | None = None
    feature_norm_bound: Positive | None = None
    partition: PartitionConfig | None = None
    transform: ScatteringConfig | None = None


class ModelConfig(_Section):
    """Which model: a bundled name or ``module:factory``; ``seed`` fixes its public initial weights."""

    name: str = "logistic"
    seed: Annotated[int, Field(ge=0)] = 0


# --- [training] ------------------------------------------------------------------------------------------


class FlatStyle(_Section):
    """A record's whole gradient is shortened to the clipping norm."""

    kind: Literal["flat"] = "flat"


class PerLayerStyle(_Section):
    """Each layer is shortened to its share of the clipping norm; no shares: equal ones."""

    kind: Literal["per-layer"]
    shares: tuple[Positive, ...] = ()


class AutomaticStyle(_Section):
    """Every gradient is scaled to the clipping norm, so that the norm needs no tuning."""

    kind: Literal["automatic"]
    stability: Positive = 0.01


StyleConfig = Annotated[FlatStyle | PerLayerStyle | AutomaticStyle, Field(discriminator="kind")]


class SingleStepConfig(_Section):
    """One sum of clipped per-record gradients a round (theory §2.1); record unit."""

    kind: Literal["single-step"]
    style: StyleConfig = FlatStyle()


class ClippedUpdateConfig(_Section):
    """Any local optimiser, the whole update clipped (theory §2.2, DP-FedAvg); client unit."""

    kind: Literal["clipped-update"]
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    project_steps: bool = False


class ShardedConfig(_Section):
    """Records in random shards; each trains alone, its whole update is clipped (theory §2.3); record unit."""

    kind: Literal["sharded"]
    num_shards: Count
    learning_rate: Positive
    batch_size: Count = 32
    epochs: Count = 1
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class NoisyStepsConfig(_Section):
    """Noise in every local step (theory §2.5); record unit.

    Several steps are proven at each silo's own noise. The published claim that the silos' noise adds up is
    CONDITIONAL: put "independent-local-state" into ``privacy.accept_assumptions`` to calibrate to it. The
    learning rate is per record: steps follow the sum over a batch.
    """

    kind: Literal["noisy-steps"]
    learning_rate: Positive
    steps: Count
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.0
    style: StyleConfig = FlatStyle()


class StableStepsConfig(_Section):
    """Several local steps of a convex model with sensitivity γL (theory §2.4); record unit.

    Give ``steps``, or ``records_per_step`` so that larger silos take more steps. The learning rate is per
    record: steps follow the sum over a batch.
    """

    kind: Literal["stable-steps"]
    learning_rate: Positive
    steps: Count | None = None
    records_per_step: Count | None = None
    passes: Count = 1
    l2_regulariser: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0

    @model_validator(mode="after")
    def _one_of(self) -> StableStepsConfig:
        if (self.steps is None) == (self.records_per_step is None):
            raise ValueError("exactly one of 'steps' and 'records_per_step' must be given")
        return self


LocalConfig = Annotated[
    SingleStepConfig | ClippedUpdateConfig | ShardedConfig | StableStepsConfig | NoisyStepsConfig,
    Field(discriminator="kind"),
]


class NoSamplingConfig(_Section):
    """Every unit (record, or client) takes part in every round."""

    kind: Literal["none"] = "none"


class PoissonConfig(_Section):
    """Every unit takes part in a round with this probability, independently; the coins stay in the silo."""

    kind: Literal["poisson"]
    probability: Probability


SamplingConfig = Annotated[NoSamplingConfig | PoissonConfig, Field(discriminator="kind")]


class SmoothingConfig(_Section):
    """Laplacian smoothing of the aggregate with strength ``sigma``, on a cycle or a chain of weights."""

    graph: Literal["cycle", "chain"] = "cycle"
    sigma: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class _ServerSection(_Section):
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
    momentum: Annotated[float, Field(ge=0, lt=1)] = 0.9


class AdaptiveConfig(_ServerSection):
    """Adagrad, Adam or Yogi on the server (Reddi et al. 2021)."""

    kind: Literal["adagrad", "adam", "yogi"]
    first_decay: Annotated[float, Field(ge=0, lt=1)] = 0.9
    second_decay: Annotated[float, Field(ge=0, lt=1)] = 0.99
    adaptivity: Positive = 1e-3


ServerConfig = Annotated[AveragingConfig | MomentumConfig | AdaptiveConfig, Field(discriminator="kind")]


class TrainingConfig(_Section):
    """How the model is trained."""

    rounds: Count
    local: LocalConfig
    sampling: SamplingConfig = NoSamplingConfig()
    server: ServerConfig = AveragingConfig()


# --- [privacy], [aggregation], [run] -----------------------------------------------------------------------


class PrivacyConfig(_Section):
    """What must be guaranteed: a target (ε, δ), or a fixed ``noise_multiplier`` instead of ``epsilon``.

    The target holds against the strongest adversary of the plan: the server together with
    ``aggregation.max_colluding`` silos, when only ``aggregation.min_survivors`` silos survive. A CONDITIONAL
    analysis is used only if its assumption is named in ``accept_assumptions``.
    """

    unit: Literal["record", "client"] = "record"
    epsilon: Positive | None = None
    noise_multiplier: Positive | None = None
    delta: Annotated[float, Field(gt=0, lt=1)]
    mechanism: Literal["rounded-gaussian", "discrete-gaussian", "skellam"] = "rounded-gaussian"
    clip_norm: Positive | None = None
    accept_assumptions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_of(self) -> PrivacyConfig:
        if (self.epsilon is None) == (self.noise_multiplier is None):
            raise ValueError("exactly one of 'epsilon' and 'noise_multiplier' must be given")
        return self


class AggregationConfig(_Section):
    """How integers are summed, and whom the sum must withstand.

    Attributes:
        protocol: ``ideal`` is an oracle for tests and research: it protects nothing from the server.
        mode: whether the server may lie (one more exchange a round) or only look.
        min_survivors: fewer, and no silo helps to unmask; left out, every silo must survive.
        max_colluding: silos that may share their noise and keys with the server.
        bits: width of the ring; "auto" is the smallest in which no sum can wrap around.
        rotation: spread every update evenly by a public random rotation, for a narrower ring; a sum then
            wraps around with probability at most 2^-40 over the whole training.
    """

    protocol: Literal["bonawitz", "bell", "ideal"] = "bonawitz"
    mode: Literal["malicious", "semi-honest"] = "malicious"
    min_survivors: Annotated[int, Field(ge=2)] | None = None
    max_colluding: Annotated[int, Field(ge=0)] = 0
    bits: Annotated[int, Field(ge=8, le=62)] | Literal["auto"] = "auto"
    rotation: bool = False


class Dropout(_Section):
    """A rehearsed failure: ``silo`` disappears in ``round`` before it sends the message of ``stage``."""

    silo: str
    round: Count
    stage: Literal["advertise", "share", "mask", "confirm", "unmask"] = "mask"


class RunConfig(_Section):
    """How this machine carries the plan out. Nothing here may change the guarantee.

    Attributes:
        seed: makes a simulation reproducible; whoever knows it can remove the noise, and the report says so.
        evaluate: measure the model on held-out records after every round; these numbers are not private.
        compare: also train without privacy, pooled and alone; never released, for the price of privacy.
        dropouts: rehearsed failures; simulation only.
    """

    seed: Annotated[int, Field(ge=0)] | None = None
    evaluate: bool = True
    compare: bool = False
    dropouts: tuple[Dropout, ...] = ()


class Config(_Section):
    """The whole file."""

    name: str = "training"
    data: DataConfig
    model: ModelConfig = ModelConfig()
    training: TrainingConfig
    privacy: PrivacyConfig
    aggregation: AggregationConfig = AggregationConfig()
    run: RunConfig = RunConfig()
