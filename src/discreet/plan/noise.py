"""The coarsest grid on which integers cost almost nothing, and the least noise that meets the target."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

from discreet.config import Config
from discreet.encoding import WRAP_PROB, Grid, plan_grid
from discreet.errors import ConfigurationError, HowTo
from discreet.mechanisms import LAPLACE_SCALES
from discreet.plan.releases import (
    composed,
)
from discreet.plan.setting import Setting, Shown, Target, grid_request, whole_event
from discreet.privacy.events import (
    Event,
    PolyaNoise,
)
from discreet.secagg.ring import MAX_BITS

_SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER = 1e-2, 1e6
# How much more noise integers may need than real Gaussian noise before the grid is made finer.
_INTEGER_COST = 1.005
_MOST_REFINEMENTS = 40


def counts_and_noise(setting: Setting) -> tuple[list[Grid], float]:
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
        event, target = partial(whole_event, (setting,), (grid,), ()), Target.of(setting)
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


def grids_and_noise(settings: Sequence[Setting], before: Sequence[Event]) -> tuple[list[Grid], float]:
    """Chooses for each stage the coarsest grid on which integers cost almost nothing, and the noise on it.

    One factor on the noise of all stages lets the whole training meet the target, with what was released
    ``before`` it.
    """
    privacy, target = settings[0].config.privacy, Target.of(settings[0])
    multiplier, needed = _gaussian_baseline(settings, before, target)
    least = [0.0] * len(settings)
    for _ in range(_MOST_REFINEMENTS):
        grids = [
            plan_grid(grid_request(setting, multiplier, min_stddev))
            for setting, min_stddev in zip(settings, least, strict=True)
        ]
        event = partial(whole_event, settings, grids, before)
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


def _widened(setting: Setting, grid: Grid, multiplier: float) -> Grid:
    """Returns the grid in a ring that holds the noise as well."""
    grid = grid.with_noise(setting.release(grid, multiplier).share)
    grid = dataclasses.replace(grid, bits=grid.bits + setting.worst.extra_bits)
    return _with_requested_bits(grid, setting.config)


def _gaussian_baseline(
    settings: Sequence[Setting], before: Sequence[Event], target: Target
) -> tuple[float, float]:
    """Returns the multiplier that real Gaussian noise would need, and the ε that integers must reach."""
    privacy = settings[0].config.privacy

    def event(one: Shown | None, multiplier: float) -> Event:
        return composed((*before, *(setting.gaussian_event(one, multiplier) for setting in settings)))

    if privacy.noise_multiplier is not None:
        return privacy.noise_multiplier, target.reached(event, privacy.noise_multiplier)
    if privacy.epsilon is None:
        raise ConfigurationError("one of 'privacy.epsilon' and 'privacy.noise_multiplier' must be given.")
    multiplier = target.calibrated(event, privacy.epsilon, _SMALLEST_MULTIPLIER, _LARGEST_MULTIPLIER)
    return multiplier, privacy.epsilon


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
