"""Which preparation a plan has, and the plan of questions of its release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.config import Config, parse_config
from discreet.kinds.preparation import (
    CentreConfig,
    ClassWeightsConfig,
    PreparationConfig,
    ProjectConfig,
    StandardiseConfig,
)
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.balancing import Balancing
from discreet.plan.centring import Centring
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.preparation import Preparation, whole_multiplier
from discreet.plan.projecting import Projecting
from discreet.plan.standardising import Standardising
from discreet.plan.training import silos_of_a_unit

if TYPE_CHECKING:
    from discreet.plan.plan import Plan

_KINDS: Mapping[type[PreparationConfig], type[Preparation]] = {
    StandardiseConfig: Standardising,
    CentreConfig: Centring,
    ProjectConfig: Projecting,
    ClassWeightsConfig: Balancing,
}


def preparation_of(config: Config, facts: FederationFacts) -> Preparation:
    """Returns how a training prepares its records.

    Raises:
        ValueError: if it does not.
    """
    stated = config.preparation
    if stated is None:
        raise ValueError("a config must say what is prepared for it to be planned")
    return _KINDS[type(stated)](config, facts)


def preparation_config(config: Config, facts: FederationFacts) -> Config:
    """Returns the questions that a preparation asks of the records that are trained on.

    Its noise leaves the training 1 - share of μ², the budget as Gaussian privacy (Dong, Roth and Su 2022):
    the multiplier is that of the whole budget over √share. What both spend together is worked out exactly,
    whatever this split.

    Raises:
        ConfigurationError: if it does not suit the records, or the training has no target.
    """
    kind = preparation_of(config, facts)
    kind.require_suitable()
    share = 1.0 if config.preparation is None else config.preparation.share
    multiplier = whole_multiplier(config) * silos_of_a_unit(config) / math.sqrt(share)
    shares = plan_thresholds(config, len(facts.silos)).honest_survivors

    def noise(questions: int) -> float:
        # One of q questions gets 1/√q of the sensitivity.
        return multiplier * math.sqrt(questions * len(facts.silos) / shares)

    privacy = config.privacy
    tables: dict[str, Any] = {
        "name": config.name,
        "ask": list(kind.questions(noise, sum(record_capacities(config, facts.silos)))),
        "data": config.data.model_dump(mode="json", exclude_none=True) | {"asked": "training"},
        "privacy": {
            "unit": privacy.unit,
            "noise_multiplier": multiplier,
            "delta": privacy.delta,
            "against": privacy.against,
            "accept_assumptions": list(privacy.accept_assumptions),
        },
        "aggregation": config.aggregation.model_dump(exclude={"bits", "rotation", "noise_first"}),
    }
    return parse_config(tables, source=stated_key(config))


def stated_key(config: Config) -> str:
    """Returns the key that states a preparation, as messages name it."""
    stated = config.preparation
    return "'data'" if stated is None else stated.path


def preparation_text(plan: Plan) -> str:
    """Says what the release before the first round asks, and what it spends."""
    asked, stated = plan.preparation, plan.config.preparation
    if asked is None or stated is None:
        raise ValueError("a plan must prepare records for that to be told")
    done = preparation_of(plan.config, plan.facts).describe(asked.facts.dimension)
    return (
        f"{done} in one sum before round 1; {100 * stated.share:g} % of the budget (of μ²), noise multiplier "
        f"{asked.noise_multiplier:.4g}"
    )
