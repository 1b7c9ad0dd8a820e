"""Randomised crafted federations for the PROVEN kinds: built to make later steps amplify a record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.accounting import epsilon
from discreet.audit.membership import threshold_attack
from discreet.audit.sensitivity import EqualCoins
from discreet.data import Records
from discreet.learning import ClippedUpdate, LocalSgd, LocalTraining, Sharded, SingleStep, StableSteps
from discreet.models import LinearHead, convexity
from discreet.privacy.events import GaussianNoise, Release
from discreet.privacy.units import Unit
from discreet.randomness import SeededRandom

Floats = npt.NDArray[np.float64]

_GUARD_EDGE = 0.999


@dataclass(frozen=True, slots=True)
class Crafted:
    """One silo of a federation, its neighbour, the public model and how it is trained and hidden.

    Attributes:
        kind: a PROVEN kind of local training.
        model: a linear head; scratch space.
        parameters: the public weights.
        outside: the silo without the target unit.
        inside: the silo with it.
        noise_multiplier: summed noise deviation ÷ claimed sensitivity.
    """

    kind: LocalTraining
    model: nn.Module
    parameters: Floats
    outside: Records
    inside: Records
    noise_multiplier: float

    def claimed_epsilon(self, delta: float) -> float:
        """Returns the PROVEN claim of one round in which every unit takes part."""
        noise = GaussianNoise(self.noise_multiplier)
        event = Release(noise, 1.0, dimension=len(self.parameters))
        return epsilon(event, delta=delta).epsilon

    def attacked(self, coins: int, *, delta: float, randomness: SeededRandom) -> float:
        """Returns the largest ε that threshold attacks on the released sum show, over ``coins`` draws."""
        seeds = [int(word) >> 1 for word in randomness.words(coins)]
        outside, inside = (
            np.stack([self._update(records, seed) for seed in seeds])
            for records in (self.outside, self.inside)
        )
        stddev = self.noise_multiplier * self.kind.l2_sensitivity()
        return threshold_attack(outside, inside, stddev=stddev, delta=delta)

    def _update(self, records: Records, seed: int) -> Floats:
        return self.kind.update(self.model, self.parameters, records, EqualCoins(seed)).vector


def crafted_federations(count: int, randomness: SeededRandom) -> Iterator[Crafted]:
    """Yields ``count`` randomised federations, all PROVEN kinds in turn."""
    for number in range(count):
        yield _crafted(number, randomness.derive(number))


def _crafted(number: int, source: SeededRandom) -> Crafted:
    """Draws sizes, weights and records; the others stand where the target's step moves them."""
    draws = source.uniform(8)
    features, others = 2 + int(3 * draws[0]), 3 + int(20 * draws[1])
    outputs = (1, 3)[int(2 * draws[2])]
    model = LinearHead(features, outputs)
    steps = 2 + int(6 * draws[3])
    kind = _kind(number, model, steps, others + 1, 0.1 + 0.9 * float(draws[4]))
    direction = _unit(source.derive("direction"), features)
    lean = 0.2 + 0.7 * float(draws[5])
    group = _amplifiers(source.derive("others"), direction, lean, others)
    target = np.concatenate([group, direction[None, :]])
    labels = source.derive("labels").integers_below(others + 1, max(2, outputs))
    labels[:-1] = labels[0]
    inside = Records(target.astype(np.float32), labels)
    outside = inside.take(np.arange(0 if kind.unit is Unit.CLIENT else others))
    scale = 10.0 ** (3.0 * float(draws[6]) - 1.0)
    parameters = scale * (source.derive("weights").uniform(features * outputs) - 0.5)
    return Crafted(kind, model, parameters, outside, inside, noise_multiplier=0.5 + 3.5 * float(draws[7]))


def _kind(number: int, model: nn.Module, steps: int, records: int, share: float) -> LocalTraining:
    """Takes the kinds in turn, with learning rates up to the edge of what they allow."""
    local = LocalSgd(10.0 * share, batch_size=2, epochs=steps, momentum=0.5)
    match number % 4:
        case 0:
            return _stable_steps(model, steps, records, share)
        case 1:
            return Sharded(clip_norm=1.0, num_shards=3, local=local)
        case 2:
            return ClippedUpdate(1.0, 10.0 * share, batch_size=2, epochs=steps, momentum=0.5)
        case _:
            return SingleStep(clip_norm=0.5 * share)


def _stable_steps(model: nn.Module, steps: int, records: int, share: float) -> StableSteps:
    """Chooses γ as a share of 2/(β·b) for the largest batch that the guard lets through."""
    head = convexity(model)
    if head is None:  # a LinearHead always is
        raise TypeError("stable-steps needs a convex head.")
    # The guard is at most the capacity, so this rate is always allowed.
    rate = _GUARD_EDGE * share * 2.0 / (head.smoothness(1.0) * records)
    return StableSteps(loss=head, norm_bound=1.0, learning_rate=rate, steps=steps, record_capacity=records)


def _amplifiers(source: SeededRandom, direction: Floats, lean: float, count: int) -> Floats:
    """Returns records that lean towards the target and differ in the rest, on the unit sphere."""
    rest = np.stack([_unit(source.derive(row), len(direction)) for row in range(count)])
    rest -= np.outer(rest @ direction, direction)
    rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-9)
    leaning = lean * direction + math.sqrt(1.0 - lean**2) * rest
    return np.asarray(leaning / np.linalg.norm(leaning, axis=1, keepdims=True) * (1.0 - 2.0**-20))


def _unit(source: SeededRandom, dimension: int) -> Floats:
    """Returns a direction, not quite uniform, of length just below one."""
    vector = source.uniform(dimension) - 0.5
    return np.asarray(vector / np.linalg.norm(vector) * (1.0 - 2.0**-20))
