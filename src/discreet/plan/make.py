"""Working out a plan: thresholds, then sensitivity, noise and grid together, then every guarantee."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from torch import nn

from discreet.accounting import calibrate, epsilon
from discreet.config import Config
from discreet.encoding import Grid, GridRequest, plan_grid
from discreet.errors import ConfigurationError
from discreet.learning import LocalTraining
from discreet.mechanisms import NoiseFamily, law_for
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.plan import Plan, adversary_guarantee
from discreet.plan.releases import RoundRelease, Thresholds, adversaries, event_for
from discreet.plan.training import local_training
from discreet.privacy.events import Event, GaussianNoise, Release, Repeated

_SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER = 1e-2, 1e6
# How much more noise integers may need than real Gaussian noise before the grid is made finer.
_INTEGER_COST = 1.005
_MOST_REFINEMENTS = 40


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is known before noise and grid: the request, the silos' trainings, and whom to withstand."""

    config: Config
    facts: FederationFacts
    capacities: tuple[int, ...]
    trainings: tuple[LocalTraining, ...]
    thresholds: Thresholds

    @property
    def rounds(self) -> int:
        return self.config.training.rounds

    @property
    def silo_bound(self) -> float:
        pairs = zip(self.trainings, self.capacities, strict=True)
        return max(training.update_bound(capacity) for training, capacity in pairs)

    @property
    def guard_failure_prob(self) -> float:
        pairs = zip(self.trainings, self.capacities, strict=True)
        return max(training.failure_prob(capacity) for training, capacity in pairs)

    def release(self, grid: Grid, multiplier: float) -> RoundRelease:
        """Returns a round's release with ``multiplier`` · sensitivity of certain honest noise."""
        return RoundRelease(
            share=law_for(
                NoiseFamily(self.config.privacy.mechanism),
                variance=(multiplier * grid.l2_sensitivity) ** 2,
                num_silos=self.thresholds.honest_survivors,
            ),
            l2_sensitivity=grid.l2_sensitivity,
            dimension=self.facts.dimension,
            sampling=self.trainings[0].release_sampling(),
            rounding_failure_prob=grid.rounding_failure_prob,
            guard_failure_prob=self.guard_failure_prob,
        )

    def event(self, release: RoundRelease) -> Event:
        """Returns the whole training's event against the strongest reported adversary."""
        return event_for(release, honest_silos=self.thresholds.honest_survivors, rounds=self.rounds)


def make_plan(config: Config, facts: FederationFacts, model: nn.Module) -> Plan:
    """Works out the plan that a config and public facts ask for.

    Guarantee:
        The guarantee against the strongest reported adversary (the server with ``max_colluding`` silos,
        ``min_survivors`` silos surviving) meets the config's (ε, δ); every other one is reported.

    Raises:
        ConfigurationError: if something does not fit together; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    thresholds = plan_thresholds(config, len(facts.silos))
    capacities = record_capacities(config, facts.silos)
    trainings = tuple(local_training(config, facts, model, capacity) for capacity in capacities)
    setting = _Setting(config, facts, capacities, trainings, thresholds)
    grid, release = _grid_and_noise(setting)
    guarantees = tuple(
        adversary_guarantee(config, release, adversary=adversary, honest_silos=honest, rounds=setting.rounds)
        for adversary, honest in adversaries(facts.silos, thresholds)
    )
    return Plan(config, facts, capacities, grid, release, thresholds, guarantees)


def silo_training(plan: Plan, model: nn.Module, silo: str) -> LocalTraining:
    """Returns the local training that ``silo`` runs under ``plan``."""
    capacity = plan.capacities[plan.facts.silos.index(silo)]
    return local_training(plan.config, plan.facts, model, capacity)


def _grid_and_noise(setting: _Setting) -> tuple[Grid, RoundRelease]:
    """Chooses the coarsest grid on which integers cost almost nothing, and the noise on it."""
    privacy = setting.config.privacy
    multiplier, target = _gaussian_baseline(setting)
    min_stddev = 0.0
    for _ in range(_MOST_REFINEMENTS):
        grid = plan_grid(_grid_request(setting, multiplier, min_stddev))
        release = setting.release(grid, multiplier * _INTEGER_COST)
        if epsilon(setting.event(release), delta=privacy.delta).epsilon <= target:
            break
        min_stddev = 2.0 * multiplier * grid.l2_sensitivity
    else:
        raise ConfigurationError(
            f"the target must be reachable with {privacy.mechanism} noise; no grid is fine enough. "
            'Use mechanism = "rounded-gaussian", a larger delta, or fewer rounds.'
        )
    if privacy.noise_multiplier is None:
        multiplier = calibrate(
            lambda z: setting.event(setting.release(grid, z)),
            epsilon=target,
            delta=privacy.delta,
            lower=multiplier / _INTEGER_COST,
            upper=multiplier * _INTEGER_COST,
        )
    release = setting.release(grid, multiplier)
    return _with_requested_bits(grid.with_noise(release.share), setting.config), release


def _gaussian_baseline(setting: _Setting) -> tuple[float, float]:
    """Returns the multiplier that real Gaussian noise would need, and the ε that integers must reach."""
    privacy, sampling = setting.config.privacy, setting.trainings[0].release_sampling()

    def event(multiplier: float) -> Event:
        noisy = Release(GaussianNoise(multiplier), 1.0, setting.facts.dimension, sampling)
        return Repeated(noisy, setting.rounds)

    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier, epsilon(event(privacy.noise_multiplier), delta=privacy.delta).epsilon
    if privacy.epsilon is None:
        raise ConfigurationError("one of 'privacy.epsilon' and 'privacy.noise_multiplier' must be given.")
    multiplier = calibrate(
        event,
        epsilon=privacy.epsilon,
        delta=privacy.delta,
        lower=_SMALLEST_MULTIPLIER,
        upper=_LARGEST_MULTIPLIER,
    )
    return multiplier, privacy.epsilon


def _grid_request(setting: _Setting, multiplier: float, min_stddev: float) -> GridRequest:
    return GridRequest(
        l2_sensitivity=max(training.l2_sensitivity() for training in setting.trainings),
        silo_bound=setting.silo_bound,
        num_silos=len(setting.facts.silos),
        dimension=setting.facts.dimension,
        rounds=setting.rounds,
        noise_multiplier=multiplier,
        min_stddev=min_stddev,
        rotated=setting.config.aggregation.rotation,
    )


def _with_requested_bits(grid: Grid, config: Config) -> Grid:
    """Returns the grid in the ring that the config asks for, if the sums fit it.

    Raises:
        ConfigurationError: if a sum could wrap around.
    """
    requested = config.aggregation.bits
    if requested == "auto":
        return grid
    if requested < grid.bits:
        raise ConfigurationError(
            f"'aggregation.bits' must be at least {grid.bits}, or a sum could wrap around unnoticed; "
            f"got {requested}. Raise it, use \"auto\", or lower 'data.record_capacity'."
        )
    return dataclasses.replace(grid, bits=requested)
