"""From config to training: the same value is accounted, and run."""

from __future__ import annotations

import math
from functools import lru_cache

from discreet.config import Config
from discreet.config.model import LossConfig
from discreet.data.labels import NUMBER
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import LocalConfig, QuantileClipping, SiloSetting, SiloTraining, following
from discreet.kinds.model_facts import ORDINAL
from discreet.kinds.persons import PersonWeights
from discreet.kinds.questions import EvaluationQuestion
from discreet.kinds.stated_loss import StatedLoss
from discreet.plan.asked import asked_blocks, require_shape
from discreet.plan.facts import FederationFacts
from discreet.plan.failures import rare
from discreet.privacy.units import Unit

# Far from where float64 loses relative precision: an update is divided by the factor of its round.
_LEAST_RATE = 2.0**-64


def silo_setting(config: Config, facts: FederationFacts, capacity: int) -> SiloSetting:
    """Returns the public setting of a silo without settings of its own, of at most ``capacity`` records.

    Raises:
        ConfigurationError: if unit and local kind do not fit together.
    """
    local, privacy = config.training.local, config.privacy
    if Unit(privacy.unit) not in local.units:
        raise ConfigurationError(
            f"'privacy.unit' must be {' or '.join(unit.value for unit in local.units)} for {local.kind}; got "
            f"{privacy.unit}. Change the unit or the local kind.",
            see=HowTo.LOCAL_KIND,
        )
    own = config.model.loss
    if own is not None and not (local.takes_own_loss and facts.linear):
        raise ConfigurationError(
            "'model.loss' must be left out but for a linear model under stable-steps; the model is "
            f"{config.model.name!r} under {local.kind}."
        )
    number = _is_number(config, facts)
    require_shape(config.data, facts.feature_shape, facts.num_classes)
    for question in config.ask or ():
        if isinstance(question, EvaluationQuestion):
            question.require_of(facts.silos, math.prod(config.data.model_shape(facts.feature_shape)))
    person, persons = config.data.person, None
    if person is not None:
        persons = PersonWeights(person.most_records, over_records=person.average_over == "records")
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
        persons=persons,
        own_loss=None if own is None else stated_loss(own, facts.outputs),
        asked=asked_blocks(config),
        number=number,
        ordinal=_is_ordinal(config, facts),
        several=_has_several(config, facts),
        batch_norm=facts.batch_norm_channels > 0,
    )


def _is_number(config: Config, facts: FederationFacts) -> bool:
    """Says whether the label is a number.

    Raises:
        ConfigurationError: if config and facts differ in that, or no loss is proven for what is to train.
    """
    number = config.data.label_range is not None
    if number != (facts.num_classes == NUMBER):
        raise ConfigurationError(
            "'facts.num_classes' must be 1 where 'data.label_range' is given, and at least 2 elsewhere; got "
            f"{facts.num_classes}."
        )
    if not number:
        return False
    local = config.training.local
    if not (local.takes_own_loss and facts.linear and facts.outputs == 1):
        raise ConfigurationError(
            "'data.label_range' must be with a linear model of one output under stable-steps, for which "
            f"regression is proven; the model is {config.model.name!r} under {local.kind}. Change them, or "
            "state classes.",
            see=HowTo.LOCAL_KIND,
        )
    if config.model.loss is not None:
        raise ConfigurationError(
            "'model.loss' must be left out where 'data.label_range' is given: a regression has Huber's loss, "
            "whose threshold is training.local.residual_cap."
        )
    return True


def _is_ordinal(config: Config, facts: FederationFacts) -> bool:
    """Says whether the classes are levels in an order.

    Raises:
        ConfigurationError: if no loss is proven for what is to train.
    """
    if config.model.name != ORDINAL:
        return False
    if not (config.training.local.takes_own_loss and facts.linear) or config.model.loss is not None:
        raise ConfigurationError(
            f"'model.name' {ORDINAL!r} must be with stable-steps and without a loss of your own, for it has "
            f"one; the local kind is {config.training.local.kind}. Change them, or use another model.",
            see=HowTo.LOCAL_KIND,
        )
    return True


def _has_several(config: Config, facts: FederationFacts) -> bool:
    """Says whether a record has several labels.

    Raises:
        ConfigurationError: if config and facts differ in that, or no loss is proven for what is to train.
    """
    labels = config.data.several
    if not labels or config.ask is not None:
        return False
    if (facts.outputs, facts.num_classes) != (labels, 1 << labels):
        raise ConfigurationError(
            f"'facts' must be of a model with {labels} outputs, one for each label, and {1 << labels} "
            f"combinations as classes; got {facts.outputs} and {facts.num_classes}. Plan again."
        )
    way = "Train one label, or leave it out."
    refused = {
        "model.name": (config.model.name == ORDINAL, "Train one label, or use another model."),
        "model.loss": (config.model.loss is not None, way),
        "evaluate": (config.evaluate is not None, f"{way} `discreet evaluate` measures each label then."),
    }
    for key, (given, instead) in refused.items():
        if given:
            raise ConfigurationError(
                f"{key!r} must not be given where there are several labels: nothing is proven for both "
                f"together. {instead}"
            )
    return True


def stated_loss(own: LossConfig, outputs: int) -> StatedLoss:
    """Returns the loss that a config states; its function is not imported."""
    return StatedLoss(own.function, outputs, own.residual_norm, own.curvature)


def silos_of_a_unit(config: Config) -> int:
    """Returns at how many silos one protected unit may hold records, as the plan assumes."""
    return 1 if config.data.person is None else config.data.person.most_silos


def local_training(local: LocalConfig, setting: SiloSetting, round_index: int = 0) -> SiloTraining:
    """Returns the local training of a silo in a round, from 0, at the clipping norm of the first.

    Raises:
        ConfigurationError: if the kind, the model and the other settings do not fit together.
    """
    training, factor = _of_first_round(local, setting), local.rate_factor(round_index)
    return training if factor == 1.0 else training.at_rate(factor)


def require_rates(local: LocalConfig, setting: SiloSetting, rounds: int) -> None:
    """Refuses a decay after which the last of so many rounds has no rate left to speak of.

    Raises:
        ConfigurationError: if it is below 2^-64 of the first one, or no number.
    """
    left = local.rate_factor(rounds - 1)
    if not left >= _LEAST_RATE:
        raise ConfigurationError(
            f"'training.local.decay' must leave at least 2^-64 of the learning rate after {rounds} rounds; "
            f"it leaves {left:.3g}. Use a slower decay, or fewer rounds."
        )
    local_training(local, setting, rounds - 1)


@lru_cache(maxsize=1024)
def _of_first_round(local: LocalConfig, setting: SiloSetting) -> SiloTraining:
    training = local.planned(setting)
    match setting.norm:
        case QuantileClipping() as norm:
            return following(training, norm, kind=setting.kind)
        case _:
            return training
