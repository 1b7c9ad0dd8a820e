"""The arithmetic of tangent-steps: float64 steps along the network's Jacobian at the public model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from discreet.arrays import Floats, Indices, Integers
from discreet.data.records import Records
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds.batch_guard import guarded_batches, require_capacity
from discreet.kinds.float_error import FLOAT_SLACK, project, tangent_gradient_error
from discreet.kinds.persons import records_of
from discreet.kinds.tangent_steps import TangentSteps
from discreet.learning.clipping.clipped_sum import prepare
from discreet.learning.clipping.shapes import chunk_length, chunks, padded
from discreet.learning.losses import last_class
from discreet.learning.tangent_model import LARGEST_LOGIT, TangentMap, TangentModel, linearise, row_order
from discreet.learning.torch_state import device_of, on_device_of, torch_seeded
from discreet.learning.units import units_of
from discreet.learning.updates import LocalUpdate
from discreet.models.threads import one_thread
from discreet.randomness import RandomSource
from discreet.sampling import Poisson

_LONGEST_CHUNK = 64
# A record whose factored rows are longer than this times C is scaled down further, so that rounding errors,
# which are relative to their length, have a public bound. Ordinary networks stay far below.
_LONGEST_ROW = 32.0


@dataclass(frozen=True, slots=True, repr=False)
class _Part:
    """Records of one step: their tangents, a for each, ``(n, 1)``, labels, and shares of their persons."""

    tangent: TangentMap
    factors: torch.Tensor
    labels: Integers
    shares: Floats | None


def chunk_of(kind: TangentSteps) -> int:
    """Returns how many records are linearised at once, whatever their number."""
    return chunk_length(kind.expected, _LONGEST_CHUNK)


def tangent_update(
    kind: TangentSteps, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
) -> LocalUpdate:
    """Takes the steps, in float64 along float32 gradients of the logits; see the class.

    Raises:
        ConfigurationError: if the model cannot be differentiated record by record, or has another number
            of outputs than the planned loss.
        PrivacyViolation: if a batch or the record count exceeds its public bound.
    """
    units = units_of(records, kind.persons)
    require_capacity(units.count, kind.record_capacity)
    prepare(model, parameters)
    entered = Poisson(kind.sampling_prob).draw(units.count, randomness)
    shares, order = units.weights(np.arange(len(records))), row_order(model).numpy()
    delta, total_loss = np.zeros_like(parameters), 0.0
    with one_thread(), torch_seeded(randomness, device_of(model)):
        for _ in range(kind.passes):
            batches = guarded_batches(entered, kind.step_bound, kind.guard(), randomness)
            rows = [units.rows(batch) for batch in batches]
            delta, loss = _pass(kind, model, delta, records, rows, shares=shares)
            total_loss += loss
    mean_loss = total_loss / max(1, kind.passes * len(entered))
    vector = np.empty_like(delta)
    vector[order] = project(delta, kind.projection_radius)
    return LocalUpdate(vector, mean_loss, len(entered))


def _pass(
    kind: TangentSteps,
    model: nn.Module,
    delta: Floats,
    records: Records,
    batches: list[Indices],
    *,
    shares: Floats | None = None,
) -> tuple[Floats, float]:
    """One step for each batch of rows, from Δ in the order of the rows; returns Δ and the summed loss."""
    gradient, loss, current = np.zeros_like(delta), 0.0, 0
    for step, part in _parts(kind, model, records, batches, shares):
        if step != current:
            delta, gradient, current = delta - kind.learning_rate * gradient, np.zeros_like(delta), step
        direction = torch.from_numpy(delta).to(part.factors.device)
        logits = part.tangent.logits + part.factors * part.tangent.along(direction)
        losses, residuals = kind.loss.losses_and_residuals(logits.cpu().numpy(), part.labels)
        if part.shares is not None:
            losses, residuals = part.shares * losses, part.shares[:, None] * residuals
        weights = part.factors * torch.from_numpy(residuals).to(part.factors.device)
        gradient += part.tangent.weighted_sum(weights).cpu().numpy()
        loss += float(losses.sum())
    return delta - kind.learning_rate * gradient, loss


def _parts(
    kind: TangentSteps, model: nn.Module, records: Records, batches: list[Indices], shares: Floats | None
) -> Iterator[tuple[int, _Part]]:
    """Linearises records in the order of their steps, in chunks; yields (step, part of its batch).

    Chunks run over the ends of batches: short batches would waste most of a pass over the network. A
    record whose logits or rows are not finite, or whose label is not one of the classes, is left out.
    """
    order, length = np.concatenate(batches), chunk_of(kind)
    steps = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    features, _ = on_device_of(model, records)
    for part in chunks(len(order), length):
        chosen = order[part]
        tangent = linearise(model, padded(features[chosen], length))
        _require_exact(kind, tangent)
        factors, labels = _factors(kind, tangent)[:, None], records.labels[chosen]
        finite = tangent.logits.isfinite().all(dim=1) & (factors[:, 0] > 0.0)
        usable = finite[: len(chosen)].cpu().numpy() & (labels <= last_class(kind.loss.outputs))
        step_of, begins = np.unique(steps[part], return_index=True)
        for step, begin, end in zip(step_of, begins, np.append(begins, len(chosen))[1:], strict=True):
            kept = begin + np.flatnonzero(usable[begin:end])
            rows = slice(int(begin), int(end)) if len(kept) == end - begin else torch.from_numpy(kept)
            own = None if shares is None else shares[chosen[kept]]
            yield int(step), _Part(tangent.of(rows), factors[rows], labels[kept], own)


def _factors(kind: TangentSteps, tangent: TangentModel) -> torch.Tensor:
    """Each record's a, from its own rows; zero or NaN where these are not finite."""
    longest = _LONGEST_ROW * kind.norm_bound
    return torch.minimum(
        kind.norm_bound / tangent.spread().clamp(min=kind.norm_bound),
        longest / tangent.longest().clamp(min=longest),
    )


def _require_exact(kind: TangentSteps, tangent: TangentModel) -> None:
    """Checks, from shapes and public numbers only, that rounding stays within the claimed slack."""
    outputs = tangent.logits.shape[1]
    if not outputs == kind.loss.outputs:
        raise ConfigurationError(
            f"The model must have the {kind.loss.outputs} outputs of the planned loss; got {outputs}. "
            "Check that every party builds the model from the same plan."
        )
    uses = kind.passes * kind.record_capacity
    sums = 3 + records_of(kind.persons, kind.guard().max_batch) // chunk_of(kind)
    error = tangent_gradient_error(
        outputs=outputs,
        along_error=tangent.along_error(),
        sum_error=tangent.sum_error(chunk_of(kind)) + math.ldexp(sums, -53),
        clip_norm=kind.norm_bound,
        longest_row=_LONGEST_ROW * kind.norm_bound,
        reach=kind.reach(),
        largest_logit=LARGEST_LOGIT,
    )
    slack = FLOAT_SLACK * kind.passes * kind.lipschitz()
    if not 2.0 * uses * error <= slack / 2.0:
        raise PrivacyViolation(
            "float64 rounding over all local steps must stay within the claimed sensitivity; it could "
            f"reach {2.0 * uses * error / slack:.3g} of the slack for it, and half is allowed. Lower "
            "learning_rate, clip_norm or record_capacity."
        )
