"""Working out a plan: thresholds, then sensitivity, noise and grid together, then every guarantee."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from discreet.accounting import calibrate, epsilon
from discreet.config import Config
from discreet.encoding import WRAP_PROB, Grid, GridRequest, plan_grid, rounded_sensitivity
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import QuantileClipping, SiloSetting, Timetable
from discreet.kinds.footprint import Footprint, NoiseSharing, worst
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
    against_server,
    composed,
    event_for,
    most_setups,
    neighboring_of,
    of_several,
    repeated,
)
from discreet.plan.silos import require_provable, sharing_of, training_of
from discreet.plan.stages import Asked, Stage, asked_stages
from discreet.plan.timetable import planned_sums, planned_timetable
from discreet.plan.training import require_rates, silo_setting, silos_of_a_unit
from discreet.plan.untuned import settled
from discreet.privacy.events import (
    Event,
    GaussianNoise,
    PolyaNoise,
    Release,
    Repeated,
    RepeatedPoissonSampling,
    Sampling,
)
from discreet.privacy.units import NeighboringRelation
from discreet.secagg.ring import MAX_BITS

_SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER = 1e-2, 1e6
# How much more noise integers may need than real Gaussian noise before the grid is made finer.
_INTEGER_COST = 1.005
_MOST_REFINEMENTS = 40
# At the largest count a plan of a thousand silos takes about four seconds.
_MOST_SORTS = 50


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a silo shows of one of its units.

    Attributes:
        l2_sensitivity: of a release, before rounding; real units.
        sampling: how units enter a release.
        releases: in a round.
        rounds: that the silo is in.
    """

    l2_sensitivity: float
    sampling: Sampling
    releases: int
    rounds: int


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
    def worst(self) -> Footprint:
        """A part that is nowhere below any silo's; the silos' own one, where they do not differ."""
        return worst(self.footprints)

    @property
    def of_all(self) -> _Shown:
        """What no silo shows more than."""
        return _Shown(self.worst.l2_sensitivity, self.worst.sampling, self.worst.releases, self.rounds)

    @property
    def own(self) -> tuple[_Shown, ...]:
        """What each silo shows of its units; nothing where none was given settings that matter to that.

        A unit that may be at several silos is protected as if each of these were the worst.
        """
        if self.config.silos is None or self.contributions > 1:
            return ()
        found = tuple(
            _Shown(one.l2_sensitivity, one.sampling, one.releases, self.rounds_of(silo))
            for silo, one in zip(self.facts.silos, self.footprints, strict=True)
        )
        alike = len({dataclasses.replace(one, rounds=0) for one in found}) == 1
        return () if alike else found

    @property
    def neighboring(self) -> NeighboringRelation:
        """The relation in which noise is calibrated."""
        return neighboring_of(self.worst.sampling)

    @property
    def dimension(self) -> int:
        """Coordinates of what travels: the weights, and the count of a clipping norm that adapts."""
        return self.facts.dimension + isinstance(self.config.privacy.clip_norm, QuantileClipping)

    @property
    def releases(self) -> int:
        """Releases of the whole training."""
        return self.sums * self.worst.releases

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

    def rounds_of(self, silo: str) -> int:
        """Sums that ``silo`` is in."""
        return self.sums if self.timetable is None else self.timetable.contributions_of(silo)

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
        worst = self.worst
        return RoundRelease(
            share=law_for(
                NoiseFamily(self.config.privacy.mechanism),
                variance=(multiplier * grid.l2_sensitivity) ** 2,
                num_silos=self.certain_shares,
            ),
            l2_sensitivity=grid.l2_sensitivity,
            dimension=self.dimension,
            sampling=worst.sampling,
            rounding_failure_prob=grid.rounding_failure_prob,
            guard_failure_prob=worst.guard_failure_prob,
            change=worst.change,
            steps=worst.releases,
            sharing=self.sharing,
            roundings=worst.roundings,
            graph_failure_prob=graph_failure_prob(self.config, self.thresholds.num_silos),
            assumptions=worst.assumptions,
        )

    def release_of(self, one: _Shown, grid: Grid, multiplier: float) -> RoundRelease:
        """Returns the same of the units of one sort of silo: less may show of them in the same noise."""
        request = dataclasses.replace(_grid_request(self, 1.0, 0.0), l2_sensitivity=one.l2_sensitivity)
        rounded = rounded_sensitivity(request, grid)
        return dataclasses.replace(
            self.release(grid, multiplier),
            l2_sensitivity=rounded.bound,
            rounding_failure_prob=rounded.failure_prob,
            sampling=one.sampling,
            steps=one.releases,
        )

    def event(self, one: _Shown | None, grid: Grid, multiplier: float) -> Event:
        """Returns the event of its rounds against the strongest reported adversary; None is any silo."""
        rounds = self.rounds if one is None else one.rounds
        release = self.release(grid, multiplier) if one is None else self.release_of(one, grid, multiplier)
        seen = of_several(release, self.contributions)
        return event_for(seen, honest_silos=self.thresholds.honest_survivors, rounds=rounds)

    def gaussian_event(self, one: _Shown | None, multiplier: float) -> Event:
        """Returns the event of its rounds, were noise real and Gaussian."""
        shown = one or self.of_all
        sampling = shown.sampling
        if self.contributions > 1:
            sampling = repeated(sampling, self.contributions)
        noise = GaussianNoise(multiplier * self.noise_scale)
        moved = 1.0 if isinstance(sampling, RepeatedPoissonSampling) else float(self.contributions)
        # The multiplier is that of the longest contribution.
        moved *= shown.l2_sensitivity / self.worst.l2_sensitivity
        noisy = Release(noise, moved, self.dimension, sampling, self.worst.change)
        return Repeated(noisy, shown.rounds * shown.releases)


