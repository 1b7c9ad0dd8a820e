"""From config to training: the same value is accounted, and run."""

from __future__ import annotations

from functools import lru_cache

from discreet.config import Config
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import LocalConfig, QuantileNormConfig, SiloSetting, SiloTraining, following
from discreet.plan.facts import FederationFacts
from discreet.plan.failures import rare


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
        feature_norm_bound=facts.feature_norm_bound,
        guard_prob=rare(config, config.training.planned_rounds),
        outputs=facts.outputs,
        linear=facts.linear,
    )


@lru_cache(maxsize=1024)
def local_training(local: LocalConfig, setting: SiloSetting) -> SiloTraining:
    """Returns the local training of a silo, as of the first round.

    Raises:
        ConfigurationError: if the kind, the model and the other settings do not fit together.
    """
    training = local.planned(setting)
    match setting.norm:
        case QuantileNormConfig() as norm:
            return following(training, norm.rule(), kind=setting.kind)
        case _:
            return training
