"""From config to training objects: the same objects that run are the ones that are accounted."""

from __future__ import annotations

import math
from fractions import Fraction

from torch import nn

from discreet.config.sections import (
    AutomaticStyle,
    ClippedUpdateConfig,
    Config,
    FixedSizeConfig,
    FlatStyle,
    NoisyStepsConfig,
    NoSamplingConfig,
    PerLayerStyle,
    PoissonConfig,
    QuantileNormConfig,
    ShardedConfig,
    SingleStepConfig,
    StableStepsConfig,
    StyleConfig,
    TangentStepsConfig,
)
from discreet.encoding import StepWeights, planned_weights
from discreet.errors import ConfigurationError, HowTo
from discreet.learning import (
    ClippedUpdate,
    LocalSgd,
    NoisySteps,
    QuantileClipped,
    QuantileClipping,
    Sharded,
    SingleStep,
    StableSteps,
    TangentSteps,
)
from discreet.learning.clipping.shapes import ExpectedBatch
from discreet.learning.clipping.styles import Automatic, ClippingStyle, Flat, PerLayer
from discreet.learning.float_error import require_summable
from discreet.models import convexity
from discreet.models.capped import capped
from discreet.models.outputs import loss_on_outputs
from discreet.plan.facts import FederationFacts
from discreet.plan.failures import rare
from discreet.plan.footprint import SiloTraining
from discreet.privacy.units import Unit
from discreet.sampling import FixedSize, Poisson


def sampling_probability(config: Config) -> float:
    """Returns the probability with which a unit (a record, or a client) enters a round."""
    match config.training.sampling:
        case NoSamplingConfig():
            return 1.0
        case PoissonConfig(probability=probability):
            return probability
        case FixedSizeConfig():
            raise ConfigurationError(
                f"'training.sampling' must be none or poisson for {config.training.local.kind}; got "
                "fixed-size, which is for single-step: a server that drew clients would know who takes part, "
                "and local steps and shards need independent coins.",
                see=HowTo.SAMPLING,
            )


def record_sampler(config: Config, capacity: int) -> Poisson | FixedSize:
    """Returns how a silo of ``capacity`` records draws the batch of one clipped sum.

    Raises:
        ConfigurationError: if a fixed share of the records is less than one.
    """
    match config.training.sampling:
        case FixedSizeConfig(fraction=fraction):
            # The decimal number that the user wrote, exactly: 0.29 of 100 records are 29.
            size = math.floor(Fraction(str(fraction)) * capacity)
            if not size >= 1:
                raise ConfigurationError(
                    f"'training.sampling.fraction' must be at least one record in each silo; got {fraction} "
                    f"of {capacity}. Raise it, or use poisson sampling, where a round may take none.",
                    see=HowTo.SAMPLING,
                )
            return FixedSize(size, capacity)
        case _:
            return Poisson(sampling_probability(config))


def expected_batch(config: Config, capacity: int) -> float:
    """Returns how many of a full silo's records a round's clipped sum takes, on average; a public number."""
    sampler = record_sampler(config, capacity)
    return float(sampler.sample_size) if isinstance(sampler, FixedSize) else sampler.prob * capacity


def _expected(config: Config, capacity: int) -> ExpectedBatch:
    """Returns the law of the size of a full silo's batch, as far as the length of chunks needs it."""
    sampler, mean = record_sampler(config, capacity), expected_batch(config, capacity)
    return ExpectedBatch(
        mean, 0.0 if isinstance(sampler, FixedSize) else math.sqrt(mean * (1.0 - sampler.prob))
    )


