"""What everyone may know before training: the public facts that a plan rests on besides the config."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from torch import nn

from discreet.config import Config
from discreet.errors import ConfigurationError, HowTo
from discreet.models import flatten


@dataclass(frozen=True, slots=True)
class FederationFacts:
    """Names and shapes, never counts or statistics of private records.

    Attributes:
        silos: names of the silos, in the order that every party uses.
        feature_shape: shape of one record's features.
        num_classes: labels are 0 … num_classes - 1.
        feature_norm_bound: every record's features have L2 norm at most this, by construction; or None.
        dimension: number of trainable weights.
        model_digest: SHA-256 of the public initial weights and of the architecture.
    """

    silos: tuple[str, ...]
    feature_shape: tuple[int, ...]
    num_classes: int
    feature_norm_bound: float | None
    dimension: int
    model_digest: str


def model_digest(model: nn.Module) -> str:
    """Returns the SHA-256 of architecture and initial weights that plans name."""
    return hashlib.sha256(repr(model).encode() + flatten(model).tobytes()).hexdigest()


def record_capacities(config: Config, silos: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the public bound on every silo's training records, in the order of ``silos``.

    Raises:
        ConfigurationError: if it is missing, or does not name exactly the silos of the data.
    """
    capacity = config.data.record_capacity
    if capacity is None:
        raise ConfigurationError(
            "'data.record_capacity' must be given: a public upper bound on the training records of a silo "
            "(one number, or one for each silo). It sizes the ring, and it is public: do not count records.",
            see=HowTo.RING,
        )
    if isinstance(capacity, int):
        return (capacity,) * len(silos)
    if set(capacity) != set(silos):
        odd = sorted(set(capacity) ^ set(silos))
        raise ConfigurationError(
            f"'data.record_capacity' must name every silo once ({', '.join(silos)}); "
            f"it differs in: {', '.join(odd)}."
        )
    return tuple(capacity[silo] for silo in silos)
