"""Tangent-steps: many local steps of any network's linearisation (theory §2.7); record unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from discreet.arrays import Floats, Indices, Integers
from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.learning.batch_guard import guarded_batches, require_capacity
from discreet.learning.clipping.clipped_sum import prepare
from discreet.learning.clipping.shapes import ExpectedBatch, chunk_length, chunks, padded
from discreet.learning.contract import LocalUpdate
from discreet.learning.convex_steps import ConvexSteps
from discreet.learning.float_error import FLOAT_SLACK, ROWS_ALIKE, project, tangent_gradient_error
from discreet.learning.losses import last_class
from discreet.learning.tangent_model import LARGEST_LOGIT, TangentModel, linearise
from discreet.learning.torch_state import device_of, on_device_of, one_thread, torch_seeded
from discreet.randomness import RandomSource
from discreet.sampling import Poisson

_LONGEST_CHUNK = 64
# A record whose factored rows are longer than this times C is scaled down further, so that rounding errors,
# which are relative to their length, have a public bound. Ordinary networks stay far below.
_LONGEST_ROW = 32.0


@dataclass(frozen=True, slots=True, repr=False)
class _Part:
    """Records of one step: their tangents, a for each, ``(n, 1)``, and their labels."""

    tangent: TangentModel
    factors: torch.Tensor
    labels: Integers


@dataclass(frozen=True, slots=True)
class TangentSteps(ConvexSteps):
    r"""Gradient steps on disjoint random batches for the network's tangent at the public model θ.

    A record's logits are taken to be f(θ) + a·J·Δ, with J the Jacobian at θ and a = min(1, C/spread) for the
    record's own spread: the largest distance between two rows of J, over √2 (for one output, the row's norm).
    Step s moves Δ by -γ·Σ_batch ∇loss; the update is where Δ ends, having begun at 0. ``norm_bound`` is C,
    and the loss comes from `discreet.models.outputs`, perhaps capped.

    Guarantee:
        That of `ConvexSteps`, for any network: the loss is convex in Δ, with the L and β of a linear head on
        features of norm C (docs/theory/steps.md, tangent-steps).
    """

    name: ClassVar[str] = "tangent-steps"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """`ROWS_ALIKE`: logits and their gradients are computed in float32, many records at a time."""
        return (ROWS_ALIKE,)

    @property
    def chunk(self) -> int:
        """How many records are linearised at once, whatever their number."""
        mean = self.sampling_prob * self.record_capacity
        spread = math.sqrt(mean * (1.0 - self.sampling_prob))
        return chunk_length(ExpectedBatch(mean, spread), _LONGEST_CHUNK)

    def update(
        self, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
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
        with one_thread(), torch_seeded(randomness, device_of(model)):
            for _ in range(self.passes):
                batches = guarded_batches(entered, self.steps, self.guard(), randomness)
                delta, loss = self._pass(model, delta, records, batches)
                total_loss += loss
        mean_loss = total_loss / max(1, self.passes * len(entered))
        return LocalUpdate(project(delta, self.projection_radius), mean_loss, len(entered))

    def _pass(
        self, model: nn.Module, delta: Floats, records: Records, batches: list[Indices]
    ) -> tuple[Floats, float]:
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

        Chunks run over the ends of batches: short batches would waste most of a pass over the network. A
        record whose logits or rows are not finite, or whose label is not one of the classes, is left out.
        """
        order, length = np.concatenate(batches), self.chunk
        steps = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
        features, _ = on_device_of(model, records)
        for part in chunks(len(order), length):
            chosen = order[part]
            tangent = linearise(model, padded(features[chosen], length))
            self._require_exact(tangent)
            factors, labels = self._factors(tangent)[:, None], records.labels[chosen]
            finite = tangent.logits.isfinite().all(dim=1) & (factors[:, 0] > 0.0)
            usable = finite[: len(chosen)].cpu().numpy() & (labels <= last_class(self.loss.outputs))
            tangent = tangent.double()
            step_of, begins = np.unique(steps[part], return_index=True)
            for step, begin, end in zip(step_of, begins, np.append(begins, len(chosen))[1:], strict=True):
                kept = begin + np.flatnonzero(usable[begin:end])
                rows = slice(int(begin), int(end)) if len(kept) == end - begin else torch.from_numpy(kept)
                yield int(step), _Part(tangent.of(rows), factors[rows], labels[kept])

    def _factors(self, tangent: TangentModel) -> torch.Tensor:
        """Each record's a, from its own rows; zero or NaN where these are not finite."""
        longest = _LONGEST_ROW * self.norm_bound
        return torch.minimum(
            self.norm_bound / tangent.spread().clamp(min=self.norm_bound),
            longest / tangent.longest().clamp(min=longest),
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
        sums = 2 + self.guard().max_batch // self.chunk
        error = tangent_gradient_error(
            outputs=outputs,
            along_error=tangent.along_error(),
            sum_error=tangent.sum_error(self.chunk) + math.ldexp(sums, -53),
            clip_norm=self.norm_bound,
            longest_row=_LONGEST_ROW * self.norm_bound,
            reach=self.reach(),
            largest_logit=LARGEST_LOGIT,
        )
        slack = FLOAT_SLACK * self.passes * self.lipschitz()
        if not 2.0 * uses * error <= slack / 2.0:
            raise PrivacyViolation(
                "float64 rounding over all local steps must stay within the claimed sensitivity; it could "
                f"reach {2.0 * uses * error / slack:.3g} of the slack for it, and half is allowed. Lower "
                "learning_rate, clip_norm or record_capacity."
            )
