"""Working out a plan: thresholds, then sensitivity, noise and grid together, then every guarantee."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.accounting import calibrate, epsilon
from discreet.config import Config
from discreet.encoding import WRAP_PROB, Grid, GridRequest, plan_grid
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import QuantileClipping, Timetable
from discreet.kinds.footprint import Footprint, NoiseSharing, most_sampling
from discreet.mechanisms import LAPLACE_SCALES, NoiseFamily, law_for
from discreet.plan.aggregation import graph_failure_prob, plan_thresholds
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.failures import rare
from discreet.plan.held_out import evaluation_config, evaluation_facts
from discreet.plan.plan import Plan
from discreet.plan.preparation import preparation_config, preparation_facts
from discreet.plan.releases import (
    RoundRelease,
    Thresholds,
    adversaries,
    against_server,
    composed,
    event_for,
    most_setups,
    neighboring_of,
    of_several,
    repeated,
)
from discreet.plan.stages import Asked, Stage, asked_stages
from discreet.plan.timetable import planned_sums, planned_timetable
from discreet.plan.training import local_training, require_rates, silo_setting, silos_of_a_unit
from discreet.plan.untuned import settled
from discreet.privacy.events import (
    Event,
    GaussianNoise,
    PolyaNoise,
    Release,
    Repeated,
    RepeatedPoissonSampling,
)
from discreet.privacy.units import NeighboringRelation, Unit
from discreet.secagg.ring import MAX_BITS

_SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER = 1e-2, 1e6
# How much more noise integers may need than real Gaussian noise before the grid is made finer.
_INTEGER_COST = 1.005
_MOST_REFINEMENTS = 40


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is known before noise and grid: the request, what the silos put in, and whom to withstand.

    Of all rounds; or of a stage, with ``own_rounds`` of its own and its part of the noise.
    """

    config: Config
    facts: FederationFacts
    footprints: tuple[Footprint, ...]
    sharing: NoiseSharing
    thresholds: Thresholds
    timetable: Timetable | None
    own_rounds: int | None = None
    noise_scale: float = 1.0

    @property
    def first(self) -> Footprint:
        """Any silo's footprint: steps, weight and kind of change are common to all."""
        return self.footprints[0]

    @property
    def neighboring(self) -> NeighboringRelation:
        """The relation in which noise is calibrated."""
        return neighboring_of(most_sampling(self.footprints))

    @property
    def dimension(self) -> int:
        """Coordinates of what travels: the weights, and the count of a clipping norm that adapts."""
        return self.facts.dimension + isinstance(self.config.privacy.clip_norm, QuantileClipping)

    @property
    def releases(self) -> int:
        """Releases of the whole training."""
        return self.sums * self.first.releases

    @property
    def sums(self) -> int:
        """Sums of the whole training."""
        return self.config.training.planned_rounds if self.timetable is None else len(self.timetable.sums)

    @property
    def rounds(self) -> int:
        """Sums that one silo is in, of a stage if there are several."""
        if self.own_rounds is not None:
            return self.own_rounds
        return self.sums if self.timetable is None else self.timetable.most_contributions(self.sums)

    @property
    def certain_shares(self) -> int:
        """Shares of noise that protect a unit, whoever drops out and colludes."""
        return self.thresholds.honest_survivors if self.sharing.adds_up else 1

    @property
    def contributions(self) -> int:
        """How many silos' contributions one unit may be in."""
        return silos_of_a_unit(self.config)

    def release(self, grid: Grid, multiplier: float) -> RoundRelease:
        """Returns a round's release with ``multiplier`` · ``noise_scale`` · sensitivity of certain noise."""
        multiplier *= self.noise_scale
        return RoundRelease(
            share=law_for(
                NoiseFamily(self.config.privacy.mechanism),
                variance=(multiplier * grid.l2_sensitivity) ** 2,
                num_silos=self.certain_shares,
            ),
            l2_sensitivity=grid.l2_sensitivity,
            dimension=self.dimension,
            sampling=most_sampling(self.footprints),
            rounding_failure_prob=grid.rounding_failure_prob,
            guard_failure_prob=max(footprint.guard_failure_prob for footprint in self.footprints),
            change=self.first.change,
            steps=self.first.releases,
            sharing=self.sharing,
            roundings=self.first.roundings,
            graph_failure_prob=graph_failure_prob(self.config, self.thresholds.num_silos),
            assumptions=self.first.assumptions,
        )

    def event(self, release: RoundRelease) -> Event:
        """Returns the event of its rounds against the strongest reported adversary."""
        seen = of_several(release, self.contributions)
        return event_for(seen, honest_silos=self.thresholds.honest_survivors, rounds=self.rounds)

    def gaussian_event(self, multiplier: float) -> Event:
        """Returns the event of its rounds, were noise real and Gaussian."""
        sampling = most_sampling(self.footprints)
        if self.contributions > 1:
            sampling = repeated(sampling, self.contributions)
        noise = GaussianNoise(multiplier * self.noise_scale)
        moved = 1.0 if isinstance(sampling, RepeatedPoissonSampling) else float(self.contributions)
        noisy = Release(noise, moved, self.dimension, sampling, self.first.change)
        return Repeated(noisy, self.rounds * self.first.releases)


