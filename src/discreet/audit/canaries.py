"""Canaries: units that an audit adds by its own coins, so that it knows the right answers to its guesses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from torch import nn

from discreet.arrays import Booleans, Floats, Integers
from discreet.audit.training import rehearsed_round
from discreet.data import Federation, Records, Silo
from discreet.data.federation import joined
from discreet.data.labels import extreme_labels
from discreet.encoding import Rotation
from discreet.errors import ConfigurationError
from discreet.kinds import Asked, OneRelease
from discreet.learning import local_update
from discreet.plan import Plan
from discreet.privacy.events import SampledChange
from discreet.privacy.units import NeighboringRelation
from discreet.randomness import SeededRandom
from discreet.statistics.contribution import asked_vector

# Candidates for each record that is kept.
_CANDIDATES = 8
# Records of a person that is a canary; their weights add up to no more than 1, however many they are.
_MOST_OF_A_PERSON = 3


class Directions(Protocol):
    """The contributions of m canaries to a round at one public model, grid units."""

    def project(self, vector: Floats) -> Floats:
        """Returns the inner product of ``vector``, shape ``(d,)``, with each contribution, ``(m,)``."""

    def squared_norms(self) -> Floats:
        """Returns the squared L2 norm of each contribution, ``(m,)``."""

    def expected(self, share: float) -> Floats | float:
        """Returns the others' mean part in a score if each takes part with probability ``share``."""


class Canaries(Protocol):
    """Units whose contribution to a round is a function of the public model alone."""

    @property
    def owner(self) -> str:
        """The silo whose update they are part of."""

    @property
    def opposed(self) -> bool:
        """Whether a canary that is out is replaced by its opposite."""

    @property
    def count(self) -> int:
        """How many there are."""

    def at(self, release: int, parameters: Floats, rotation: Rotation | None) -> Directions:
        """Returns the contributions to a round that starts from ``parameters`` and rotates updates."""


@dataclass(frozen=True, slots=True)
class CoordinateCanaries:
    """Gradient-space canaries: each moves one coordinate by the whole planned sensitivity.

    No record can do more under the plan, and different canaries do not disturb each other: the worst case of
    Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini, Terzis (2023), arXiv:2302.07956 ("Dirac").

    Attributes:
        owner: the silo whose update they are part of; it is honest.
        coordinates: one for each canary, distinct, shape ``(m,)``.
        height: grid units, at most the accounted sensitivity; whole unless noise comes before rounding.
        dimension: number of coordinates of the sum.
        opposed: whether a canary that is out is replaced by its opposite, as a record of a shard may be, or
            one that is exchanged for another.
    """

    owner: str
    coordinates: Integers
    height: float
    dimension: int
    opposed: bool

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.coordinates)

    def injected(self, included: Booleans, sampled: Booleans) -> Floats:
        """Returns the canaries' part of an update: ``height`` at the coordinates of those in it."""
        vector = np.zeros(self.dimension)
        vector[self.coordinates[included & sampled]] = self.height
        if self.opposed:
            vector[self.coordinates[~included & sampled]] = -self.height
        return vector

    def at(self, release: int, parameters: Floats, rotation: Rotation | None) -> CoordinateCanaries:  # noqa: ARG002
        """Returns itself: these canaries are made of grid units and the same in every round."""
        return self

    def project(self, vector: Floats) -> Floats:
        """Reads the coordinates."""
        return vector[self.coordinates] * self.height

    def squared_norms(self) -> Floats:
        """Returns ``height`` squared, m times."""
        return np.full(self.count, self.height**2)

    def expected(self, share: float) -> float:  # noqa: ARG002 - canaries do not meet
        """Returns zero: a canary is alone on its coordinate."""
        return 0.0


