"""Working out a plan: thresholds, then sensitivity, noise and grid together, then every guarantee."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from discreet.accounting import calibrate, epsilon
from discreet.config import Config
from discreet.encoding import WRAP_PROB, Grid, GridRequest, plan_grid, rounded_sensitivity
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import QuantileNormConfig, Timetable
from discreet.kinds.footprint import Footprint, NoiseSharing, worst
from discreet.mechanisms import LAPLACE_SCALES, NoiseFamily, law_for
from discreet.plan.aggregation import graph_failure_prob, plan_thresholds
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.failures import rare
from discreet.plan.held_out import evaluation_config, evaluation_facts
from discreet.plan.plan import Plan
from discreet.plan.releases import (
    RoundRelease,
    Thresholds,
    against_server,
    event_for,
    most_setups,
    neighboring_of,
    of_several,
    repeated,
)
from discreet.plan.silos import require_provable, sharing_of, training_of
from discreet.plan.timetable import planned_timetable
from discreet.plan.training import silo_setting, silos_of_a_unit
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
    """What is known before noise and grid: the request, what the silos put in, and whom to withstand."""

    config: Config
    facts: FederationFacts
    footprints: tuple[Footprint, ...]
    sharing: NoiseSharing
    thresholds: Thresholds
    timetable: Timetable | None

    @property
    def worst(self) -> Footprint:
        """A part that is nowhere below any silo's; the silos' own one, where they do not differ."""
        return worst(self.footprints)

    @property
    def shown(self) -> tuple[_Shown, ...]:
        """What each silo shows of its units; nothing where no silo was given settings that matter to it.

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
    def sorts(self) -> tuple[_Shown, ...]:
        """What there is to be hidden: each sort of silo, or the one that they all are."""
        of_all = _Shown(self.worst.l2_sensitivity, self.worst.sampling, self.worst.releases, self.rounds)
        return tuple(dict.fromkeys(self.shown)) or (of_all,)

    @property
    def neighboring(self) -> NeighboringRelation:
        """The relation in which noise is calibrated."""
        return neighboring_of(self.worst.sampling)

    @property
    def dimension(self) -> int:
        """Coordinates of what travels: the weights, and the count of a clipping norm that adapts."""
        return self.facts.dimension + isinstance(self.config.privacy.clip_norm, QuantileNormConfig)

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
        """Sums that one silo is in."""
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
        """Returns a round's release with ``multiplier`` · sensitivity of certain noise."""
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
        """Returns what such a silo's units show in a round, with noise of ``multiplier`` · the largest."""
        release = self.release(grid, multiplier)
        if not self.shown:
            return release
        request = dataclasses.replace(_grid_request(self, 1.0, 0.0), l2_sensitivity=one.l2_sensitivity)
        rounded = rounded_sensitivity(request, grid)
        return dataclasses.replace(
            release,
            l2_sensitivity=min(rounded.bound, grid.l2_sensitivity),
            rounding_failure_prob=rounded.failure_prob,
            sampling=one.sampling,
            steps=one.releases,
        )

    def event(self, one: _Shown, grid: Grid, multiplier: float) -> Event:
        """Returns the whole training's event for such a silo against the strongest reported adversary."""
        release = self.release_of(one, grid, multiplier)
        seen = of_several(release, self.contributions)
        event = event_for(seen, honest_silos=self.thresholds.honest_survivors, rounds=one.rounds)
        return against_server(event, release, setups=most_setups(self.sums))

    def most_epsilon(self, event: Callable[[_Shown], Event]) -> float:
        """Returns the largest ε of any silo's event."""
        delta = self.config.privacy.delta
        return max(
            epsilon(event(one), delta=delta, neighboring=self.neighboring).epsilon for one in self.sorts
        )

    def calibrated(
        self, event: Callable[[_Shown, float], Event], target: float, lower: float, upper: float
    ) -> float:
        """Returns the smallest multiplier at which every silo's event meets ``target``: that of the worst."""
        delta, enough = self.config.privacy.delta, None
        for one in self.sorts:
            make = partial(event, one)
            if enough is not None:
                spent = epsilon(make(enough), delta=delta, neighboring=self.neighboring)
                if spent.epsilon <= target:
                    continue
            enough = calibrate(
                make, epsilon=target, delta=delta, neighboring=self.neighboring, lower=lower, upper=upper
            )
        return lower if enough is None else enough


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
    config = settled(config, facts)
    _require_as_many_silos(config, facts)
    thresholds = plan_thresholds(config, len(facts.silos))
    timetable = planned_timetable(config, facts.silos)
    capacities = record_capacities(config, facts.silos)
    require_provable(config, facts.silos)
    # What is asked is worked out once, and not for each of many silos.
    common = silo_setting(config, facts, capacities[0])
    trainings = [
        training_of(config, common, silo, capacity)
        for silo, capacity in zip(facts.silos, capacities, strict=True)
    ]
    setting = _Setting(
        config=config,
        facts=facts,
        footprints=tuple(
            training.footprint(capacity) for training, capacity in zip(trainings, capacities, strict=True)
        ),
        sharing=sharing_of(trainings, config.privacy.accept_assumptions),
        thresholds=thresholds,
        timetable=timetable,
    )
    if config.aggregation.rotation and setting.worst.releases > 1:
        raise ConfigurationError(
            "'aggregation.rotation' must be false for noisy-steps, whose integers are summed over steps."
        )
    if setting.contributions > 1 and setting.worst.releases > 1:
        raise ConfigurationError(
            "'data.person.most_silos' must be 1 for noisy-steps of several steps, whose noise is proven for "
            f"one silo; got {setting.contributions}."
        )
    if config.aggregation.noise_first:
        _require_noise_first(setting)
    if config.privacy.mechanism == NoiseFamily.DISCRETE_LAPLACE.value:
        grid, multiplier = _counts_and_noise(setting)
    else:
        grid, multiplier = _grid_and_noise(setting)
    release = setting.release(grid, multiplier)
    own = tuple(setting.release_of(one, grid, multiplier) for one in setting.shown)
    plan = Plan(config, facts, capacities, grid, release, thresholds, (), _evaluation(config, facts), own)
    guarantees = tuple(
        plan.against(adversary, honest, rounds=plan.releases, silo=silo)
        for adversary, honest, silo in plan.rows()
    )
    return dataclasses.replace(plan, guarantees=guarantees)


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


