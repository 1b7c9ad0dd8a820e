"""From config to training objects: the same objects that run are the ones that are accounted."""

from __future__ import annotations

from torch import nn

from discreet.config import Config
from discreet.encoding import StepWeights, planned_weights
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import NoisyStepsConfig, QuantileNormConfig, SiloSetting
from discreet.learning import ClippedUpdate, QuantileClipped, QuantileClipping, SingleStep, planned
from discreet.plan.facts import FederationFacts
from discreet.plan.failures import rare
from discreet.plan.footprint import SiloTraining


def silo_setting(config: Config, facts: FederationFacts, capacity: int) -> SiloSetting:
    """Returns the public setting of a silo that holds at most ``capacity`` records.

    Raises:
        ConfigurationError: if unit and local kind do not fit together.
    """
    local, privacy = config.training.local, config.privacy
    if privacy.unit != local.unit.value:
        raise ConfigurationError(
            f"'privacy.unit' must be {local.unit.value!r} for {local.kind}; got {privacy.unit!r}. Change the "
            "unit or the local kind.",
            see=HowTo.LOCAL_KIND,
        )
    return SiloSetting(
        kind=local.kind,
        model=config.model.name,
        capacity=capacity,
        sampling=config.training.sampling,
        norm=privacy.clip_norm,
        feature_shape=facts.feature_shape,
        feature_norm_bound=facts.feature_norm_bound,
        guard_prob=rare(config, config.training.rounds),
    )


def local_training(config: Config, model: nn.Module, setting: SiloSetting) -> SiloTraining:
    """Returns the local training of a silo, as of the first round.

    Raises:
        ConfigurationError: if the kind, the model and the other settings do not fit together.
    """
    training = planned(config.training.local, setting, model)
    rule = quantile_clipping(config)
    if rule is None:
        return training
    if not isinstance(training, SingleStep | ClippedUpdate):
        raise ConfigurationError(
            "'privacy.clip_norm' can follow a quantile with single-step (record) or clipped-update (client); "
            f"got {setting.kind}. Use one of these, or give the norm as a number.",
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


def step_weights(config: Config) -> StepWeights | None:
    """Returns the integer weights of noisy local steps, or None for kinds that send one rounded vector."""
    match config.training.local:
        case NoisyStepsConfig() as local:
            return planned_weights(local.rates, local.exact_momentum)
        case _:
            return None