@dataclass(frozen=True, slots=True)
class RecordDirections:
    """Lone updates of crafted records, shape ``(m, d)``, grid units."""

    updates: Floats

    def project(self, vector: Floats) -> Floats:
        """Returns inner products."""
        return np.asarray(self.updates @ vector)

    def squared_norms(self) -> Floats:
        """Returns squared norms."""
        return np.asarray(np.square(self.updates).sum(axis=1))

    def expected(self, share: float) -> Floats:
        """Returns the mean contribution of the other canaries along each one."""
        return share * (self.project(self.updates.sum(axis=0)) - self.squared_norms())


@dataclass(frozen=True, slots=True)
class RecordCanaries:
    """Input-space canaries: crafted units that go through clipping and local training like all others.

    Attributes:
        plan: the agreement.
        model: the architecture; scratch space.
        owner: name of the silo that holds them.
        records: the crafted records, with whose each is where persons are the unit, numbered from 0.
    """

    plan: Plan
    model: nn.Module
    owner: str
    records: Records

    @property
    def opposed(self) -> bool:
        """False: a record that is out is not replaced."""
        return False

    @property
    def count(self) -> int:
        """How many there are."""
        persons = self.records.persons
        return len(self.records) if persons is None else int(persons.max(initial=-1)) + 1

    def unit(self, number: int) -> Records:
        """Returns the records of one canary."""
        return self.some(np.arange(self.count) == number)

    def some(self, chosen: Booleans) -> Records:
        """Returns the records of the canaries that are ``chosen``, shape ``(m,)``."""
        persons = self.records.persons
        return self.records.take(chosen if persons is None else chosen[persons])

    def at(self, release: int, parameters: Floats, rotation: Rotation | None) -> RecordDirections:
        """Computes the update that each record makes alone, sampled for certain."""
        training, weights = rehearsed_round(self.plan, self.owner, release, parameters)
        rows = [
            _lone_update(training, self.model, weights, self.unit(number)) for number in range(self.count)
        ]
        rotated = rows if rotation is None else [rotation.forward(row) for row in rows]
        return RecordDirections(np.stack(rotated) * self.plan.stage_of(release).grid.scale)


def coordinate_canaries(plan: Plan, count: int, randomness: SeededRandom) -> CoordinateCanaries:
    """Chooses ``count`` weights at random, at most `participation.most_canaries`.

    Their owner is a silo that survives and never colludes.

    Raises:
        ConfigurationError: if noise comes after rounding and the sensitivity is below one grid unit.
    """
    sensitivity = plan.grid.l2_sensitivity
    height = sensitivity if plan.grid.noise_first else float(math.floor(sensitivity))
    if not height > 0.0:
        raise ConfigurationError(
            "the sensitivity after rounding must be at least one grid unit to place a canary; "
            f"got {sensitivity}. Raise 'aggregation.bits', or set 'aggregation.noise_first'."
        )
    owner = plan.facts.silos[plan.thresholds.min_survivors - 1]
    # Replacing turns a contribution into its opposite at worst; presence and absence differ by one.
    opposed = plan.release.change is SampledChange.REPLACED or is_exchange(plan)
    coordinates = randomness.permutation(plan.facts.dimension)[:count]
    return CoordinateCanaries(owner, coordinates, height, plan.grid.dimension, opposed)


def is_exchange(plan: Plan) -> bool:
    """Says whether neighbours differ in what one unit is, and not in whether it is there."""
    return plan.release.neighboring is NeighboringRelation.REPLACE_ONE


