r"""How far the noise of all rounds may move the released weights: post-processing of plan and ledger.

The theorem is in docs/theory/steps.md, "How far noise moves a released weight". Local steps are
non-expansive, and so is their average over silos; so no round amplifies the noise of an earlier one, and the
server rule alone says how much of it arrives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.plan.counted import divisor
from discreet.plan.plan import Plan

# One uniform dither a coordinate and silo (`discreet.encoding.rounding`): p(1 - p), grid units.
_ROUNDING_VARIANCE = 0.25


@dataclass(frozen=True, slots=True)
class WeightNoise:
    """A bound on what noise does to a released weight, or to any combination of weights of norm 1.

    Attributes:
        stddev: s. Were only the noise drawn again, the weight would be farther than r·s from its median with
            probability at most 2(1 - Φ(r)), noise taken for Gaussian.
        proven: whether that is proven; else it holds as long as training does not amplify noise.
    """

    stddev: float
    proven: bool


def weight_noise(plan: Plan, survivors: Mapping[int, tuple[str, ...]]) -> WeightNoise | None:
    """Returns the bound for a training whose completed rounds had these survivors.

    None where no bound is known: noisy-steps, whose silos mix their noise by rules of their own; a clipping
    norm that moves, and the noise with it; adaptive server rules, which divide by what they saw; and a
    timetable, by which noise of one sum reaches updates that are added to another model.

    Args:
        plan: what was agreed.
        survivors: of each completed release that was a round, in order.
    """
    if not plan.server_rule.is_linear or plan.norm_rule is not None or plan.training.local.noise_inside:
        return None
    if plan.timetable is not None:
        return None
    stddevs = np.array([_stddev(plan, release) for release in survivors])
    counts = np.array([len(present) for present in survivors.values()], dtype=np.float64)
    square = float(np.sum((arrival(plan, survivors) * stddevs) ** 2 * counts))
    return WeightNoise(math.sqrt(square), _is_non_expansive(plan))


def _stddev(plan: Plan, release: int) -> float:
    """Returns the standard deviation of one silo's noise in a coordinate of a round, in weights."""
    stage = plan.stage_of(release)
    share = stage.release.share.variance / stage.release.share.num_silos
    return math.sqrt(share + _ROUNDING_VARIANCE) / stage.grid.scale * plan.unit_length(release)


def arrival(plan: Plan, survivors: Mapping[int, tuple[str, ...]]) -> Floats:
    """Returns how much of each round's summed noise is in the released weights, shape ``(rounds,)``.

    Of a training that does not react to it; smoothing, which shortens noise, is left out.

    Example: averaging over two survivors at learning rate 1 lets 1/2 of every round's noise arrive.
    """
    rule, rounds = plan.server_rule.unsmoothed(), len(survivors)
    # The rule itself, on one coordinate a round: linear, so its answer to an impulse is the coefficient.
    state, weights = rule.init(rounds), np.zeros(rounds)
    for place, (release, present) in enumerate(survivors.items()):
        impulse = np.zeros(rounds)
        impulse[place] = 1.0 / divisor(plan, release, present)
        state, weights = rule.step(state, weights, impulse, plan.rounds)
    return weights


def _is_non_expansive(plan: Plan) -> bool:
    """Says whether the theorem's assumptions hold."""
    local = all(stage.config.training.local.is_non_expansive for stage in plan.stages)
    return local and plan.server_rule.is_non_expansive
