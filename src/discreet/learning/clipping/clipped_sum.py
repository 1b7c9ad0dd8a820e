"""The sum of clipped per-record gradients of any model, by the fastest rule that applies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.data.records import Records
from discreet.learning.clipping.chunks import chunks, in_order, models_for_threads
from discreet.learning.clipping.ghost import ghost_clipped_sum, layer_without_rule
from discreet.learning.clipping.linear import clipped_linear_sum
from discreet.learning.clipping.per_record import warn_fallback, written_out_clipped_sum
from discreet.learning.clipping.styles import ClippingStyle, Flat
from discreet.learning.torch_state import on_device_of, torch_seeded, use_fast_layout
from discreet.models.checks import check_model
from discreet.models.convexity import convexity
from discreet.models.parameters import load_flat
from discreet.randomness import RandomSource

FloatVector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, repr=False)
class ClippedSum:
    """Private: the sum of clipped gradients, shape ``(d,)``, float64, and two sums over the records.

    Attributes:
        vector: the sum.
        loss: the records' summed loss.
        within: how many records' whole gradients were no longer than the clipping norm.
    """

    vector: FloatVector
    loss: float
    within: int


def clipped_gradient_sum(
    model: nn.Module,
    parameters: FloatVector,
    records: Records,
    *,
    clip_norm: float,
    style: ClippingStyle,
    randomness: RandomSource,
) -> ClippedSum:
    """Sums the clipped gradients of all ``records`` at ``parameters``.

    Guarantee:
        Each record's contribution has norm at most ``clip_norm`` and depends on no other record, whatever
        the model computes; see `discreet.learning.float_error` for rounding.

    Args:
        model: the architecture; scratch space. Networks run on the device that it is on.
        parameters: shape ``(d,)``.
        records: the batch, possibly empty.
        clip_norm: largest L2 norm of one record's contribution.
        style: how gradients are brought into the ball.
        randomness: source of dropout masks, if the model draws any.
    """
    if len(records) == 0:
        return ClippedSum(np.zeros_like(parameters), 0.0, 0)
    head = convexity(model)
    if head is not None and isinstance(style, Flat):
        weights = parameters.reshape(head.outputs, -1)
        return ClippedSum(*clipped_linear_sum(head, weights, records, clip_norm))
    return _network_sum(model, parameters, records, clip_norm=clip_norm, style=style, randomness=randomness)


def _network_sum(
    model: nn.Module,
    parameters: FloatVector,
    records: Records,
    *,
    clip_norm: float,
    style: ClippingStyle,
    randomness: RandomSource,
) -> ClippedSum:
    prepare(model, parameters)
    missing = layer_without_rule(model)
    if missing is not None:
        warn_fallback(missing)
    clipped_sum = ghost_clipped_sum if missing is None else written_out_clipped_sum
    features, labels = on_device_of(model, records)
    parts = chunks(model, len(records))
    models = models_for_threads(model, features, len(parts))

    def part_of(own: nn.Module, part: slice) -> tuple[torch.Tensor, float, int]:
        return clipped_sum(own, features[part], labels[part], style, clip_norm)

    total, loss = torch.zeros(len(parameters), dtype=torch.float64, device=features.device), 0.0
    within = 0
    with torch_seeded(randomness, features.device):
        for vector, part_loss, part_within in in_order(part_of, models, parts):
            total += vector
            loss += part_loss
            within += part_within
    return ClippedSum(total.cpu().numpy(), loss, within)


def prepare(model: nn.Module, parameters: FloatVector) -> None:
    """Checks the model, loads the parameters and sets the layout and flags that fast clipping needs."""
    check_model(model)
    load_flat(model, parameters)
    model.train()
    use_fast_layout(model)
    for layer in model.modules():
        if getattr(layer, "inplace", False):
            setattr(layer, "inplace", False)  # noqa: B010 - not declared on nn.Module
