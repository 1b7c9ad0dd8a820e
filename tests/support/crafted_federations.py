"""Randomised crafted federations for the PROVEN kinds: built to make later steps amplify a record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.accounting import epsilon
from discreet.audit.sensitivity import EqualCoins
from discreet.data import Records
from discreet.kinds import (
    ClippedUpdate,
    ConvexHead,
    LocalSgd,
    OneRelease,
    Sharded,
    SingleStep,
    StableSteps,
    TangentSteps,
)
from discreet.kinds.heads import head_on
from discreet.learning import local_update
from discreet.models import LinearHead, convexity, flatten
from discreet.models.described import count_outputs
from discreet.privacy.events import GaussianNoise, Release
from discreet.privacy.units import Unit
from discreet.randomness import SeededRandom
from tests.support.threshold_attack import threshold_attack

Floats = npt.NDArray[np.float64]

_GUARD_EDGE = 0.999
_HIDDEN = 4


@dataclass(frozen=True, slots=True)
class Crafted:
    """One silo of a federation, its neighbour, the public model and how it is trained and hidden.

    Attributes:
        kind: a PROVEN kind of local training.
        model: a linear head, or a small network for tangent-steps; scratch space.
        parameters: the public weights.
        outside: the silo without the target unit.
        inside: the silo with it.
        noise_multiplier: summed noise deviation ÷ claimed sensitivity.
    """

    kind: OneRelease
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
        """Returns the largest ε that threshold attacks on the released sum show, over ``coins`` draws.

        Some attacks are told the silo's coins as well: the proofs hold for any coins, so this must not help.
        """
        seeds = [int(word) >> 1 for word in randomness.words(coins)]
        outside, inside = (
            np.stack([self._update(records, seed) for seed in seeds])
            for records in (self.outside, self.inside)
        )
        stddev = self.noise_multiplier * self.kind.l2_sensitivity()
        told = [slice(None), *(slice(row, row + 1) for row in range(coins))]
        return max(threshold_attack(outside[rows], inside[rows], stddev=stddev, delta=delta) for rows in told)

    def _update(self, records: Records, seed: int) -> Floats:
        return local_update(self.kind, self.model, self.parameters, records, EqualCoins(seed)).vector


def crafted_federations(count: int, randomness: SeededRandom) -> Iterator[Crafted]:
    """Yields ``count`` randomised federations, all PROVEN kinds in turn."""
    for number in range(count):
        yield _crafted(number, randomness.derive(number))


@dataclass(frozen=True, slots=True)
class _Size:
    """Of one silo and its training; ``share`` is how much of the allowed learning rate is used."""

    features: int
    outputs: int
    records: int
    steps: int
    share: float


def _crafted(number: int, source: SeededRandom) -> Crafted:
    """Draws sizes, weights and records; the others stand where the target's step moves them."""
    draws = source.uniform(8)
    width, others, outputs = 2 + int(3 * draws[0]), 3 + int(20 * draws[1]), (1, 3)[int(2 * draws[2])]
    steps, share = 2 + int(6 * draws[3]), 0.1 + 0.9 * float(draws[4])
    model, kind = _training(number, _Size(width, outputs, others + 1, steps, share))
    direction = _unit(source.derive("direction"), width)
    lean = 0.2 + 0.7 * float(draws[5])
    group = _amplifiers(source.derive("others"), direction, lean, others)
    labels = source.derive("labels").integers_below(others + 1, max(2, outputs))
    labels[:-1] = labels[0]
    scale = 10.0 ** (3.0 * float(draws[6]) - 1.0)
    if source.derive("poised").bernoulli(1, 0.5)[0]:
        # In pairs that disagree, near the middle of the loss: they pull nowhere until something moves them.
        group, labels[:-1], scale = np.repeat(group, 2, axis=0)[:others], np.arange(others) % 2, 0.1
    features = np.concatenate([group, direction[None, :]])
    inside = Records(features.astype(np.float32), labels)
    outside = inside.take(np.arange(0 if kind.unit is Unit.CLIENT else others))
    parameters = scale * (source.derive("weights").uniform(len(flatten(model))) - 0.5)
    return Crafted(kind, model, parameters, outside, inside, noise_multiplier=0.5 + 3.5 * float(draws[7]))


def _training(number: int, size: _Size) -> tuple[nn.Module, OneRelease]:
    """Takes the kinds in turn, with learning rates up to the edge of what they allow."""
    model, rate = LinearHead(size.features, size.outputs), 10.0 * size.share
    match number % 5:
        case 0:
            return model, _stable_steps(model, size)
        case 1:
            local = LocalSgd(rate, batch_size=2, epochs=size.steps, momentum=0.5)
            return model, Sharded(clip_norm=1.0, groups=3, local=local)
        case 2:
            return model, ClippedUpdate(1.0, rate, batch_size=2, epochs=size.steps, momentum=0.5)
        case 3:
            return model, SingleStep(clip_norm=0.5 * size.share)
        case _:
            network = nn.Sequential(
                nn.Linear(size.features, _HIDDEN), nn.Tanh(), nn.Linear(_HIDDEN, size.outputs)
            )
            return network, _tangent_steps(network, size)


def _stable_steps(model: nn.Module, size: _Size) -> StableSteps:
    head = convexity(model)
    if head is None:  # a LinearHead always is
        raise TypeError("stable-steps needs a convex head.")
    return StableSteps(
        loss=head,
        norm_bound=1.0,
        learning_rate=_longest_rate(head, 1.0, size),
        steps=size.steps,
        record_capacity=size.records,
    )


def _tangent_steps(network: nn.Module, size: _Size) -> TangentSteps:
    """With a clipping norm that the spread of most records exceeds."""
    loss, clip_norm = head_on(count_outputs(network, (size.features,))), 2.0 * size.share
    return TangentSteps(
        loss=loss,
        norm_bound=clip_norm,
        learning_rate=_longest_rate(loss, clip_norm, size),
        steps=size.steps,
        record_capacity=size.records,
    )


def _longest_rate(loss: ConvexHead, norm_bound: float, size: _Size) -> float:
    """Takes a share of γ = 2/(β·b); the guard b is at most the capacity, so the rate is always allowed."""
    return _GUARD_EDGE * size.share * 2.0 / (loss.smoothness(norm_bound) * size.records)


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
