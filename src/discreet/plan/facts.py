"""What everyone may know before training: the public facts that a plan rests on besides the config."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from discreet.config import Config
from discreet.config.data import part_taken
from discreet.data.map_answers import MapAnswers
from discreet.data.norm import LARGEST_NORM_BOUND, SMALLEST_NORM_BOUND
from discreet.data.split import OTHERS
from discreet.documents import shown
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.model_facts import ModelFacts
from discreet.secagg.terms import MAX_LENGTH
from discreet.secagg.wire import MAX_CLIENTS

_LONGEST_NAME = 200
_MOST_AXES = 8
# Features times classes, a linear head: whoever reads a plan builds its model before anything else is known.
_LARGEST_HEAD = 1 << 26
_MOST_FEATURES = 1 << 18
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FederationFacts:
    """Names and shapes, never counts or statistics of private records.

    Attributes:
        silos: names of the silos, in the order that every party uses.
        feature_shape: shape of one record's features.
        num_classes: labels are 0 … num_classes - 1; 1 where the label is a number.
        feature_norm_bound: every record's features have L2 norm at most this, by construction; or None.
        dimension: number of trained weights.
        model_digest: SHA-256 of the public initial weights and of the architecture.
        outputs: logits of the model.
        linear: whether the model is a linear head, whose loss is convex.
        batch_norm_channels: channels of the model whose running mean and variance are weights too.
        map_answers: what the feature map says of public records, if its code or its weights are somebody's
            own.

    Raises:
        ConfigurationError: for facts that no federation has, which would make a model of any size.
    """

    silos: tuple[str, ...]
    feature_shape: tuple[int, ...]
    num_classes: int
    feature_norm_bound: float | None
    dimension: int
    model_digest: str
    outputs: int
    linear: bool
    batch_norm_channels: int = 0
    map_answers: MapAnswers | None = None

    def __post_init__(self) -> None:
        named = all(0 < len(name) <= _LONGEST_NAME and name.isprintable() for name in self.silos)
        if not (named and 1 <= len(set(self.silos)) == len(self.silos) <= MAX_CLIENTS):
            raise self._wrong(
                "silos", f"up to {MAX_CLIENTS} distinct names of 1 to {_LONGEST_NAME} characters"
            )
        shape, classes = self.feature_shape, self.num_classes
        if not (0 < len(shape) <= _MOST_AXES and min(shape) >= 1 and math.prod(shape) <= _LARGEST_HEAD):
            raise self._wrong(
                "feature_shape", f"1 to {_MOST_AXES} positive lengths of product {_LARGEST_HEAD} at most"
            )
        if not 1 <= classes * math.prod(shape) <= _LARGEST_HEAD:
            raise self._wrong(
                "num_classes", f"positive, and {_LARGEST_HEAD} at most if multiplied by the features"
            )
        # What such a model computes of two records may be many times its weights.
        if not (self.linear or math.prod(shape) <= _MOST_FEATURES):
            raise self._wrong(
                "feature_shape", f"of product {_MOST_FEATURES} at most, unless the model is linear"
            )
        if not 1 <= self.dimension <= MAX_LENGTH:
            raise self._wrong("dimension", f"1 to {MAX_LENGTH}")
        bound = self.feature_norm_bound
        if not (bound is None or SMALLEST_NORM_BOUND <= bound <= LARGEST_NORM_BOUND):
            raise self._wrong("feature_norm_bound", "from 2^-40 to 2^40, or none")
        if not _DIGEST.fullmatch(self.model_digest):
            raise self._wrong("model_digest", "64 hexadecimal digits")
        if not 1 <= self.outputs <= self.dimension:
            raise self._wrong("outputs", f"1 to the number of weights, {self.dimension}")
        if not 0 <= 2 * self.batch_norm_channels < self.dimension:
            raise self._wrong("batch_norm_channels", "0, or fewer than half of the weights")

    def _wrong(self, name: str, allowed: str) -> ConfigurationError:
        got = shown(repr(getattr(self, name)), 100)
        return ConfigurationError(f"'facts.{name}' must be {allowed}; got {got}. Plan again.")

    @property
    def model(self) -> ModelFacts:
        """Those of the model."""
        return ModelFacts(
            self.dimension, self.model_digest, self.outputs, self.linear, self.batch_norm_channels
        )


def federation_facts(
    silos: tuple[str, ...],
    *,
    feature_shape: tuple[int, ...],
    num_classes: int,
    feature_norm_bound: float | None,
    model: ModelFacts,
    map_answers: MapAnswers | None = None,
) -> FederationFacts:
    """Returns the facts of a federation that trains a model.

    Raises:
        ConfigurationError: for facts that no federation has.
    """
    return FederationFacts(
        silos=silos,
        feature_shape=feature_shape,
        num_classes=num_classes,
        feature_norm_bound=feature_norm_bound,
        dimension=model.dimension,
        model_digest=model.model_digest,
        outputs=model.outputs,
        linear=model.linear,
        batch_norm_channels=model.batch_norm_channels,
        map_answers=map_answers,
    )


def record_capacities(config: Config, silos: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the public bound on every silo's training records (or persons), in the order of ``silos``.

    Raises:
        ConfigurationError: if it is missing, or does not name exactly the silos of the data.
    """
    capacity, person = config.data.unit_capacity, config.data.person
    key = "data.record_capacity" if person is None else "data.person.capacity"
    if capacity is None:
        raise ConfigurationError(
            "'data.record_capacity' must be given: a public upper bound on the "
            f"{part_taken(config.data)}records of a silo (one number, or one for each silo). It sizes "
            "the ring, and it is public: do not count records.",
            see=HowTo.RING,
        )
    if isinstance(capacity, int):
        return (capacity,) * len(silos)
    others = dict.fromkeys(silos, capacity[OTHERS]) if OTHERS in capacity else {}
    named = others | {silo: bound for silo, bound in capacity.items() if silo != OTHERS}
    if set(named) != set(silos):
        odd = sorted(set(named) ^ set(silos))
        raise ConfigurationError(
            f"'{key}' must name every silo once ({', '.join(silos)}); it differs in: {', '.join(odd)}."
        )
    return tuple(named[silo] for silo in silos)
