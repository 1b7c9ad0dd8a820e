"""Which preparation a plan has, and the plan of questions of its release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.config import Config, parse_config
from discreet.kinds import Asked
from discreet.kinds.model_facts import answers_facts
from discreet.kinds.preparation import CentreConfig, PreparationConfig, ProjectConfig, StandardiseConfig
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.asked import asked_blocks
from discreet.plan.centring import Centring
from discreet.plan.facts import FederationFacts, federation_facts, record_capacities
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
}


def preparation_of(config: Config, facts: FederationFacts) -> Preparation:
    """Returns how a training prepares its records.

    Raises:
        ValueError: if it does not.
    """
    stated = config.data.preparation
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
    share = 1.0 if config.data.preparation is None else config.data.preparation.share
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
    stated = config.data.preparation
    return "'data'" if stated is None else f"'data.{stated.key}'"


def preparation_facts(config: Config, facts: FederationFacts) -> FederationFacts:
    """Returns the public facts of a preparation: those of the training, with the numbers of its answers.

    Args:
        config: of the preparation, as `preparation_config` returns it.
        facts: of the training.
    """
    return federation_facts(
        facts.silos,
        feature_shape=facts.feature_shape,
        num_classes=facts.num_classes,
        feature_norm_bound=facts.feature_norm_bound,
        model=answers_facts(Asked(asked_blocks(config) or ()).dimension),
    )


def preparation_text(plan: Plan) -> str:
    """Says what the release before the first round asks, and what it spends."""
    asked, stated = plan.preparation, plan.data.preparation
    if asked is None or stated is None:
        raise ValueError("a plan must prepare records for that to be told")
    done = preparation_of(plan.config, plan.facts).describe(asked.facts.dimension)
    return (
        f"{done} in one sum before round 1; {100 * stated.share:g} % of the budget (of μ²), noise multiplier "
        f"{asked.noise_multiplier:.4g}"
    )