def _event(settings: Sequence[_Setting], releases: Sequence[RoundRelease], before: Sequence[Event]) -> Event:
    """Returns the whole training's event against the strongest reported adversary, stage by stage."""
    event = composed(setting.event(release) for setting, release in zip(settings, releases, strict=True))
    return composed((*before, against_server(event, releases[0], setups=most_setups(settings[0].sums))))


def _require_as_many_silos(config: Config, facts: FederationFacts) -> None:
    person = config.data.person
    if person is not None and person.most_silos > len(facts.silos):
        raise ConfigurationError(
            "'data.person.most_silos' must be at most the number of silos; got "
            f"{person.most_silos} of {len(facts.silos)}."
        )


def make_plan(config: Config, facts: FederationFacts) -> Plan:
    """Works out the plan that a config and public facts ask for.

    Guarantee:
        The guarantee against the strongest adversary that ``privacy.against`` names (another member, or the
        server with ``max_colluding`` silos, ``min_survivors`` silos surviving) meets the config's (ε, δ);
        every other one is reported. Where held-out records are asked between rounds, that holds of a unit of
        either side, for the larger of the two ε (`Plan.parts`).

    Raises:
        ConfigurationError: if something does not fit together; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    if config.data.asked == "training":
        raise ConfigurationError(
            "'data.asked' must not be \"training\" but in a preparation, which the plan makes; state "
            "'data.standardise'."
        )
    return _made(settled(config, facts), facts)


def _made(config: Config, facts: FederationFacts) -> Plan:
    """Works out the plan of settings that are settled."""
    _require_as_many_silos(config, facts)
    preparation = _preparation(config, facts)
    thresholds = plan_thresholds(config, len(facts.silos))
    capacities = record_capacities(config, facts.silos)
    asked = asked_stages(config)
    settings = _settings(config, asked, facts, capacities, thresholds)
    first = settings[0]
    if preparation is not None and first.neighboring is not NeighboringRelation.ADD_REMOVE:
        raise ConfigurationError(
            "'data.standardise' must be without fixed-size sampling, where a record is exchanged for another "
            "and not added or removed. Use poisson sampling."
        )
    if config.aggregation.rotation and first.first.releases > 1:
        raise ConfigurationError(
            "'aggregation.rotation' must be false for noisy-steps, whose integers are summed over steps."
        )
    if first.contributions > 1 and first.first.releases > 1:
        raise ConfigurationError(
            "'data.person.most_silos' must be 1 for noisy-steps of several steps, whose noise is proven for "
            f"one silo; got {first.contributions}."
        )
    if config.aggregation.noise_first:
        _require_noise_first(first)
    if config.privacy.mechanism == NoiseFamily.DISCRETE_LAPLACE.value:
        made = [_counts_and_noise(first)]
    else:
        made = _grids_and_noise(settings, [] if preparation is None else [_event_of(preparation)])
    rows = adversaries(facts.silos, thresholds, Unit(config.privacy.unit), asks=config.ask is not None)
    evaluation = _evaluation(config, facts)
    stages = tuple(Stage(one.config, one.rounds, *two) for one, two in zip(asked, made, strict=False))
    plan = Plan(config, facts, capacities, *made[0], thresholds, (), evaluation, preparation, stages)
    guarantees = tuple(plan.against(adversary, honest, rounds=plan.releases) for adversary, honest in rows)
    return dataclasses.replace(plan, guarantees=guarantees)


def _settings(
    config: Config,
    asked: Sequence[Asked],
    facts: FederationFacts,
    capacities: tuple[int, ...],
    thresholds: Thresholds,
) -> list[_Setting]:
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
) -> _Setting:
    timetable = planned_timetable(config, facts.silos)
    # What is asked is worked out once, and not for each of many silos.
    setting_of_one = silo_setting(config, facts, capacities[0])
    silos = [dataclasses.replace(setting_of_one, capacity=capacity) for capacity in capacities]
    trainings = [local_training(config.training.local, silo) for silo in silos]
    require_rates(config.training.local, setting_of_one, planned_sums(config, facts.silos))
    footprints = (one.footprint(capacity) for one, capacity in zip(trainings, capacities, strict=True))
    return _Setting(
        config=config,
        facts=facts,
        footprints=tuple(footprints),
        sharing=trainings[0].noise_sharing(config.privacy.accept_assumptions),
        thresholds=thresholds,
        timetable=timetable,
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
        return make_plan(asked, evaluation_facts(asked, facts))
    except ConfigurationError as error:
        raise ConfigurationError(f"'evaluate': {error}") from None


def _preparation(config: Config, facts: FederationFacts) -> Plan | None:
    """Returns the plan of questions that training records are asked before the first round, if they are.

    Raises:
        ConfigurationError: saying that it is about them.
    """
    if config.data.standardise is None or config.ask is not None:
        return None
    asked = preparation_config(config, facts)
    try:
        return _made(asked, preparation_facts(asked, facts))
    except ConfigurationError as error:
        raise ConfigurationError(f"'data.standardise': {error}") from None


def _event_of(preparation: Plan) -> Event:
    """Returns the event of a preparation against the adversary that targets are for."""
    honest, release = preparation.thresholds.honest_survivors, preparation.release
    return against_server(preparation.event(honest, 1), release, setups=most_setups(1))


def _require_noise_first(setting: _Setting) -> None:
    """Checks that the noise can come before the rounding: real noise, rounded once with the update."""
    if setting.config.privacy.mechanism != NoiseFamily.ROUNDED_GAUSSIAN.value:
        raise ConfigurationError(
            "'privacy.mechanism' must be rounded-gaussian with aggregation.noise_first, since only real "
            f"noise can come before rounding; got {setting.config.privacy.mechanism}."
        )
    if setting.first.releases > 1:
        raise ConfigurationError(
            "'aggregation.noise_first' must be false for noisy-steps, whose every step is a sum of integers."
        )


def _counts_and_noise(setting: _Setting) -> tuple[Grid, RoundRelease]:
    """Chooses the discrete Laplace noise of counts, which are integers as they are: nothing is rounded."""
    config, privacy = setting.config, setting.config.privacy
    if config.ask is None or config.aggregation.rotation:
        raise ConfigurationError(
            "'privacy.mechanism' discrete-laplace must be with questions, whose sums are counts, and without "
            "'aggregation.rotation'; use rounded-gaussian."
        )
    # The squared length of a vector of integers is an integer.
    length = math.sqrt(math.floor(max(footprint.l2_sensitivity for footprint in setting.footprints) ** 2))
    grid = Grid(
        scale=1.0,
        bits=MAX_BITS,
        l2_sensitivity=length,
        rounding_failure_prob=0.0,
        silo_bound=max(footprint.silo_bound for footprint in setting.footprints),
        dimension=setting.dimension,
        num_silos=len(setting.facts.silos),
        rounds=setting.releases,
        wrap_prob=WRAP_PROB,
        rotated=False,
    )
    multiplier = privacy.noise_multiplier
    if multiplier is None and privacy.epsilon is not None:
        least, most = (PolyaNoise(scale, 1, 1).variance ** 0.5 / length for scale in LAPLACE_SCALES)
        widest = _event((setting,), (setting.release(grid, most / _INTEGER_COST),), ())
        reached = epsilon(widest, delta=privacy.delta, neighboring=setting.neighboring).epsilon
        if not reached <= privacy.epsilon:
            raise ConfigurationError(
                f"'privacy.epsilon' must be at least {reached:.3g} with the widest discrete-laplace noise "
                f"that can be drawn; got {privacy.epsilon:g}. Raise it, or use rounded-gaussian.",
                see=HowTo.EPSILON,
            )
        multiplier = calibrate(
            lambda z: _event((setting,), (setting.release(grid, z),), ()),
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            neighboring=setting.neighboring,
            lower=least * _INTEGER_COST,
            upper=most / _INTEGER_COST,
        )
    release = setting.release(grid, multiplier or 0.0)
    return _with_requested_bits(grid.with_noise(release.share), config), release


def _grids_and_noise(
    settings: Sequence[_Setting], before: Sequence[Event]
) -> list[tuple[Grid, RoundRelease]]:
    """Chooses for each stage the coarsest grid on which integers cost almost nothing, and the noise on it.

    One factor on the noise of all stages lets the whole training meet the target, with what was released
    ``before`` it.
    """
    privacy, neighboring = settings[0].config.privacy, settings[0].neighboring
    multiplier, target = _gaussian_baseline(settings, before)
    least = [0.0] * len(settings)

    def event(multiplier: float) -> Event:
        releases = [one.release(grid, multiplier) for one, grid in zip(settings, grids, strict=True)]
        return _event(settings, releases, before)

    for _ in range(_MOST_REFINEMENTS):
        grids = [
            plan_grid(_grid_request(setting, multiplier, min_stddev))
            for setting, min_stddev in zip(settings, least, strict=True)
        ]
        spent = epsilon(event(multiplier * _INTEGER_COST), delta=privacy.delta, neighboring=neighboring)
        if spent.epsilon <= target:
            break
        least = [
            2.0 * multiplier * setting.noise_scale * grid.l2_sensitivity
            for setting, grid in zip(settings, grids, strict=True)
        ]
    else:
        raise ConfigurationError(
            f"the target must be reachable with {privacy.mechanism} noise; no grid is fine enough. "
            'Use mechanism = "rounded-gaussian", a larger delta, or fewer rounds.',
            see=HowTo.EPSILON,
        )
    if privacy.noise_multiplier is None:
        multiplier = calibrate(
            event,
            epsilon=target,
            delta=privacy.delta,
            neighboring=neighboring,
            lower=multiplier / _INTEGER_COST,
            upper=multiplier * _INTEGER_COST,
        )
    made = [
        _widened(setting, grid, setting.release(grid, multiplier))
        for setting, grid in zip(settings, grids, strict=True)
    ]
    # One ring for all rounds, so that every message is as long as any other.
    bits = max(grid.bits for grid, _ in made)
    return [(dataclasses.replace(grid, bits=bits), release) for grid, release in made]


def _widened(setting: _Setting, grid: Grid, release: RoundRelease) -> tuple[Grid, RoundRelease]:
    """Returns the grid in a ring that holds the noise as well, and the release."""
    grid = grid.with_noise(release.share)
    grid = dataclasses.replace(grid, bits=grid.bits + setting.first.extra_bits)
    return _with_requested_bits(grid, setting.config), release


def _gaussian_baseline(settings: Sequence[_Setting], before: Sequence[Event]) -> tuple[float, float]:
    """Returns the multiplier that real Gaussian noise would need, and the ε that integers must reach."""
    privacy, neighboring = settings[0].config.privacy, settings[0].neighboring

    def event(multiplier: float) -> Event:
        return composed((*before, *(setting.gaussian_event(multiplier) for setting in settings)))

    if privacy.noise_multiplier is not None:
        found = epsilon(event(privacy.noise_multiplier), delta=privacy.delta, neighboring=neighboring)
        return privacy.noise_multiplier, found.epsilon
    if privacy.epsilon is None:
        raise ConfigurationError("one of 'privacy.epsilon' and 'privacy.noise_multiplier' must be given.")
    multiplier = calibrate(
        event,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        neighboring=neighboring,
        lower=_SMALLEST_MULTIPLIER,
        upper=_LARGEST_MULTIPLIER,
    )
    return multiplier, privacy.epsilon


def _grid_request(setting: _Setting, multiplier: float, min_stddev: float) -> GridRequest:
    return GridRequest(
        l2_sensitivity=max(footprint.l2_sensitivity for footprint in setting.footprints),
        silo_bound=max(footprint.silo_bound for footprint in setting.footprints),
        num_silos=len(setting.facts.silos),
        num_honest=setting.certain_shares,
        dimension=setting.dimension,
        rounds=setting.releases,
        noise_multiplier=multiplier * setting.noise_scale,
        min_stddev=min_stddev,
        rounding_beta=rare(setting.config, setting.releases),
        rotated=setting.config.aggregation.rotation,
        noise_first=setting.config.aggregation.noise_first,
    )


def _with_requested_bits(grid: Grid, config: Config) -> Grid:
    """Returns the grid in the ring that the config asks for, if the sums fit it.

    Raises:
        ConfigurationError: if a sum could wrap around.
    """
    if grid.bits > MAX_BITS:
        raise ConfigurationError(
            f"a ring of at most {MAX_BITS} bits must hold the weighted sum of all local steps; it needs "
            f"{grid.bits}. Use fewer local steps, or a local momentum with a small denominator such as 0.5.",
            see=HowTo.RING,
        )
    requested = config.aggregation.bits
    if requested == "auto":
        return grid
    if requested < grid.bits:
        raise ConfigurationError(
            f"'aggregation.bits' must be at least {grid.bits}, or a sum could wrap around unnoticed; "
            f"got {requested}. Raise it, use \"auto\", or lower 'data.record_capacity'.",
            see=HowTo.RING,
        )
    return dataclasses.replace(grid, bits=requested)
