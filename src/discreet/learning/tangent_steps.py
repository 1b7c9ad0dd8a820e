"""Tangent-steps: many local steps of any network's linearisation (theory §2.7); record unit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.learning.batch_guard import BatchGuard, batch_guard, guarded_batches, require_capacity
from discreet.learning.clipping.clipped_sum import prepare
from discreet.learning.contract import LocalUpdate
from discreet.learning.float_error import (
    FLOAT_SLACK,
    project,
    require_finite,
    tangent_gradient_error,
    with_slack,
)
from discreet.learning.tangent_model import LARGEST_LOGIT, TangentModel, linearise
from discreet.learning.torch_state import device_of, on_device_of, torch_seeded
from discreet.models.capped import ConvexLoss
from discreet.privacy.events import Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource
from discreet.sampling.samplers import Poisson

FloatVector = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_CHUNK = 64
# A record whose factored rows are longer than this times C is scaled down further, so that rounding errors,
# which are relative to their length, have a public bound. Ordinary networks stay far below.
_LONGEST_ROW = 32.0


@dataclass(frozen=True, slots=True, repr=False)
class _Part:
    """Records of one step: their tangents, a for each, ``(n, 1)``, and their labels."""

    tangent: TangentModel
    factors: torch.Tensor
    labels: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TangentSteps:
    r"""Gradient steps on disjoint random batches for the network's tangent at the public model θ.

    A record's logits are taken to be f(θ) + a·J·Δ, with J the Jacobian at θ and a = min(1, C/spread) for the
    record's own spread: the largest distance between two rows of J, over √2 (for one output, the row's norm).
    Every record enters a round with probability ``sampling_prob``; one that enters is given one of the
    ``steps`` uniformly. Step s moves Δ by -γ·Σ_batch ∇loss; the update is where Δ ends, having begun at 0.

    Guarantee:
        Adding or removing one sampled record moves the update by at most passes·γ·L for any number of steps
        and any network: the loss is convex in Δ, L-Lipschitz and β-smooth with the constants of a linear head
        on features of norm C (docs/theory/steps.md, tangent-steps), and γ·β·b ≤ 2 for every batch size b that
        is not aborted. Hardt, Recht, Singer (2016), Lemma 3.7; Wu et al. (2017), Theorem 1.

    Attributes:
        loss: of the logits, from `discreet.models.outputs`, capped or not; gives L and β.
        clip_norm: C, the largest spread of a record that is left alone.
        learning_rate: γ, per record (steps follow the *sum* over the batch).
        steps: local steps a pass.
        record_capacity: public upper bound on the number of training records of this silo.
        sampling_prob: probability that a record enters a round.
        passes: how often each record that entered is used, with a fresh step each time.
        projection_radius: the update is projected onto the ball of this radius, which keeps the
            sensitivity and lets the ring be smaller; infinite leaves it alone.

    Raises:
        ConfigurationError: if a number is out of range, or γ·β·b_max > 2 for the batch guard b_max.
    """

    unit: ClassVar[Unit] = Unit.RECORD

    loss: ConvexLoss
    clip_norm: float
    learning_rate: float
    steps: int
    record_capacity: int
    sampling_prob: float = 1.0
    passes: int = 1
    projection_radius: float = math.inf

    def __post_init__(self) -> None:
        for name in ("clip_norm", "learning_rate"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise ConfigurationError(f"{name!r} of TangentSteps must be positive; got {value}.")
        if not self.projection_radius > 0:
            raise ConfigurationError(
                f"'projection_radius' of TangentSteps must be positive; got {self.projection_radius}."
            )
        for name in ("steps", "passes", "record_capacity"):
            if not getattr(self, name) >= 1:
                raise ConfigurationError(f"{name!r} of TangentSteps must be >= 1; got {getattr(self, name)}.")
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
        return with_slack(self.passes * self.learning_rate * self.loss.lipschitz(self.clip_norm))

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
        self, model: nn.Module, parameters: FloatVector, records: Records, randomness: RandomSource
    ) -> LocalUpdate:
        """Takes the steps, in float64 along float32 gradients of the logits; see the class.

        Raises:
            ConfigurationError: if the model cannot be differentiated record by record, or has another number
                of outputs than the planned loss.
            PrivacyViolation: if a batch or the record count exceeds its public bound.
        """
        require_capacity(len(records), self.record_capacity)
        prepare(model, parameters)
        entered = Poisson(self.sampling_prob).draw(len(records), randomness)
        delta, total_loss = np.zeros_like(parameters), 0.0
        with torch_seeded(randomness, device_of(model)):
            for _ in range(self.passes):
                batches = guarded_batches(entered, self.steps, self.guard(), randomness)
                delta, loss = self._pass(model, delta, records, batches)
                total_loss += loss
        require_finite(delta, "The local update")
        mean_loss = total_loss / max(1, self.passes * len(entered))
        return LocalUpdate(project(delta, self.projection_radius), mean_loss, len(entered))

    def _pass(
        self, model: nn.Module, delta: FloatVector, records: Records, batches: list[Indices]
    ) -> tuple[FloatVector, float]:
        """One step for each batch, from Δ; returns the new Δ and the summed loss."""
        gradient, loss, current = np.zeros_like(delta), 0.0, 0
        for step, part in self._parts(model, records, batches):
            if step != current:
                delta, gradient, current = delta - self.learning_rate * gradient, np.zeros_like(delta), step
            direction = torch.from_numpy(delta).to(part.factors.device)
            logits = part.tangent.logits + part.factors * part.tangent.along(direction)
            losses, residuals = self.loss.losses_and_residuals(logits.cpu().numpy(), part.labels)
            weights = part.factors * torch.from_numpy(residuals).to(part.factors.device)
            gradient += part.tangent.weighted_sum(weights).cpu().numpy()
            loss += float(losses.sum())
        return delta - self.learning_rate * gradient, loss

    def _parts(
        self, model: nn.Module, records: Records, batches: list[Indices]
    ) -> Iterator[tuple[int, _Part]]:
        """Linearises records in the order of their steps, in chunks; yields (step, part of its batch).

        Chunks run over the ends of batches: short batches would waste most of a pass over the network.
        """
        order = np.concatenate(batches)
        steps = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
        features, _ = on_device_of(model, records)
        for first in range(0, len(order), _CHUNK):
            chunk = order[first : first + _CHUNK]
            tangent = linearise(model, features[chunk])
            self._require_exact(tangent)
            factors, tangent = self._factors(tangent)[:, None], tangent.double()
            step_of, begins = np.unique(steps[first : first + _CHUNK], return_index=True)
            for step, begin, end in zip(step_of, begins, [*begins[1:], len(chunk)], strict=True):
                rows = slice(int(begin), int(end))
                yield int(step), _Part(tangent.of(rows), factors[rows], records.labels[chunk[rows]])

    def _factors(self, tangent: TangentModel) -> torch.Tensor:
        """Each record's a, from its own rows."""
        longest = _LONGEST_ROW * self.clip_norm
        return torch.minimum(
            self.clip_norm / tangent.spread().clamp(min=self.clip_norm),
            longest / tangent.longest().clamp(min=longest),
        )

    def _require_non_expansive(self) -> None:
        curvature = self.loss.smoothness(self.clip_norm) * self.guard().max_batch
        if not self.learning_rate * curvature <= 2.0:
            raise ConfigurationError(
                "tangent-steps needs learning_rate * smoothness * largest_batch <= 2 to be non-expansive; "
                f"got learning_rate {self.learning_rate:.4g} and smoothness * largest_batch {curvature:.4g} "
                f"(batches of up to {self.guard().max_batch} records). Use a learning_rate of at most "
                f"{2.0 / curvature:.4g}, more steps, or a smaller clip_norm."
            )

    def _require_exact(self, tangent: TangentModel) -> None:
        """Checks, from shapes and public numbers only, that rounding stays within the claimed slack."""
        outputs = tangent.logits.shape[1]
        if not outputs == self.loss.outputs:
            raise ConfigurationError(
                f"The model must have the {self.loss.outputs} outputs of the planned loss; got {outputs}. "
                "Check that every party builds the model from the same plan."
            )
        uses = self.passes * self.record_capacity
        chunks = 2 + self.guard().max_batch // _CHUNK
        error = tangent_gradient_error(
            outputs=outputs,
            along_error=tangent.along_error(),
            sum_error=tangent.sum_error(_CHUNK) + math.ldexp(chunks, -53),
            clip_norm=self.clip_norm,
            longest_row=_LONGEST_ROW * self.clip_norm,
            reach=uses * self.learning_rate * self.loss.lipschitz(self.clip_norm),
            largest_logit=LARGEST_LOGIT,
        )
        slack = FLOAT_SLACK * self.passes * self.loss.lipschitz(self.clip_norm)
        if not 2.0 * uses * error <= slack / 2.0:
            raise PrivacyViolation(
                "float64 rounding over all local steps must stay within the claimed sensitivity; it could "
                f"reach {2.0 * uses * error / slack:.3g} of the slack for it, and half is allowed. Lower "
                "learning_rate, clip_norm or record_capacity."
            )