def _counts_and_noise(setting: _Setting) -> tuple[Grid, float]:
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
        reached = setting.most_epsilon(lambda one: setting.event(one, grid, most / _INTEGER_COST))
        if not reached <= privacy.epsilon:
            raise ConfigurationError(
                f"'privacy.epsilon' must be at least {reached:.3g} with the widest discrete-laplace noise "
                f"that can be drawn; got {privacy.epsilon:g}. Raise it, or use rounded-gaussian.",
                see=HowTo.EPSILON,
            )
        multiplier = setting.calibrated(
            lambda one, z: setting.event(one, grid, z),
            privacy.epsilon,
            least * _INTEGER_COST,
            most / _INTEGER_COST,
        )
    multiplier = multiplier or 0.0
    share = setting.release(grid, multiplier).share
    return _with_requested_bits(grid.with_noise(share), config), multiplier


def _grid_and_noise(setting: _Setting) -> tuple[Grid, float]:
    """Chooses the coarsest grid on which integers cost almost nothing, and the noise on it."""
    privacy = setting.config.privacy
    multiplier, target = _gaussian_baseline(setting)
    min_stddev = 0.0
    for _ in range(_MOST_REFINEMENTS):
        grid = plan_grid(_grid_request(setting, multiplier, min_stddev))
        shown = partial(setting.event, grid=grid, multiplier=multiplier * _INTEGER_COST)
        if setting.most_epsilon(shown) <= target:
            break
        min_stddev = 2.0 * multiplier * grid.l2_sensitivity
    else:
        raise ConfigurationError(
            f"the target must be reachable with {privacy.mechanism} noise; no grid is fine enough. "
            'Use mechanism = "rounded-gaussian", a larger delta, or fewer rounds.',
            see=HowTo.EPSILON,
        )
    if privacy.noise_multiplier is None:
        multiplier = setting.calibrated(
            lambda one, z: setting.event(one, grid, z),
            target,
            multiplier / _INTEGER_COST,
            multiplier * _INTEGER_COST,
        )
    grid = grid.with_noise(setting.release(grid, multiplier).share)
    grid = dataclasses.replace(grid, bits=grid.bits + setting.worst.extra_bits)
    return _with_requested_bits(grid, setting.config), multiplier


def _gaussian_baseline(setting: _Setting) -> tuple[float, float]:
    """Returns the multiplier that real Gaussian noise would need, and the ε that integers must reach."""
    privacy, worst = setting.config.privacy, setting.worst

    def event(one: _Shown, multiplier: float) -> Event:
        sampling, silos = one.sampling, setting.contributions
        if silos > 1:
            sampling = repeated(sampling, silos)
        moved = 1.0 if isinstance(sampling, RepeatedPoissonSampling) else float(silos)
        # The multiplier is that of the largest contribution.
        moved *= one.l2_sensitivity / worst.l2_sensitivity
        noisy = Release(GaussianNoise(multiplier), moved, setting.dimension, sampling, worst.change)
        return Repeated(noisy, one.rounds * one.releases)

    if privacy.noise_multiplier is not None:
        stated = privacy.noise_multiplier
        return stated, setting.most_epsilon(lambda one: event(one, stated))
    if privacy.epsilon is None:
        raise ConfigurationError("one of 'privacy.epsilon' and 'privacy.noise_multiplier' must be given.")
    multiplier = setting.calibrated(event, privacy.epsilon, _SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER)
    return multiplier, privacy.epsilon


def _grid_request(setting: _Setting, multiplier: float, min_stddev: float) -> GridRequest:
    return GridRequest(
        l2_sensitivity=setting.worst.l2_sensitivity,
        silo_bound=setting.worst.silo_bound,
        num_silos=len(setting.facts.silos),
        num_honest=setting.certain_shares,
        dimension=setting.dimension,
        rounds=setting.releases,
        noise_multiplier=multiplier,
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
