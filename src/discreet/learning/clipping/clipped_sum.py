"""The sum of clipped gradients, one a record or person, of any model, by the fastest rule that applies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from discreet.arrays import Floats, Indices
from discreet.data.records import Records
from discreet.kinds.sampling import UNKNOWN_BATCH, ExpectedBatch
from discreet.kinds.styles import ClippingStyle, Flat
from discreet.learning.clipping.chunks import in_order, models_for_threads
from discreet.learning.clipping.dense import clipped_dense_sum
from discreet.learning.clipping.ghost import ghost_gradients, layer_without_rule
from discreet.learning.clipping.linear import clipped_linear_sum
from discreet.learning.clipping.linear_persons import clipped_linear_sum_of_persons
from discreet.learning.clipping.per_record import warn_fallback, written_out_gradients
from discreet.learning.clipping.person_rows import PersonRows
from discreet.learning.clipping.record_gradients import RecordGradients
from discreet.learning.clipping.shapes import (
    chunk_length,
    chunks,
    longest_chunk,
    padded,
    persons_of_a_chunk,
)
from discreet.learning.dense import is_dense
from discreet.learning.torch_state import on_device_of, torch_seeded, use_fast_layout
from discreet.models.checks import check_model
from discreet.models.convexity import convexity
from discreet.models.parameters import load_flat
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True, repr=False)
class ClippedSum:
    """Private: the sum of clipped gradients, shape ``(d,)``, float64, and two sums over the batch.

    Attributes:
        vector: the sum.
        loss: the records' summed loss; of persons their weighted one.
        within: how many whole gradients were no longer than the clipping norm, one a record or person.
    """

    vector: Floats
    loss: float
    within: int


def clipped_gradient_sum(
    model: nn.Module,
    parameters: Floats,
    records: Records,
    *,
    clip_norm: float,
    style: ClippingStyle,
    randomness: RandomSource,
    persons: PersonRows | None = None,
    expected: ExpectedBatch = UNKNOWN_BATCH,
) -> ClippedSum:
    """Sums the clipped gradients of all ``records`` at ``parameters``, or of all ``persons``.

    Guarantee:
        Each record's contribution is finite, has norm at most ``clip_norm``, and depends on no other record,
        whatever the model computes that is a function of weights and record, with no memory of earlier calls;
        `discreet.kinds.float_error` says under which assumption. A record
        for which the model gives a logit, a loss or a gradient that is not finite contributes zero. What is
        raised depends on the model and the parameters only. With ``persons`` the same holds of each person,
        who contributes the weighted sum of the own records' gradients, clipped once.

    Args:
        model: the architecture; scratch space. Networks run on the device that it is on.
        parameters: shape ``(d,)``.
        records: the batch, possibly empty.
        clip_norm: largest L2 norm of one record's contribution.
        style: how gradients are brought into the ball.
        randomness: source of dropout masks, if the model draws any.
        persons: whose the records are; None where each is by itself.
        expected: public guess of the number of records or persons; only the time depends on how good it is.
    """
    head = convexity(model)
    if head is not None and isinstance(style, Flat):
        weights = parameters.reshape(head.outputs, -1)
        if persons is not None:
            return ClippedSum(
                *clipped_linear_sum_of_persons(
                    head, weights, records, clip_norm, persons=persons, expected=expected
                )
            )
        return ClippedSum(*clipped_linear_sum(head, weights, records, clip_norm, expected=expected))
    if persons is None and is_dense(model, flat_records=records.features.ndim == 2):
        # Other networks take this word for their dropout masks; a seeded run has the same noise either way.
        randomness.words(1)
        return ClippedSum(
            *clipped_dense_sum(model, parameters, records, clip_norm, style=style, expected=expected)
        )
    prepare(model, parameters)
    record_gradients = differentiation_of(model)
    features, labels = on_device_of(model, records)
    parts = _parts(len(records), persons, chunk_length(expected, longest_chunk(model)))
    models = models_for_threads(model, features.new_zeros((1, *features.shape[1:])), len(parts))

    def part_of(own: nn.Module, part: _Part) -> tuple[torch.Tensor, float, int]:
        found = record_gradients(
            own, padded(features[part.rows], part.length), padded(labels[part.rows], part.length)
        )
        if part.shares is not None:
            shares = torch.from_numpy(part.shares).to(features.device)
            found = found.of_persons(padded(shares, part.length // shares.shape[1]))
        return found.clipped_sum(part.units, style, clip_norm)

    total, loss = torch.zeros(len(parameters), dtype=torch.float64, device=features.device), 0.0
    within = 0
    with torch_seeded(randomness, features.device):
        for vector, part_loss, part_within in in_order(part_of, models, parts):
            total += vector
            loss += part_loss
            within += part_within
    return ClippedSum(total.cpu().numpy(), loss, within)


@dataclass(frozen=True, slots=True, repr=False)
class _Part:
    """Rows of a chunk of ``length``, padding included; ``shares`` of persons, shape ``(units, rows)``."""

    rows: slice | Indices
    length: int
    units: int
    shares: Floats | None = None


def _parts(records: int, persons: PersonRows | None, length: int) -> list[_Part]:
    """Cuts a batch into chunks; there is one even for no records."""
    if persons is None:
        return [_Part(part, length, part.stop - part.start) for part in chunks(records, length)]
    found = []
    for width, chosen in persons.by_width():
        count = persons_of_a_chunk(length, width)
        for part in chunks(len(chosen), count):
            rows, shares = persons.padded(chosen[part], width)
            found.append(_Part(rows, count * width, len(shares), shares))
    return found or _parts(0, None, length)


def differentiation_of(
    model: nn.Module,
) -> Callable[[nn.Module, torch.Tensor, torch.Tensor], RecordGradients]:
    """Returns what computes the gradients of a chunk: book-keeping, or vmap with a warning that says why."""
    missing = layer_without_rule(model)
    if missing is None:
        return ghost_gradients
    warn_fallback(missing)
    return written_out_gradients


def prepare(model: nn.Module, parameters: Floats) -> None:
    """Checks the model, loads the parameters and sets the layout and flags that fast clipping needs."""
    check_model(model)
    load_flat(model, parameters)
    model.train()
    use_fast_layout(model)
    for layer in model.modules():
        if getattr(layer, "inplace", False):
            setattr(layer, "inplace", False)  # noqa: B010 - not declared on nn.Module
