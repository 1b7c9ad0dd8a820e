"""Working out a plan: thresholds, then sensitivity, noise and grid together, then every guarantee."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from discreet.config import Config
from discreet.data.map_answers import is_own
from discreet.errors import ConfigurationError
from discreet.kinds import SiloSetting
from discreet.mechanisms import NoiseFamily
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.asked import asked_facts
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.guaranteed import against, rows
from discreet.plan.held_out import evaluation_config
from discreet.plan.noise import counts_and_noise, grids_and_noise
from discreet.plan.plan import Plan
from discreet.plan.prepared import preparation_config, stated_key
from discreet.plan.releases import Thresholds, against_server, most_setups
from discreet.plan.setting import Setting
from discreet.plan.silos import require_provable, sharing_of, training_of
from discreet.plan.stages import Asked, Stage, asked_stages
from discreet.plan.timetable import planned_sums, planned_timetable
from discreet.plan.training import require_rates, silo_setting
from discreet.plan.untuned import settled
from discreet.privacy.events import Event
from discreet.privacy.units import NeighboringRelation

# At the largest count a plan of a thousand silos takes about four seconds.
_MOST_SORTS = 50


def _require_as_many_silos(config: Config, facts: FederationFacts) -> None:
    person = config.data.person
    if person is not None and person.most_silos > len(facts.silos):
        raise ConfigurationError(
            "'data.person.most_silos' must be at most the number of silos; got "
            f"{person.most_silos} of {len(facts.silos)}."
        )


def _require_few_sorts(setting: Setting) -> None:
    """Refuses so many sorts of silo that whoever reads the plan would be kept busy accounting for each."""
    sorts = len(set(setting.own))
    if sorts > _MOST_SORTS:
        raise ConfigurationError(
            f"'silos' must lead to at most {_MOST_SORTS} sorts of silo, each with noise to account for; they "
            f"lead to {sorts}. Give more silos the same settings, capacity and pace."
        )


def make_plan(config: Config, facts: FederationFacts) -> Plan:
    """Works out the plan that a config and public facts ask for.

    Guarantee:
        The guarantee against the strongest adversary that ``privacy.against`` names (another member, or the
        server with ``max_colluding`` silos, ``min_survivors`` silos surviving) meets the config's (ε, δ);
        every other one is reported. Where held-out records are asked between rounds, that holds of a unit of
        either side, for the larger of the two ε (`counted.parts`).

    Raises:
        ConfigurationError: if something does not fit together; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    if config.data.asked == "training":
        raise ConfigurationError(
            "'data.asked' must not be \"training\" but in a preparation, which the plan makes; state "
            "'data.standardise'."
        )
    if facts.map_answers is not None and not is_own(config.data.transform or ""):
        raise ConfigurationError(
            "'facts.map_answers' must be left out where no map of one's own makes features; got answers with "
            f"'data.transform' {config.data.transform!r}. Plan again."
        )
    return _made(settled(config, facts), facts)


def _require_steppable(config: Config, facts: FederationFacts) -> None:
    """Refuses a model whose weights the server's rule cannot step."""
    rule = config.training.server
    if rule.num_weights not in (None, facts.dimension):
        raise ConfigurationError(
            f"'training.server' must describe the model's {facts.dimension} weights; got {rule.num_weights}. "
            "Give the shape of every trained array, in the order of model.parameters()."
        )
    if facts.batch_norm_channels and not rule.moves_statistics:
        raise ConfigurationError(
            f"'training.server.kind' must not be \"{rule.kind}\" for a model with batch norm, whose running "
            "statistics have no direction of descent. Use another rule, or group norm."
        )


def _made(config: Config, facts: FederationFacts) -> Plan:
    """Works out the plan of settings that are settled."""
    _require_as_many_silos(config, facts)
    _require_steppable(config, facts)
    preparation = _preparation(config, facts)
    thresholds = plan_thresholds(config, len(facts.silos))
    capacities = record_capacities(config, facts.silos)
    require_provable(config, facts.silos)
    asked = asked_stages(config)
    settings = _settings(config, asked, facts, capacities, thresholds)
    first = settings[0]
    _require_few_sorts(first)
    if preparation is not None and first.neighboring is not NeighboringRelation.ADD_REMOVE:
        raise ConfigurationError(
            f"{stated_key(config)} must be without fixed-size sampling, where a record is exchanged for "
            "another and not added or removed. Use poisson sampling."
        )
    if config.aggregation.rotation and first.worst.releases > 1:
        raise ConfigurationError(
            "'aggregation.rotation' must be false for noisy-steps, whose integers are summed over steps."
        )
    if first.contributions > 1 and first.worst.releases > 1:
        raise ConfigurationError(
            "'data.person.most_silos' must be 1 for noisy-steps of several steps, whose noise is proven for "
            f"one silo; got {first.contributions}."
        )
    if config.aggregation.noise_first:
        _require_noise_first(first)
    if config.privacy.mechanism == NoiseFamily.DISCRETE_LAPLACE.value:
        grids, multiplier = counts_and_noise(first)
    else:
        grids, multiplier = grids_and_noise(settings, [] if preparation is None else [_event_of(preparation)])
    made = [(grid, one.release(grid, multiplier)) for one, grid in zip(settings, grids, strict=True)]
    own = tuple(first.release_of(one, grids[0], multiplier) for one in first.own)
    evaluation = _evaluation(config, facts)
    stages = tuple(Stage(one.config, one.rounds, *two) for one, two in zip(asked, made, strict=False))
    plan = Plan(config, facts, capacities, *made[0], thresholds, (), evaluation, preparation, stages, own)
    guarantees = tuple(
        against(plan, adversary, honest, rounds=plan.releases, silo=silo)
        for adversary, honest, silo in rows(plan)
    )
    return dataclasses.replace(plan, guarantees=guarantees)


