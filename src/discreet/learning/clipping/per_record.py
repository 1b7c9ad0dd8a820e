"""Per-record gradients written out by `torch.func.vmap`, for models that have no book-keeping rule."""

from __future__ import annotations

import warnings

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

from discreet.errors import ConfigurationError
from discreet.learning.clipping.pieces import Explicit
from discreet.learning.clipping.record_gradients import RecordGradients
from discreet.learning.forward import independent_records
from discreet.learning.losses import known_labels, last_class, record_losses
from discreet.models.parameters import trainable


class PerRecordFallbackWarning(UserWarning):
    """A layer has no fast clipping rule; its model is clipped by writing out per-record gradients."""


def warn_fallback(layer: str) -> None:
    """Names the layer that makes training slow."""
    warnings.warn(
        f"No fast clipping rule for layer {layer}: per-record gradients are written out by vmap, which costs "
        "time and memory. The guarantee is the same.",
        PerRecordFallbackWarning,
        stacklevel=2,
    )


def written_out_gradients(model: nn.Module, features: torch.Tensor, labels: torch.Tensor) -> RecordGradients:
    """Returns the gradients of the records of one chunk.

    Raises:
        ConfigurationError: if vmap cannot run the model record by record.
    """
    params = {name: param.detach() for name, param in trainable(model)}

    def loss_of(
        values: dict[str, torch.Tensor], one: torch.Tensor, label: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        outputs = functional_call(model, values, (one.unsqueeze(0),))
        losses = record_losses(outputs, known_labels(outputs, label.unsqueeze(0)))
        return losses[0], outputs[0]

    try:
        per_record = vmap(grad_and_value(loss_of, has_aux=True), in_dims=(None, 0, 0), randomness="different")
        with independent_records(model):
            gradients, (losses, outputs) = per_record(params, features, labels)
    except RuntimeError as error:
        raise ConfigurationError(
            f"The model cannot be run record by record ({error}). Use layers that torch.func.vmap supports, "
            "or a kind that clips whole updates: clipped-update (client) or sharded (record)."
        ) from error
    pieces = {name: Explicit(gradient) for name, gradient in gradients.items()}
    return RecordGradients(outputs.detach(), losses.detach(), labels <= last_class(outputs.shape[1]), pieces)
