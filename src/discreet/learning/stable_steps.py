r"""Stable-steps: many local steps of a convex model at the sensitivity of one (theory §2.4); record unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import nn

from discreet.arrays import Float32s, Floats, Integers
from discreet.data.records import Records
from discreet.errors import PrivacyViolation, UnsupportedAnalysisError
from discreet.learning.batch_guard import guarded_batches, require_capacity
from discreet.learning.clipping.linear import flat_features
from discreet.learning.contract import LocalUpdate
from discreet.learning.convex_steps import ConvexSteps
from discreet.learning.float_error import (
    FEATURE_NORM_TOLERANCE,
    FLOAT_SLACK,
    linear_step_error,
    project,
)
from discreet.learning.losses import last_class
from discreet.models.capped import linear_head_of
from discreet.models.convexity import convexity
from discreet.randomness import RandomSource
from discreet.sampling import Poisson


@dataclass(frozen=True, slots=True)
class StableSteps(ConvexSteps):
    r"""Gradient steps on disjoint random batches; unclipped, because each step is non-expansive.

    Step s moves the weights by -γ(Σ_batch ∇f + λ·weights). The update is how far the last step ended from
    the first. The loss is that of the model's convex head, from `discreet.models.convexity`, perhaps capped;
    ``norm_bound`` is that of the features, constant feature included. Longer features are scaled down to it;
    a record whose label is not one of the classes contributes zero. The guarantee is that of `ConvexSteps`.

    Attributes:
        l2_regulariser: λ, on the scale of the sum over one batch.
    """

    name: ClassVar[str] = "stable-steps"

    l2_regulariser: float = 0.0

    @property
    def assumptions(self) -> tuple[str, ...]:
        """None: steps are continuous functions of bounded features in float64, whose rounding is bounded."""
        return ()

    @property
    def regulariser(self) -> float:
        """λ."""
        return self.l2_regulariser

    def update(
        self, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
    ) -> LocalUpdate:
        """Takes the steps, in float64; see the class for what is guaranteed.

        Raises:
            UnsupportedAnalysisError: if the model is not the planned convex head.
            PrivacyViolation: if a batch or the record count exceeds its public bound, or the weights are so
                large that rounding could.
        """
        self._require_head(model)
        require_capacity(len(records.labels), self.record_capacity)
        features = flat_features(records)
        start = parameters.reshape(self.loss.outputs, -1)
        self._require_exact(start, features.shape[1])
        entered = Poisson(self.sampling_prob).draw(len(records.labels), randomness)
        weights, total_loss = start, 0.0
        for _ in range(self.passes):
            for batch in guarded_batches(entered, self.steps, self.guard(), randomness):
                rows = batch[records.labels[batch] <= last_class(self.loss.outputs)]
                weights, loss = self._step(weights, self._in_ball(features[rows]), records.labels[rows])
                total_loss += loss
        moved = (weights - start).ravel()
        mean_loss = total_loss / max(1, self.passes * len(entered))
        return LocalUpdate(project(moved, self.projection_radius), mean_loss, len(entered))

    def _step(self, weights: Floats, batch: Floats, labels: Integers) -> tuple[Floats, float]:
        """One gradient step on the sum over ``batch``; returns the new weights and the summed loss."""
        logits = batch @ weights.T
        losses, residuals = self.loss.losses_and_residuals(logits, labels)
        gradient = residuals.T @ batch
        decay = 1.0 - self.learning_rate * self.l2_regulariser
        return decay * weights - self.learning_rate * gradient, float(losses.sum())

    def _require_head(self, model: nn.Module) -> None:
        found = convexity(model)
        if not found == linear_head_of(self.loss):
            raise UnsupportedAnalysisError(
                f"stable-steps is proven for the planned linear head {self.loss}; the model is "
                f"{type(model).__name__} with {found or 'no known convex head'}. Use a linear head, or a "
                "kind for any network: tangent-steps or sharded (several steps), or single-step."
            )

    def _in_ball(self, features: Float32s) -> Floats:
        """Returns the features in float64, longer ones scaled down to the bound.

        Scaling is continuous, so it does not matter what rounding makes of a norm next to the bound. Leaving
        such a record out would be decided by the last bit of its norm.
        """
        exact: Floats = features.astype(np.float64)
        limit = self.norm_bound * (1.0 + FEATURE_NORM_TOLERANCE)
        norms = np.sqrt(np.vecdot(exact, exact))
        if bool(np.all(norms <= limit)):
            return exact
        exact *= (limit / np.maximum(norms, limit))[:, None]
        return exact

    def _require_exact(self, start: Floats, num_features: int) -> None:
        """Checks, from public numbers only, that rounding stays within the claimed slack."""
        error = linear_step_error(
            num_features=num_features,
            outputs=self.loss.outputs,
            batch=self.guard().max_batch,
            feature_norm=self.norm_bound,
            weight_norm=float(np.linalg.norm(start)) + self.reach(),
            learning_rate=self.learning_rate,
        )
        slack = self.l2_sensitivity() * (FLOAT_SLACK - 2.0 * FEATURE_NORM_TOLERANCE) / (1.0 + FLOAT_SLACK)
        if not 2.0 * self.steps * self.passes * error <= slack:
            raise PrivacyViolation(
                "The weights have grown so large that float64 rounding could exceed the claimed sensitivity "
                f"(norm {float(np.linalg.norm(start)):.3g}). Lower the server's learning rate."
            )