def _settings(
    config: Config,
    asked: Sequence[Asked],
    facts: FederationFacts,
    capacities: tuple[int, ...],
    thresholds: Thresholds,
) -> list[Setting]:
    """Returns what is known of each stage before noise and grid: of one, without segments.

    Raises:
        ConfigurationError: naming the segment that does not fit.
    """
    if not asked:
        return [_setting(config, facts, capacities, thresholds)]
    settings = []
    for number, stage in enumerate(asked):
        try:
            found = _setting(stage.config, facts, capacities, thresholds)
        except ConfigurationError as error:
            raise ConfigurationError(f"'training.segments.{number}': {error}") from None
        settings.append(dataclasses.replace(found, own_rounds=stage.rounds, noise_scale=stage.noise_scale))
    return settings


def _setting(
    config: Config, facts: FederationFacts, capacities: tuple[int, ...], thresholds: Thresholds
) -> Setting:
    timetable = planned_timetable(config, facts.silos)
    # What is asked is worked out once, and not for each of many silos.
    common = silo_setting(config, facts, capacities[0])
    trainings = [
        training_of(config, common, silo, capacity)
        for silo, capacity in zip(facts.silos, capacities, strict=True)
    ]
    rounds = planned_sums(config, facts.silos)
    require_rates(config.training.local, common, rounds)
    _require_exact_to_the_end(config, common, facts, capacities, rounds)
    footprints = (one.footprint(capacity) for one, capacity in zip(trainings, capacities, strict=True))
    return Setting(
        config=config,
        facts=facts,
        footprints=tuple(footprints),
        sharing=sharing_of(trainings, config.privacy.accept_assumptions),
        thresholds=thresholds,
        timetable=timetable,
    )


def _require_exact_to_the_end(
    config: Config, common: SiloSetting, facts: FederationFacts, capacities: tuple[int, ...], rounds: int
) -> None:
    """Refuses a decay after which rounding, which does not fall, would stop a silo before the last round.

    Nobody knows the weights of a later round, which every round looks at again; here they are as long as the
    first round may make them.
    """
    if config.training.local.rate_factor(rounds - 1) == 1.0:
        return
    for silo, capacity in zip(facts.silos, capacities, strict=True):
        last = training_of(config, common, silo, capacity, rounds - 1)
        taken = last.rounding_share(math.prod(config.data.model_shape(facts.feature_shape)))
        if not taken <= 1.0:
            raise ConfigurationError(
                f"'training.local.decay' must leave a learning rate in round {rounds} that is above float64 "
                f"rounding; at {silo} rounding could be {taken:.3g} times what is allowed for. Use a slower "
                "decay, or fewer rounds."
            )


def _evaluation(config: Config, facts: FederationFacts) -> Plan | None:
    """Returns the plan of questions that held-out records are asked between rounds, if they are.

    Raises:
        ConfigurationError: saying that it is about them.
    """
    if config.evaluate is None:
        return None
    try:
        asked = evaluation_config(config, facts)
        return make_plan(asked, asked_facts(asked, facts))
    except ConfigurationError as error:
        raise ConfigurationError(f"'evaluate': {error}") from None


def _preparation(config: Config, facts: FederationFacts) -> Plan | None:
    """Returns the plan of questions that training records are asked before the first round, if they are.

    Raises:
        ConfigurationError: saying that it is about them.
    """
    if config.preparation is None or config.ask is not None:
        return None
    asked = preparation_config(config, facts)
    try:
        return _made(asked, asked_facts(asked, facts))
    except ConfigurationError as error:
        raise ConfigurationError(f"{stated_key(config)}: {error}") from None


def _event_of(preparation: Plan) -> Event:
    """Returns the event of a preparation against the adversary that targets are for."""
    honest, release = preparation.thresholds.honest_survivors, preparation.release
    return against_server(preparation.event(honest, 1), release, setups=most_setups(1))


def _require_noise_first(setting: Setting) -> None:
    """Checks that the noise can come before the rounding: real noise, rounded once with the update."""
    if setting.config.privacy.mechanism != NoiseFamily.ROUNDED_GAUSSIAN.value:
        raise ConfigurationError(
            "'privacy.mechanism' must be rounded-gaussian with aggregation.noise_first, since only real "
            f"noise can come before rounding; got {setting.config.privacy.mechanism}."
        )
    if setting.worst.releases > 1:
        raise ConfigurationError(
            "'aggregation.noise_first' must be false for noisy-steps, whose every step is a sum of integers."
        )