@dataclass(frozen=True, slots=True)
class _Target:
    """The (ε, δ) that a training must meet, for each sort of silo by itself.

    Attributes:
        delta: δ.
        neighboring: between which data.
        sorts: of silos, where they differ; one, None, where they do not.
    """

    delta: float
    neighboring: NeighboringRelation
    sorts: tuple[_Shown | None, ...]

    @classmethod
    def of(cls, setting: _Setting) -> _Target:
        """Returns that of a training; a stage speaks for all."""
        sorts = tuple(dict.fromkeys(setting.own)) or (None,)
        return cls(setting.config.privacy.delta, setting.neighboring, sorts)

    def reached(self, event: _EventOf, multiplier: float) -> float:
        """Returns the ε of the sort of silo that has the largest."""
        return max(self._epsilon(event(one, multiplier)) for one in self.sorts)

    def calibrated(self, event: _EventOf, target: float, lower: float, upper: float) -> float:
        """Returns the smallest multiplier at which every sort meets ``target``: that of the worst."""
        enough = None
        for one in self.sorts:
            if enough is not None and self._epsilon(event(one, enough)) <= target:
                continue
            enough = calibrate(
                partial(event, one),
                epsilon=target,
                delta=self.delta,
                neighboring=self.neighboring,
                lower=lower,
                upper=upper,
            )
        return upper if enough is None else enough

    def _epsilon(self, event: Event) -> float:
        return epsilon(event, delta=self.delta, neighboring=self.neighboring).epsilon


# From a sort of silo and the multiplier of noise to what a training releases of such a silo's units.
_EventOf = Callable[[_Shown | None, float], Event]


def _event(
    settings: Sequence[_Setting],
    grids: Sequence[Grid],
    before: Sequence[Event],
    one: _Shown | None,
    multiplier: float,
) -> Event:
    """Returns the whole training's event against the strongest reported adversary, stage by stage."""
    event = composed(
        setting.event(one, grid, multiplier) for setting, grid in zip(settings, grids, strict=True)
    )
    of_keys = settings[0].release(grids[0], multiplier)
    return composed((*before, against_server(event, of_keys, setups=most_setups(settings[0].sums))))


def _require_as_many_silos(config: Config, facts: FederationFacts) -> None:
    person = config.data.person
    if person is not None and person.most_silos > len(facts.silos):
        raise ConfigurationError(
            "'data.person.most_silos' must be at most the number of silos; got "
            f"{person.most_silos} of {len(facts.silos)}."
        )