def local_training(config: Config, facts: FederationFacts, model: nn.Module, capacity: int) -> SiloTraining:
    """Returns the local training of a silo that holds at most ``capacity`` records, as of the first round.

    Raises:
        ConfigurationError: if the kind, the unit and the other settings do not fit together.
    """
    training, rule = _kind(config, facts, model, capacity), quantile_clipping(config)
    if rule is None:
        return training
    if not isinstance(training, SingleStep | ClippedUpdate):
        raise ConfigurationError(
            "'privacy.clip_norm' can follow a quantile with single-step (record) or clipped-update (client); "
            f"got {config.training.local.kind}. Use one of these, or give the norm as a number.",
            see=HowTo.CLIP_NORM,
        )
    return QuantileClipped(training, rule)


def quantile_clipping(config: Config) -> QuantileClipping | None:
    """Returns the rule by which the clipping norm moves; None if it is fixed, or nothing is clipped."""
    match config.privacy.clip_norm:
        case QuantileNormConfig() as norm:
            return QuantileClipping(norm.initial, norm.quantile, norm.weight, norm.learning_rate)
        case _:
            return None


def _kind(config: Config, facts: FederationFacts, model: nn.Module, capacity: int) -> SiloTraining:
    """Returns what the [training.local] table names, at the norm of the first round."""
    _require_unit(config)
    match config.training.local:
        case SingleStepConfig() as local:
            return SingleStep(
                clip_norm=_clip_norm(config),
                sampler=record_sampler(config, capacity),
                projection_radius=_clip_norm(config) * batch_bound(config, capacity),
                style=_style(local.style),
                expected=_expected(config, capacity),
            )
        case ClippedUpdateConfig() as local:
            return ClippedUpdate(
                clip_norm=_clip_norm(config),
                learning_rate=local.learning_rate,
                batch_size=local.batch_size,
                epochs=local.epochs,
                momentum=local.momentum,
                weight_decay=local.weight_decay,
                project_steps=local.project_steps,
                sampling_prob=sampling_probability(config),
            )
        case ShardedConfig() as local:
            return _sharded(config, local, capacity)
        case NoisyStepsConfig() as local:
            require_summable(capacity)
            return NoisySteps(
                clip_norm=_clip_norm(config),
                rates=_step_rates(local),
                momentum=Fraction(str(local.momentum)),
                sampling_prob=sampling_probability(config),
                style=_style(local.style),
                expected=_expected(config, capacity),
            )
        case StableStepsConfig() as local:
            return _stable_steps(config, local, facts, model, capacity)
        case TangentStepsConfig() as local:
            return _tangent_steps(config, local, facts, model, capacity)


def _sharded(config: Config, local: ShardedConfig, capacity: int) -> Sharded:
    return Sharded(
        clip_norm=_clip_norm(config),
        num_shards=local.num_shards,
        local=LocalSgd(
            learning_rate=local.learning_rate,
            batch_size=local.batch_size,
            epochs=local.epochs,
            momentum=local.momentum,
            weight_decay=local.weight_decay,
        ),
        sampling_prob=sampling_probability(config),
        projection_radius=_clip_norm(config) * batch_bound(config, min(local.num_shards, capacity)),
    )


def _style(style: StyleConfig) -> ClippingStyle:
    match style:
        case FlatStyle():
            return Flat()
        case PerLayerStyle(shares=shares):
            return PerLayer(shares)
        case AutomaticStyle(stability=stability):
            return Automatic(stability)


def batch_bound(config: Config, capacity: int) -> float:
    """Returns a public size that a round's batch almost never exceeds, for the ring's sake.

    Updates are projected onto the ball that so many records can reach. A projection keeps every sensitivity,
    so this concerns the width of the ring and not the guarantee; ten standard deviations are above the mean.
    """
    if isinstance(config.training.sampling, FixedSizeConfig):
        return expected_batch(config, capacity)
    mean = sampling_probability(config) * capacity
    return min(float(capacity), mean + 10.0 * math.sqrt(mean) + 10.0)


def step_weights(config: Config) -> StepWeights | None:
    """Returns the integer weights of noisy local steps, or None for kinds that send one rounded vector."""
    match config.training.local:
        case NoisyStepsConfig() as local:
            return planned_weights(_step_rates(local), Fraction(str(local.momentum)))
        case _:
            return None


