"""Can silos train from the weights that a training begins at? Both limits are public before it is agreed."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.plan.plan import Plan

LARGEST_WEIGHT = 2.0**40
"""Largest weight of a model that a silo trains from: far above what training reaches, and low enough that a
product of three weights stays a float32, whose range ends at 2^128."""


def require_start(plan: Plan, start: Floats) -> None:
    """Refuses weights to begin at from which silos would refuse to train, or could not within the slack.

    Nobody knows the weights of a later round, which every round looks at again; here those of the first round
    of each segment, and of the last of all, are as long as those that training begins at.

    Args:
        plan: of a training.
        start: the trained weights before the first round, shape ``(d,)``.

    Raises:
        ConfigurationError: naming `LARGEST_WEIGHT`, or the silo and round whose float64 rounding could take
            more than its part of the sensitivity.
    """
    key = "model.name" if plan.model.pretrained is None else "model.pretrained"
    largest = float(np.abs(start).max(initial=0.0))
    if not largest <= LARGEST_WEIGHT:
        raise ConfigurationError(
            f"{key!r} must begin at weights of at most {LARGEST_WEIGHT:g} in absolute value; got "
            f"{largest:.3g}. Begin at smaller weights."
        )
    order, norm = plan.order, float(np.linalg.norm(start))
    features = math.prod(plan.model_shape)
    last = order.releases - (order.every is not None)
    for release in sorted({*order.beginnings, last}):
        for silo in plan.facts.silos:
            share = plan.silo_training(silo, release).rounding_share(features, norm)
            if not share <= 1.0:
                raise ConfigurationError(
                    f"{key!r} must begin at weights short enough that float64 rounding stays within the "
                    f"claimed sensitivity; from a norm of {norm:.3g} it could be {share:.3g} times what is "
                    f"allowed for at {silo} in {order.name(release)}. Begin at shorter weights (a smaller "
                    "'scale' of head_of_texts), or use a higher 'training.local.learning_rate'."
                )
