"""What everyone may know of a public model besides its name; for a linear head without making it."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.data.labels import NUMBER
from discreet.errors import ConfigurationError

LINEAR = "logistic"
"""The bundled name of a linear head: logistic regression, or softmax for more than two classes."""

ORDINAL = "ordinal"
"""The bundled name of a linear head for levels in an order: cumulative logits."""

LINEAR_HEADS = (LINEAR, ORDINAL)

LEAST_VARIANCE = 1e-3
"""Running variances of batch norm that noise brings below this are read as this; public."""

NORMALISES = (
    "the model that the plan names is a function of its weights and of the records of a local step, and where"
    " it answers, of one record alone: it keeps nothing from call to call but running statistics, which are "
    "weights, and has numbers for every two records or more, whatever they hold"
)
"""What is assumed of a model with batch norm."""

_MAIN = "__main__:"


def names_own_code(name: str) -> bool:
    """Says whether a model is ``module:factory``, which somebody has to import, and none that is bundled."""
    return ":" in name


def defined_in_main(name: str) -> bool:
    """Says whether a model is made by the script or notebook that runs: no other process finds it."""
    return name.startswith(_MAIN)


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Public facts of a model.

    Attributes:
        dimension: number of trained weights.
        model_digest: SHA-256 of architecture and initial weights, frozen ones included.
        outputs: logits for a record; one output is binary, several are classes, or labels.
        linear: whether it is a linear head, whose loss is convex.
        batch_norm_channels: channels whose running mean and variance are weights too: the last of a vector,
            all means before all variances.
    """

    dimension: int
    model_digest: str
    outputs: int
    linear: bool
    batch_norm_channels: int = 0


def digest_of(architecture: str, initial: Floats, frozen: bytes = b"") -> str:
    """Returns the SHA-256 that plans name.

    Args:
        architecture: how torch writes the model down.
        initial: trainable weights, float64, shape ``(d,)``.
        frozen: SHA-256 of those that are not trained; empty where all are.
    """
    return hashlib.sha256(architecture.encode() + initial.tobytes() + frozen).hexdigest()


def answers_facts(dimension: int) -> ModelFacts:
    """Returns the facts of what holds the sums of questions, which starts at zero."""
    return ModelFacts(dimension, digest_of("Answers()", np.zeros(dimension)), outputs=1, linear=False)


def require_classes(num_classes: int) -> None:
    """Refuses a model without answers; `NUMBER` of classes is a label that is a number."""
    if not num_classes >= NUMBER:
        raise ConfigurationError(
            f"A model needs at least 2 classes, or {NUMBER} for a number; got {num_classes}."
        )


def linear_outputs(num_classes: int) -> int:
    """Returns the logits of a linear head: one for two classes or a number, else one for each."""
    return 1 if num_classes == 2 else num_classes


JOINT = "JointLabels"
"""What gives several labels' logits as those of all their combinations; `discreet.models.joint` has it."""


def linear_facts(feature_shape: tuple[int, ...], num_classes: int, labels: int = 0) -> ModelFacts:
    """Returns the facts of the bundled linear head, which starts at zero; of ``labels`` of them, if any.

    Guarantee:
        They are those that `discreet.models.described` finds of the model when it is made.

    Raises:
        ConfigurationError: for no class.
    """
    require_classes(num_classes)
    outputs = labels or linear_outputs(num_classes)
    dimension = outputs * math.prod(feature_shape)
    written = f"{JOINT}(\n  (network): LinearHead()\n)" if labels else "LinearHead()"
    return ModelFacts(dimension, digest_of(written, np.zeros(dimension)), outputs, linear=True)