def record_canaries(plan: Plan, model: nn.Module, count: int, randomness: SeededRandom) -> RecordCanaries:
    """Crafts records of the largest norm that is allowed, in random directions, with random labels.

    Where persons are asked, each has some of them, alike. They belong to the silo of largest capacity; at
    most half of that capacity is used.
    """
    owner, capacity = max(zip(plan.facts.silos, plan.capacities, strict=True), key=lambda pair: pair[1])
    records, training = (
        crafted_records(plan, min(count, capacity // 2), randomness),
        plan.silo_training(owner),
    )
    if isinstance(training, Asked) and training.persons is not None:
        each = min(training.persons.most_records, _MOST_OF_A_PERSON)
        persons = np.repeat(np.arange(len(records)), each)
        records = replace(records.take(persons), persons=persons)
    return RecordCanaries(plan, model, owner, records)


def crafted_records(plan: Plan, count: int, randomness: SeededRandom) -> Records:
    """Draws records on the sphere of allowed features, or uniform noise where no bound is stated.

    Where questions are asked, they are those of many that move the sum furthest.
    """
    if plan.questions:
        return _asked_records(plan, plan.answers, count, randomness)
    shape, bound = plan.facts.feature_shape, plan.facts.feature_norm_bound
    noise = randomness.uniform(count * math.prod(shape)).reshape(count, -1)
    if bound is not None:
        noise -= 0.5
        # Scaled in float64 and a little inward, so that rounding to float32 stays inside.
        noise *= bound * (1.0 - 2.0**-20) / np.linalg.norm(noise, axis=1, keepdims=True)
    known = extreme_labels(plan.facts.num_classes)
    labels = known[randomness.integers_below(count, len(known))]
    return Records(noise.reshape(count, *shape).astype(np.float32), labels)


def _asked_records(plan: Plan, asked: Asked, count: int, randomness: SeededRandom) -> Records:
    """Draws records at the ends of all ranges, and keeps those whose vectors are longest and furthest apart.

    In products of numbers nothing is longer than the ends.
    """
    drawn, shape = _CANDIDATES * count, plan.facts.feature_shape
    high = randomness.derive("ends").bernoulli(drawn * math.prod(shape), 0.5)
    bound = plan.facts.feature_norm_bound or math.inf
    # A little inward, so that rounding to float32 stays inside.
    end = min(1.0, bound * (1.0 - 2.0**-20) / math.sqrt(math.prod(shape)))
    features = np.where(high, end, -end).astype(np.float32).reshape(drawn, *shape)
    known = extreme_labels(plan.facts.num_classes)
    labels = known[randomness.derive("labels").integers_below(drawn, len(known))]
    alone = replace(asked, persons=None)
    vectors = np.stack(
        [asked_vector(alone, features[row : row + 1], labels[row : row + 1]) for row in range(drawn)]
    )
    met, kept = np.zeros(len(vectors[0])), list[int]()
    for _ in range(count):
        # As long as can be, and along what was kept before as little as can be.
        merit = np.square(vectors).sum(axis=1) - vectors @ met / max(1, len(kept))
        merit[kept] = -np.inf
        kept.append(int(merit.argmax()))
        met += vectors[kept[-1]]
    return Records(features[kept], labels[kept])


def with_canaries(federation: Federation, plan: Plan, canaries: RecordCanaries) -> Federation:
    """Returns the federation that the adversary knows: room is made for all canaries, none is in it yet."""
    capacity = plan.capacities[plan.facts.silos.index(canaries.owner)]
    own = federation.silo(canaries.owner).train
    units = np.arange(len(own)) if own.persons is None else np.unique(own.persons, return_inverse=True)[1]
    kept = own.take(units < max(1, capacity - canaries.count))
    return replace_train(federation, canaries.owner, kept)


def add_records(federation: Federation, silo: str, added: Records) -> Federation:
    """Returns the federation with ``added`` after the training records of ``silo``."""
    return replace_train(federation, silo, joined([federation.silo(silo).train, added]))


def replace_train(federation: Federation, name: str, train: Records) -> Federation:
    """Returns the federation with other training records in one silo."""
    silos = tuple(
        Silo(silo.name, train, silo.test) if silo.name == name else silo for silo in federation.silos
    )
    return Federation(
        name=federation.name,
        silos=silos,
        num_classes=federation.num_classes,
        feature_shape=federation.feature_shape,
        feature_norm_bound=federation.feature_norm_bound,
        outcome=federation.outcome,
    )


def _lone_update(training: OneRelease, model: nn.Module, parameters: Floats, record: Records) -> Floats:
    """Returns the update of a silo with one unit, tossing its coin until it is sampled."""
    source = SeededRandom(0)
    while True:
        update = local_update(training, model, parameters, record, source)
        if update.batch:
            return update.vector