def _require_few_sorts(setting: _Setting) -> None:
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
    require_provable(config, facts.silos)
    asked = asked_stages(config)
    settings = _settings(config, asked, facts, capacities, thresholds)
    first = settings[0]
    _require_few_sorts(first)
    if preparation is not None and first.neighboring is not NeighboringRelation.ADD_REMOVE:
        raise ConfigurationError(
            "'data.standardise' must be without fixed-size sampling, where a record is exchanged for another "
            "and not added or removed. Use poisson sampling."
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
        grids, multiplier = _counts_and_noise(first)
    else:
        grids, multiplier = _grids_and_noise(
            settings, [] if preparation is None else [_event_of(preparation)]
        )
    made = [(grid, one.release(grid, multiplier)) for one, grid in zip(settings, grids, strict=True)]
    own = tuple(first.release_of(one, grids[0], multiplier) for one in first.own)
    evaluation = _evaluation(config, facts)
    stages = tuple(Stage(one.config, one.rounds, *two) for one, two in zip(asked, made, strict=False))
    plan = Plan(config, facts, capacities, *made[0], thresholds, (), evaluation, preparation, stages, own)
    guarantees = tuple(
        plan.against(adversary, honest, rounds=plan.releases, silo=silo)
        for adversary, honest, silo in plan.rows()
    )
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
    common = silo_setting(config, facts, capacities[0])
    trainings = [
        training_of(config, common, silo, capacity)
        for silo, capacity in zip(facts.silos, capacities, strict=True)
    ]
    rounds = planned_sums(config, facts.silos)
    require_rates(config.training.local, common, rounds)
    _require_exact_to_the_end(config, common, facts, capacities, rounds)
    footprints = (one.footprint(capacity) for one, capacity in zip(trainings, capacities, strict=True))
    return _Setting(
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
        taken = last.rounding_share(math.prod(facts.feature_shape))
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
    if setting.worst.releases > 1:
        raise ConfigurationError(
            "'aggregation.noise_first' must be false for noisy-steps, whose every step is a sum of integers."
        )


def _counts_and_noise(setting: _Setting) -> tuple[list[Grid], float]:
    """Chooses the discrete Laplace noise of counts, which are integers as they are: nothing is rounded."""
    config, privacy = setting.config, setting.config.privacy
    if config.ask is None or config.aggregation.rotation:
        raise ConfigurationError(
            "'privacy.mechanism' discrete-laplace must be with questions, whose sums are counts, and without "
            "'aggregation.rotation'; use rounded-gaussian."
        )
    # The squared length of a vector of integers is an integer.
    length = math.sqrt(math.floor(setting.worst.l2_sensitivity**2))
    grid = Grid(
        scale=1.0,
        bits=MAX_BITS,
        l2_sensitivity=length,
        rounding_failure_prob=0.0,
        silo_bound=setting.worst.silo_bound,
        dimension=setting.dimension,
        num_silos=len(setting.facts.silos),
        rounds=setting.releases,
        wrap_prob=WRAP_PROB,
        rotated=False,
    )
    multiplier = privacy.noise_multiplier
    if multiplier is None and privacy.epsilon is not None:
        least, most = (PolyaNoise(scale, 1, 1).variance ** 0.5 / length for scale in LAPLACE_SCALES)
        event, target = partial(_event, (setting,), (grid,), ()), _Target.of(setting)
        reached = target.reached(event, most / _INTEGER_COST)
        if not reached <= privacy.epsilon:
            raise ConfigurationError(
                f"'privacy.epsilon' must be at least {reached:.3g} with the widest discrete-laplace noise "
                f"that can be drawn; got {privacy.epsilon:g}. Raise it, or use rounded-gaussian.",
                see=HowTo.EPSILON,
            )
        multiplier = target.calibrated(event, privacy.epsilon, least * _INTEGER_COST, most / _INTEGER_COST)
    multiplier = multiplier or 0.0
    share = setting.release(grid, multiplier).share
    return [_with_requested_bits(grid.with_noise(share), config)], multiplier


def _grids_and_noise(settings: Sequence[_Setting], before: Sequence[Event]) -> tuple[list[Grid], float]:
    """Chooses for each stage the coarsest grid on which integers cost almost nothing, and the noise on it.

    One factor on the noise of all stages lets the whole training meet the target, with what was released
    ``before`` it.
    """
    privacy, target = settings[0].config.privacy, _Target.of(settings[0])
    multiplier, needed = _gaussian_baseline(settings, before, target)
    least = [0.0] * len(settings)
    for _ in range(_MOST_REFINEMENTS):
        grids = [
            plan_grid(_grid_request(setting, multiplier, min_stddev))
            for setting, min_stddev in zip(settings, least, strict=True)
        ]
        event = partial(_event, settings, grids, before)
        if target.reached(event, multiplier * _INTEGER_COST) <= needed:
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
        multiplier = target.calibrated(event, needed, multiplier / _INTEGER_COST, multiplier * _INTEGER_COST)
    made = [_widened(setting, grid, multiplier) for setting, grid in zip(settings, grids, strict=True)]
    # One ring for all rounds, so that every message is as long as any other.
    bits = max(grid.bits for grid in made)
    return [dataclasses.replace(grid, bits=bits) for grid in made], multiplier


def _widened(setting: _Setting, grid: Grid, multiplier: float) -> Grid:
    """Returns the grid in a ring that holds the noise as well."""
    grid = grid.with_noise(setting.release(grid, multiplier).share)
    grid = dataclasses.replace(grid, bits=grid.bits + setting.worst.extra_bits)
    return _with_requested_bits(grid, setting.config)


def _gaussian_baseline(
    settings: Sequence[_Setting], before: Sequence[Event], target: _Target
) -> tuple[float, float]:
    """Returns the multiplier that real Gaussian noise would need, and the ε that integers must reach."""
    privacy = settings[0].config.privacy

    def event(one: _Shown | None, multiplier: float) -> Event:
        return composed((*before, *(setting.gaussian_event(one, multiplier) for setting in settings)))

    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier, target.reached(event, privacy.noise_multiplier)
    if privacy.epsilon is None:
        raise ConfigurationError("one of 'privacy.epsilon' and 'privacy.noise_multiplier' must be given.")
    multiplier = target.calibrated(event, privacy.epsilon, _SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER)
    return multiplier, privacy.epsilon


def _grid_request(setting: _Setting, multiplier: float, min_stddev: float) -> GridRequest:
    return GridRequest(
        l2_sensitivity=setting.worst.l2_sensitivity,
        silo_bound=setting.worst.silo_bound,
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
