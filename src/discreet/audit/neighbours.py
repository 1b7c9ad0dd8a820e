"""Two neighbouring worlds under equal coins: how far apart are the integers that a silo would mask."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from torch import nn

from discreet.arrays import Floats
from discreet.audit.canaries import is_exchange
from discreet.audit.findings import NeighbourFinding
from discreet.audit.following import FollowingCoins, aligned
from discreet.data import Records
from discreet.encoding import noisy_integers
from discreet.encoding.contribution import signal_reals
from discreet.kinds import NoisySteps
from discreet.learning import StepNoise, noisy_update
from discreet.models import load_flat
from discreet.plan import Plan
from discreet.privacy.events import SampledChange
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource
from discreet.rounds import round_rotation, round_training, train_silo

_SEQUENCE = 1


@dataclass(frozen=True, slots=True, repr=False)
class Side:
    """One of two neighbours in a round: its actions; private.

    Attributes:
        update: before rounding, real units.
        sent: what would be masked, noise included; before noise where that comes before rounding.
    """

    update: Floats
    sent: Floats


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two neighbours: how far apart they are as a share of the claim, and what else tells them apart.

    Attributes:
        moved: the larger of two ratios, before and after rounding; at most 1 if the claim holds.
        differences: in words, empty if nothing else differs.
    """

    moved: float
    differences: tuple[str, ...] = ()


@final
class Rounds:
    """One silo's part in a round under a plan, for records of any origin.

    Args:
        plan: the agreement.
        model: the architecture; scratch space.
        silo: whose part it is.
        release: which release it is.
    """

    def __init__(self, plan: Plan, model: nn.Module, silo: str, release: int = 1) -> None:
        self.plan, self.model, self.silo, self.release = plan, model, silo, release
        self.stage = plan.stage_of(release)

    def compare(self, one: Records, other: Records, *, parameters: Floats, seed: int) -> Comparison:
        """Trains on both under equal coins.

        Args:
            one: a silo's training records.
            other: the same without, or with another, unit.
            parameters: of `RoundOrder.parameters`.
            seed: of the coins and the noise, which are equal on both sides.
        """
        numbered = aligned(one, other)
        if self.plan.unit is Unit.CLIENT:
            numbered = np.arange(len(one)), np.arange(len(other))
        if numbered is None:
            return Comparison(0.0, (_unaligned(one, other),))
        sides = [
            self._attempt(records, parameters, FollowingCoins(seed, places))
            for records, places in zip((one, other), numbered, strict=True)
        ]
        left, right = sides
        if not (isinstance(left, Side) and isinstance(right, Side)):
            failures = dict.fromkeys("sends" if isinstance(side, Side) else side for side in sides)
            return Comparison(0.0, ("; the neighbour ".join(failures),))
        before, after = self.claims()
        if len(numbered[0]) == len(numbered[1]) and not is_exchange(self.plan) and not self._replaces():
            before, after = 2.0 * before, 2.0 * after
        return Comparison(
            max(_share(left.update, right.update, before), _share(left.sent, right.sent, after))
        )

    def load(self, parameters: Floats) -> None:
        """Gives the model the weights of a round that starts from `RoundOrder.parameters`."""
        load_flat(self.model, round_training(self.plan, self.silo, self.release, parameters)[1])

    def claims(self) -> tuple[float, float]:
        """Returns how far one unit may move the update, real units, and what is sent, grid units."""
        training, _ = round_training(self.plan, self.silo, self.release, self._announced())
        exchanged = 2.0 if is_exchange(self.plan) else 1.0
        replaced = 2.0 if self._replaces() else 1.0
        sent = self.plan.at(self.release).release_of(self.silo).l2_sensitivity
        return exchanged * training.l2_sensitivity(), exchanged * replaced * sent

    def _replaces(self) -> bool:
        return self.stage.release.change is SampledChange.REPLACED

    def _announced(self) -> Floats:
        return np.ones(self.plan.grid.dimension)

    def _attempt(self, records: Records, parameters: Floats, coins: RandomSource) -> Side | str:
        """Returns a side's actions; an error is one of them, so neighbours must raise the same."""
        try:
            # A warning of an overflow stays on the silo's own terminal.
            with warnings.catch_warnings(action="ignore"):
                return self._side(records, parameters, coins)
        except Exception as error:  # a search must see every way to fail
            return f"fails with {type(error).__name__}"

    def _side(self, records: Records, parameters: Floats, coins: RandomSource) -> Side:
        plan, grid, law = self.plan, self.stage.grid, self.stage.release.share
        training, weights = round_training(plan, self.silo, self.release, parameters)
        if isinstance(training, NoisySteps):
            # Later steps start from what the first released; the claim is about each step by itself.
            first = replace(training, rates=training.rates[:1], weight_unit=None)
            noise = StepNoise(grid, law)
            sent = noisy_update(
                first, self.model, weights, records, coins.derive("training"), noise=noise
            ).combined
            steps = sent.astype(np.float64) / first.step_weights().total
            return Side(np.zeros_like(weights), steps)
        update = train_silo(
            plan,
            self.silo,
            self.release,
            model=self.model,
            parameters=parameters,
            records=records,
            randomness=coins,
        ).vector  # type: ignore[union-attr]  # noisy steps are above
        rotation = round_rotation(plan, _SEQUENCE)
        if grid.noise_first:
            return Side(update, signal_reals(update, grid, rotation))
        values = noisy_integers(update, grid, law, coins, rotation)
        return Side(update, values.astype(np.float64))


def _share(one: Floats, other: Floats, claimed: float) -> float:
    moved = float(np.linalg.norm(one - other))
    return moved / claimed if np.isfinite(moved) else np.inf


def _unaligned(one: Records, other: Records) -> str:
    unit = "record" if one.persons is None else "person"
    return f"more than one training {unit} differs ({len(one)} against {len(other)} records)"


def summary(path: str, crafted: str, comparisons: Iterator[Comparison]) -> NeighbourFinding:
    """Returns the worst of several comparisons as one finding."""
    largest, trials, differences = 0.0, 0, dict[str, None]()
    for comparison in comparisons:
        trials += 1
        largest = max(largest, comparison.moved)
        differences.update(dict.fromkeys(comparison.differences))
    return NeighbourFinding(path, crafted, largest, trials, tuple(differences))
