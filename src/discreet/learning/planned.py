"""From the table of a kind to the training that runs: the same objects run and are accounted."""

from __future__ import annotations

from torch import nn

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import (
    AutomaticStyle,
    ClippedUpdateConfig,
    FlatStyle,
    LocalConfig,
    NoisyStepsConfig,
    PerLayerStyle,
    ShardedConfig,
    SiloSetting,
    SingleStepConfig,
    StableStepsConfig,
    StyleConfig,
    TangentStepsConfig,
)
from discreet.learning.clipped_update import ClippedUpdate
from discreet.learning.clipping.shapes import ExpectedBatch
from discreet.learning.clipping.styles import Automatic, ClippingStyle, Flat, PerLayer
from discreet.learning.contract import LocalTraining
from discreet.learning.float_error import require_summable
from discreet.learning.local_sgd import LocalSgd
from discreet.learning.noisy_steps import NoisySteps
from discreet.learning.sharded import Sharded
from discreet.learning.single_step import SingleStep
from discreet.learning.stable_steps import StableSteps
from discreet.learning.tangent_steps import TangentSteps
from discreet.models import convexity
from discreet.models.capped import capped
from discreet.models.outputs import loss_on_outputs


def planned(local: LocalConfig, setting: SiloSetting, model: nn.Module) -> LocalTraining | NoisySteps:
    """Returns the training that ``local`` names, at the clipping norm of the first round.

    Raises:
        ConfigurationError: if table, setting and model do not fit together.
    """
    match local:
        case SingleStepConfig():
            return _single_step(local, setting)
        case ClippedUpdateConfig():
            return _clipped_update(local, setting)
        case ShardedConfig():
            return _sharded(local, setting)
        case NoisyStepsConfig():
            return _noisy_steps(local, setting)
        case StableStepsConfig():
            return _stable_steps(local, setting, model)
        case TangentStepsConfig():
            return _tangent_steps(local, setting, model)


def _single_step(local: SingleStepConfig, setting: SiloSetting) -> SingleStep:
    return SingleStep(
        clip_norm=setting.clip_norm,
        sampler=setting.sampling.sampler(setting.capacity),
        projection_radius=setting.clip_norm * setting.batch_bound,
        style=_style(local.style),
        expected=_expected(setting),
    )


def _clipped_update(local: ClippedUpdateConfig, setting: SiloSetting) -> ClippedUpdate:
    return ClippedUpdate(
        clip_norm=setting.clip_norm,
        learning_rate=local.learning_rate,
        batch_size=local.batch_size,
        epochs=local.epochs,
        momentum=local.momentum,
        weight_decay=local.weight_decay,
        project_steps=local.project_steps,
        sampling_prob=setting.share,
    )


def _sharded(local: ShardedConfig, setting: SiloSetting) -> Sharded:
    shards = min(local.num_shards, setting.capacity)
    return Sharded(
        clip_norm=setting.clip_norm,
        num_shards=local.num_shards,
        local=LocalSgd(
            learning_rate=local.learning_rate,
            batch_size=local.batch_size,
            epochs=local.epochs,
            momentum=local.momentum,
            weight_decay=local.weight_decay,
        ),
        sampling_prob=setting.share,
        projection_radius=setting.clip_norm * setting.sampling.batch_bound(shards),
    )


def _noisy_steps(local: NoisyStepsConfig, setting: SiloSetting) -> NoisySteps:
    require_summable(setting.capacity)
    return NoisySteps(
        clip_norm=setting.clip_norm,
        rates=local.rates,
        momentum=local.exact_momentum,
        sampling_prob=setting.share,
        style=_style(local.style),
        expected=_expected(setting),
    )


def _stable_steps(local: StableStepsConfig, setting: SiloSetting, model: nn.Module) -> StableSteps:
    head = convexity(model)
    if head is None:
        raise ConfigurationError(
            "'training.local' stable-steps must train a convex model (a logistic or softmax head); "
            f"{setting.model!r} is not one. Use tangent-steps or single-step (record), or clipped-update "
            "(client).",
            see=HowTo.LOCAL_KIND,
        )
    if setting.feature_norm_bound is None:
        raise ConfigurationError(
            "stable-steps needs features of publicly bounded norm; this data source states none. "
            "Give 'data.ranges', or use single-step.",
            see=HowTo.DATA,
        )
    if setting.norm is not None:
        raise ConfigurationError(
            "'privacy.clip_norm' must be left out with stable-steps: its sensitivity follows from the model "
            "and the learning rate, and nothing is clipped."
        )
    loss = capped(head, local.residual_cap)
    return StableSteps(
        learning_rate=local.learning_rate,
        steps=local.step_count(setting.capacity),
        sampling_prob=setting.share,
        record_capacity=setting.capacity,
        loss=loss,
        norm_bound=setting.feature_norm_bound,
        projection_radius=_largest_move(local, setting, loss.lipschitz(setting.feature_norm_bound)),
        passes=local.passes,
        guard_prob=setting.guard_prob,
        l2_regulariser=local.l2_regulariser,
    )


def _tangent_steps(local: TangentStepsConfig, setting: SiloSetting, model: nn.Module) -> TangentSteps:
    loss = capped(loss_on_outputs(model, setting.feature_shape), local.residual_cap)
    return TangentSteps(
        loss=loss,
        norm_bound=setting.clip_norm,
        learning_rate=local.learning_rate,
        steps=local.step_count(setting.capacity),
        record_capacity=setting.capacity,
        sampling_prob=setting.share,
        passes=local.passes,
        projection_radius=_largest_move(local, setting, loss.lipschitz(setting.clip_norm)),
        guard_prob=setting.guard_prob,
    )


def _largest_move(
    local: StableStepsConfig | TangentStepsConfig, setting: SiloSetting, lipschitz: float
) -> float:
    """Bounds how far the records of one round move the weights; the update is projected onto that ball."""
    return local.passes * local.learning_rate * lipschitz * setting.batch_bound


def _expected(setting: SiloSetting) -> ExpectedBatch:
    """Returns the law of the size of a full silo's batch, as far as the length of chunks needs it."""
    return ExpectedBatch(
        setting.sampling.expected(setting.capacity), setting.sampling.spread(setting.capacity)
    )


def _style(style: StyleConfig) -> ClippingStyle:
    match style:
        case FlatStyle():
            return Flat()
        case PerLayerStyle(shares=shares):
            return PerLayer(shares)
        case AutomaticStyle(stability=stability):
            return Automatic(stability)
