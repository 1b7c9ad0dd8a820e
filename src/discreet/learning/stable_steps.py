r"""The arithmetic of stable-steps: gradient steps of a linear head on disjoint random batches, in float64."""

from __future__ import annotations

import numpy as np
from torch import nn

from discreet.arrays import Float32s, Floats, Indices, Integers
from discreet.data.records import Records
from discreet.errors import PrivacyViolation, UnsupportedAnalysisError
from discreet.kinds.batch_guard import guarded_batches, random_order, require_capacity
from discreet.kinds.float_error import (
    FEATURE_NORM_TOLERANCE,
    project,
)
from discreet.kinds.huber import Huber
from discreet.kinds.stable_steps import StableSteps
from discreet.kinds.stated_loss import StatedLoss, require_as_stated
from discreet.kinds.weighted import linear_head_of, unweighted
from discreet.learning.clipping.linear import flat_features
from discreet.learning.losses import last_class
from discreet.learning.units import Units, units_of
from discreet.learning.updates import LocalUpdate
from discreet.models.convexity import convexity
from discreet.randomness import RandomSource
from discreet.sampling import Poisson

# Rows of so many units that take a step each are brought into the ball together: float64 in the cache.
_UNITS_AT_ONCE = 256


def stable_update(
    kind: StableSteps, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
) -> LocalUpdate:
    """Takes the steps, in float64; see the class for what is guaranteed.

    Raises:
        UnsupportedAnalysisError: if the model is not the planned convex head.
        PrivacyViolation: if a batch or the record count exceeds its public bound, or the weights are so
            large that rounding could.
    """
    _require_head(kind, model)
    if isinstance(stated := unweighted(kind.loss), StatedLoss):
        require_as_stated(stated, last_class(stated.outputs) + 1)
    units = units_of(records, kind.persons)
    require_capacity(units.count, kind.record_capacity)
    features = flat_features(records)
    start = parameters.reshape(kind.loss.outputs, -1)
    _require_exact(kind, start, features.shape[1])
    entered = Poisson(kind.sampling_prob).draw(units.count, randomness)
    weights, total_loss = start, 0.0
    for _ in range(kind.passes):
        for together in _blocks(kind, entered, randomness):
            rows, ends = _rows(kind, together, units, records.labels)
            block, labels, shares = _in_ball(kind, features[rows]), records.labels[rows], units.weights(rows)
            begin = 0
            for end in ends:
                own = slice(begin, end)
                part = None if shares is None else shares[own]
                weights, loss = _step(kind, weights, block[own], labels[own], part)
                total_loss, begin = total_loss + loss, end
    moved = (weights - start).ravel()
    mean_loss = total_loss / max(1, kind.passes * len(entered))
    return LocalUpdate(project(moved, kind.projection_radius), mean_loss, len(entered))


def _blocks(kind: StableSteps, entered: Indices, randomness: RandomSource) -> list[Indices]:
    """Returns the units of each step in turn; or some of those that take one each, in their order."""
    if kind.steps is not None:
        return guarded_batches(entered, kind.steps, kind.guard(), randomness)
    order = random_order(entered, randomness)
    return [order[first : first + _UNITS_AT_ONCE] for first in range(0, len(order), _UNITS_AT_ONCE)]


def _rows(kind: StableSteps, together: Indices, units: Units, labels: Integers) -> tuple[Indices, list[int]]:
    """Returns the rows of some units whose label is a class or number; where each step ends among them."""
    rows = units.rows(together)
    number = isinstance(kind.loss, Huber)
    known = number | (labels[rows] < linear_head_of(kind.loss).num_classes)
    if kind.steps is not None:
        return rows[known], [int(known.sum())]
    ends = np.cumsum(known)[np.cumsum(units.sizes(together)) - 1]
    return rows[known], ends.tolist()


def _step(
    kind: StableSteps, weights: Floats, batch: Floats, labels: Integers, shares: Floats | None
) -> tuple[Floats, float]:
    """One gradient step on the sum over ``batch``, each row by its share; returns weights and summed loss."""
    decay = 1.0 - kind.learning_rate * kind.l2_regulariser
    if not len(labels):  # most steps, where there are more of them than records
        return decay * weights, 0.0
    logits = batch @ weights.T
    losses, residuals = kind.loss.losses_and_residuals(logits, labels)
    if shares is not None:
        losses, residuals = shares * losses, shares[:, None] * residuals
    gradient = residuals.T @ batch
    return decay * weights - kind.learning_rate * gradient, float(losses.sum())


def _require_head(kind: StableSteps, model: nn.Module) -> None:
    found = convexity(model)
    if not found == linear_head_of(kind.loss):
        raise UnsupportedAnalysisError(
            f"stable-steps is proven for the planned linear head {kind.loss}; the model is "
            f"{type(model).__name__} with {found or 'no known convex head'}. Use a linear head, or a "
            "kind for any network: tangent-steps or sharded (several steps), or single-step."
        )


def _in_ball(kind: StableSteps, features: Float32s) -> Floats:
    """Returns the features in float64, longer ones scaled down to the bound.

    Scaling is continuous, so it does not matter what rounding makes of a norm next to the bound. Leaving
    such a record out would be decided by the last bit of its norm.
    """
    exact: Floats = features.astype(np.float64)
    limit = kind.norm_bound * (1.0 + FEATURE_NORM_TOLERANCE)
    norms = np.sqrt(np.vecdot(exact, exact))
    if bool(np.all(norms <= limit)):
        return exact
    exact *= (limit / np.maximum(norms, limit))[:, None]
    return exact


def _require_exact(kind: StableSteps, start: Floats, num_features: int) -> None:
    """Checks, from public numbers only, that rounding stays within the claimed slack."""
    norm = float(np.linalg.norm(start))
    if not kind.rounding_share(num_features, norm) <= 1.0:
        raise PrivacyViolation(
            "float64 rounding must stay within the claimed sensitivity: the weights are too long for the "
            f"learning rate (norm {norm:.3g}, rate {kind.learning_rate:.3g}). Lower the server's rate, use a "
            "slower 'training.local.decay', or start from shorter weights."
        )