def _step_rates(local: NoisyStepsConfig) -> tuple[Fraction, ...]:
    """Returns the decimal number that the user wrote, exactly, once for each step."""
    return (Fraction(str(local.learning_rate)),) * local.steps


def _stable_steps(
    config: Config, local: StableStepsConfig, facts: FederationFacts, model: nn.Module, capacity: int
) -> StableSteps:
    head = convexity(model)
    if head is None:
        raise ConfigurationError(
            "'training.local' stable-steps must train a convex model (a logistic or softmax head); "
            f"{config.model.name!r} is not one. Use tangent-steps or single-step (record), or clipped-update "
            "(client).",
            see=HowTo.LOCAL_KIND,
        )
    if facts.feature_norm_bound is None:
        raise ConfigurationError(
            "stable-steps needs features of publicly bounded norm; this data source states none. "
            "Give 'data.ranges', or use single-step.",
            see=HowTo.DATA,
        )
    if config.privacy.clip_norm is not None:
        raise ConfigurationError(
            "'privacy.clip_norm' must be left out with stable-steps: its sensitivity follows from the model "
            "and the learning rate, and nothing is clipped."
        )
    loss = capped(head, local.residual_cap)
    return StableSteps(
        learning_rate=local.learning_rate,
        steps=_step_count(local, capacity),
        sampling_prob=sampling_probability(config),
        record_capacity=capacity,
        loss=loss,
        norm_bound=facts.feature_norm_bound,
        projection_radius=_largest_move(config, local, loss.lipschitz(facts.feature_norm_bound), capacity),
        passes=local.passes,
        guard_prob=rare(config, config.training.rounds),
        l2_regulariser=local.l2_regulariser,
    )


def _tangent_steps(
    config: Config, local: TangentStepsConfig, facts: FederationFacts, model: nn.Module, capacity: int
) -> TangentSteps:
    loss = capped(loss_on_outputs(model, facts.feature_shape), local.residual_cap)
    clip_norm = _clip_norm(config)
    return TangentSteps(
        loss=loss,
        norm_bound=clip_norm,
        learning_rate=local.learning_rate,
        steps=_step_count(local, capacity),
        record_capacity=capacity,
        sampling_prob=sampling_probability(config),
        passes=local.passes,
        projection_radius=_largest_move(config, local, loss.lipschitz(clip_norm), capacity),
        guard_prob=rare(config, config.training.rounds),
    )


def _largest_move(
    config: Config, local: StableStepsConfig | TangentStepsConfig, lipschitz: float, capacity: int
) -> float:
    """Bounds how far the records of one round move the weights; the update is projected onto that ball."""
    return local.passes * local.learning_rate * lipschitz * batch_bound(config, capacity)


def _step_count(local: StableStepsConfig | TangentStepsConfig, capacity: int) -> int:
    if local.steps is not None:
        return local.steps
    return max(1, -(-capacity // (local.records_per_step or 1)))


def _require_unit(config: Config) -> None:
    unit = Unit.CLIENT if isinstance(config.training.local, ClippedUpdateConfig) else Unit.RECORD
    if config.privacy.unit != unit.value:
        raise ConfigurationError(
            f"'privacy.unit' must be {unit.value!r} for {config.training.local.kind}; "
            f"got {config.privacy.unit!r}. Change the unit or the local kind.",
            see=HowTo.LOCAL_KIND,
        )


def _clip_norm(config: Config) -> float:
    """Returns the clipping norm of the first round."""
    match config.privacy.clip_norm:
        case None:
            raise ConfigurationError(
                f"'privacy.clip_norm' must be given for {config.training.local.kind}; it is missing."
            )
        case QuantileNormConfig(initial=initial):
            return initial
        case number:
            return number
