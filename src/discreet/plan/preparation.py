"""What is asked of the training records before the first round: a plan of questions of one release."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from discreet.accounting import calibrate
from discreet.config import Config, parse_config
from discreet.data.standard import Place
from discreet.errors import ConfigurationError
from discreet.kinds.preparation import MOST_BINS, StandardiseConfig
from discreet.kinds.questions import MOST_QUESTIONS
from discreet.kinds.variables import Number
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.asked import variables
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.training import silos_of_a_unit
from discreet.privacy.events import GaussianNoise, Release

if TYPE_CHECKING:
    from discreet.plan.plan import Plan

_FEWEST_BINS = 8
_SMALLEST, _LARGEST = 1e-3, 1e6


def preparation_config(config: Config, facts: FederationFacts) -> Config:
    """Returns the questions of a preparation: a histogram of every number that the training reads.

    Its noise leaves the training 1 - share of μ², the budget as Gaussian privacy (Dong, Roth and Su 2022):
    the multiplier is that of the whole budget over √share. What both spend together is worked out exactly,
    whatever this split.

    Raises:
        ConfigurationError: if the training has no number on a public range, or too many, or no target.
    """
    stated, columns = _stated(config), _numbers(config)
    if facts.feature_norm_bound is None or config.data.transform is not None:
        raise ConfigurationError(
            "'data.standardise' must be for the columns of a table, whose records are scaled to a norm; got "
            f"{config.data.transform or 'records of any length'}."
        )
    if len(columns) > MOST_QUESTIONS:
        raise ConfigurationError(
            f"'data.standardise' must be of at most {MOST_QUESTIONS} columns of 'ranges' and 'dates', which "
            f"share one noisy sum; got {len(columns):,}. Leave it out and state narrower ranges by public "
            "knowledge, or name fewer columns."
        )
    multiplier = whole_multiplier(config) * silos_of_a_unit(config) / math.sqrt(stated.share)
    shares = plan_thresholds(config, len(facts.silos)).honest_survivors
    # What a count of a sum of all silos has; a column of p gets 1/√p of the sensitivity.
    noise = multiplier * math.sqrt(len(columns) * len(facts.silos) / shares)
    units = sum(record_capacities(config, facts.silos))
    # Odd, so that no edge is in the middle of a range.
    bins = max(_FEWEST_BINS, min(MOST_BINS, int(units / (2.0 * noise)))) // 2 * 2 + 1
    privacy = config.privacy
    tables: dict[str, Any] = {
        "name": config.name,
        "ask": [{"kind": "table", "of": [name], "bins": {name: bins}} for name in columns],
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
    return parse_config(tables, source="'data.standardise'")


def whole_multiplier(config: Config) -> float:
    """Returns the noise multiplier at which one release would spend the whole budget of a config.

    Raises:
        ConfigurationError: if it states no target.
    """
    if config.privacy.epsilon is None:
        raise ConfigurationError(
            "'privacy.epsilon' must be given with 'data.standardise', which gets a share of it; got a noise "
            "multiplier."
        )
    return calibrate(
        lambda z: Release(GaussianNoise(z), 1.0, dimension=1),
        epsilon=config.privacy.epsilon,
        delta=config.privacy.delta,
        lower=_SMALLEST,
        upper=_LARGEST,
    )


def remaining(config: Config) -> float:
    """Returns which part of μ² is left for the training: all of it where nothing is prepared."""
    return 1.0 if config.data.standardise is None else 1.0 - config.data.standardise.share


def places(plan: Plan) -> tuple[Place, ...]:
    """Returns where features hold the numbers that a training standardises, in the order of its questions."""
    return tuple(Place(number.place, number.missing) for number in _numbers(plan.config).values())


def standardising(plan: Plan) -> StandardiseConfig:
    """Returns what a plan says of its preparation."""
    return _stated(plan.config)


def preparation_text(plan: Plan) -> str:
    """Says what the release before the first round asks, and what it spends."""
    asked = plan.preparation
    if asked is None:
        raise ValueError("a plan must prepare records for that to be told")
    columns, bins = len(asked.questions), asked.facts.dimension // len(asked.questions) - 1
    numbers = "a number" if columns == 1 else f"{columns} numbers"
    share = f"{100 * standardising(plan).share:g} %"
    return (
        f"standardise {numbers}, by histograms of {bins} bins in one sum before round 1; {share} of the "
        f"budget (of μ²), noise multiplier {asked.noise_multiplier:.4g}"
    )


def _numbers(config: Config) -> dict[str, Number]:
    """Returns the numbers of a table, by column, in the order of features.

    Raises:
        ConfigurationError: if there is none.
    """
    data = config.data.model_copy(update={"asked": "training"})
    found = {name: one for name, one in variables(data).items() if isinstance(one, Number)}
    if not found:
        raise ConfigurationError(
            "'data.standardise' must be with columns of 'ranges' or 'dates' that are not in 'bins', for it "
            "starts from public ranges; there is none."
        )
    return found


def _stated(config: Config) -> StandardiseConfig:
    if config.data.standardise is None:
        raise ValueError("a config must say what is prepared for it to be planned")
    return config.data.standardise
