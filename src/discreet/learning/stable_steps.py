r"""Stable-steps: many local steps of a convex model at the sensitivity of one (theory §2.4); record unit."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation, UnsupportedAnalysisError
from discreet.learning.batch_guard import BatchGuard, batch_guard, guarded_batches, require_capacity
from discreet.learning.clipping.linear import flat_features
from discreet.learning.contract import LocalUpdate
from discreet.learning.float_error import (
    FEATURE_NORM_TOLERANCE,
    FLOAT_SLACK,
    linear_step_error,
    project,
    require_finite,
    with_slack,
)
from discreet.models.capped import ConvexLoss, linear_head_of
from discreet.models.convexity import convexity
from discreet.privacy.events import Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource
from discreet.sampling.samplers import Poisson

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StableSteps:
    r"""Gradient steps on disjoint random batches; unclipped, because each step is non-expansive.

    Every record enters a round with probability ``sampling_prob``; one that enters is given one of the
    ``steps`` uniformly. Step s moves the weights by -γ(Σ_batch ∇f + λ·weights). The update is how far the
    last step ended from the first.

    Guarantee:
        Adding or removing one sampled record moves the update by at most passes·γ·L for any number of steps,
        because f is convex, L-Lipschitz and β-smooth on features of norm at most R and γ(β·b + λ) ≤ 2 for
        every batch size b that is not aborted. Hardt, Recht, Singer (2016), Lemma 3.7 (convex gradient steps
        are non-expansive); Wu et al. (2017), Theorem 1, for noise added after the last step.

    Attributes:
        head: the convex head of the model, from `discreet.models.convexity`, perhaps capped; gives L and β.
        feature_norm_bound: R, public; constant feature included.
        learning_rate: γ, per record (steps follow the *sum* over the batch).
        steps: local steps a pass.
        record_capacity: public upper bound on the number of training records of this silo.
        sampling_prob: probability that a record enters a round.
        passes: how often each record that entered is used, with a fresh step each time.
        l2_regulariser: λ, on the scale of the sum over one batch.
        projection_radius: the update is projected onto the ball of this radius, which keeps the
            sensitivity and lets the ring be smaller; infinite leaves it alone.

    Raises:
        ConfigurationError: if a number is out of range, or γ(β·b_max + λ) > 2 for the batch guard b_max.
    """

    unit: ClassVar[Unit] = Unit.RECORD

    head: ConvexLoss
    feature_norm_bound: float
    learning_rate: float
    steps: int
    record_capacity: int
    sampling_prob: float = 1.0
    passes: int = 1
    l2_regulariser: float = 0.0
    projection_radius: float = math.inf

    def __post_init__(self) -> None:
        for name in ("learning_rate", "projection_radius", "feature_norm_bound"):
            if not getattr(self, name) > 0:
                raise ConfigurationError(
                    f"{name!r} of StableSteps must be positive; got {getattr(self, name)}."
                )
        for name in ("steps", "passes", "record_capacity"):
            if not getattr(self, name) >= 1:
                raise ConfigurationError(f"{name!r} of StableSteps must be >= 1; got {getattr(self, name)}.")
        if not 0.0 <= self.l2_regulariser < math.inf:
            raise ConfigurationError(
                f"'l2_regulariser' of StableSteps must be >= 0; got {self.l2_regulariser}."
            )
        Poisson(self.sampling_prob)
        self._require_non_expansive()

    def for_capacity(self, record_capacity: int, records_per_step: int) -> Self:
        """Returns these settings for another silo, with one step for every ``records_per_step`` records.

        Only γ, L and the number of passes enter the sensitivity, so silos may differ in their steps.
        """
        steps = math.ceil(record_capacity / records_per_step)
        return dataclasses.replace(self, steps=steps, record_capacity=record_capacity)

    def guard(self) -> BatchGuard:
        """Returns the largest batch that is not aborted, and the probability of an abort."""
        entry = self.sampling_prob / self.steps
        return batch_guard(self.record_capacity, entry, self.steps * self.passes)

    def l2_sensitivity(self) -> float:
        """passes·γ·L, enlarged for floating-point error."""
        lipschitz = self.head.lipschitz(self.feature_norm_bound)
        return with_slack(self.passes * self.learning_rate * lipschitz)

    def update_bound(self, record_capacity: int) -> float:
        """Every record moves the update by at most its own sensitivity; the projection may be tighter."""
        require_capacity(record_capacity, self.record_capacity)
        return min(record_capacity * self.l2_sensitivity(), with_slack(self.projection_radius))

    def failure_prob(self, record_capacity: int) -> float:
        """Probability that a batch exceeds the guard; the round is then aborted."""
        require_capacity(record_capacity, self.record_capacity)
        return self.guard().failure_prob

    def release_sampling(self) -> Sampling:
        """Poisson sampling of records, or none when all enter."""
        return Poisson(self.sampling_prob).event()

    def update(
        self, model: nn.Module, parameters: FloatArray, records: Records, randomness: RandomSource
    ) -> LocalUpdate:
        """Takes the steps, in float64; see the class for what is guaranteed.

        Raises:
            UnsupportedAnalysisError: if the model is not the planned convex head.
            PrivacyViolation: if a feature norm, a batch or the record count exceeds its public bound.
        """
        self._require_head(model)
        require_capacity(len(records.labels), self.record_capacity)
        features = flat_features(records)
        start = parameters.reshape(self.head.outputs, -1)
        self._require_exact(start, features.shape[1])
        entered = Poisson(self.sampling_prob).draw(len(records.labels), randomness)
        weights, total_loss = start, 0.0
        for _ in range(self.passes):
            for rows in guarded_batches(entered, self.steps, self.guard(), randomness):
                weights, loss = self._step(weights, features[rows].astype(np.float64), records.labels[rows])
                total_loss += loss
        moved = (weights - start).ravel()
        require_finite(moved, "The local update")
        mean_loss = total_loss / max(1, self.passes * len(entered))
        return LocalUpdate(project(moved, self.projection_radius), mean_loss, len(entered))

    def _step(
        self, weights: FloatArray, batch: FloatArray, labels: npt.NDArray[np.int64]
    ) -> tuple[FloatArray, float]:
        """One gradient step on the sum over ``batch``; returns the new weights and the summed loss."""
        self._require_norms(batch)
        logits = batch @ weights.T
        losses, residuals = self.head.losses_and_residuals(logits, labels)
        gradient = residuals.T @ batch
        decay = 1.0 - self.learning_rate * self.l2_regulariser
        return decay * weights - self.learning_rate * gradient, float(losses.sum())

    def _require_non_expansive(self) -> None:
        curvature = self.head.smoothness(self.feature_norm_bound) * self.guard().max_batch
        if not self.learning_rate * (curvature + self.l2_regulariser) <= 2.0:
            raise ConfigurationError(
                "stable-steps needs learning_rate * (smoothness * largest_batch + l2_regulariser) <= 2 to be "
                f"non-expansive; got learning_rate {self.learning_rate:.4g}, smoothness * largest_batch "
                f"{curvature:.4g} (batches of up to {self.guard().max_batch} records) and l2_regulariser "
                f"{self.l2_regulariser:.4g}. Use a learning_rate of at most "
                f"{2.0 / (curvature + self.l2_regulariser):.4g}, or more steps."
            )

    def _require_head(self, model: nn.Module) -> None:
        found = convexity(model)
        if not found == linear_head_of(self.head):
            raise UnsupportedAnalysisError(
                f"stable-steps is proven for the planned linear head {self.head}; the model is "
                f"{type(model).__name__} with {found or 'no known convex head'}. Use a linear head, or a "
                "kind for any network: tangent-steps or sharded (several steps), or single-step."
            )

    def _require_norms(self, features: FloatArray) -> None:
        limit = self.feature_norm_bound * (1.0 + FEATURE_NORM_TOLERANCE)
        if not bool(np.all(np.vecdot(features, features) <= limit**2)):
            raise PrivacyViolation(
                f"Every record's features must have norm at most {self.feature_norm_bound}; at least one has "
                "not. Scale records to the public bound when they are loaded."
            )

    def _require_exact(self, start: FloatArray, num_features: int) -> None:
        """Checks, from public numbers only, that rounding stays within the claimed slack."""
        reach = self.passes * self.record_capacity * self.learning_rate
        reach *= self.head.lipschitz(self.feature_norm_bound)
        error = linear_step_error(
            num_features=num_features,
            outputs=self.head.outputs,
            batch=self.guard().max_batch,
            feature_norm=self.feature_norm_bound,
            weight_norm=float(np.linalg.norm(start)) + reach,
            learning_rate=self.learning_rate,
        )
        slack = self.l2_sensitivity() * (FLOAT_SLACK - 2.0 * FEATURE_NORM_TOLERANCE) / (1.0 + FLOAT_SLACK)
        if not 2.0 * self.steps * self.passes * error <= slack:
            raise PrivacyViolation(
                "The weights have grown so large that float64 rounding could exceed the claimed sensitivity "
                f"(norm {float(np.linalg.norm(start)):.3g}). Lower the server's learning rate."
            )
