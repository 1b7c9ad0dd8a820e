"""What a model must be before private training starts: no layer that mixes records, nothing unclippable."""

from __future__ import annotations

import torch
from torch import nn

from discreet.errors import ConfigurationError, HowTo


def check_model(model: nn.Module) -> None:
    """Refuses a model whose gradient for one record depends on other records or cannot be released.

    Guarantee:
        No layer of ``model`` (by type) computes statistics over the batch or keeps statistics of the data,
        every trainable parameter is a finite floating-point array, and no integer buffer changes during
        training. Layers of a user's own type cannot be inspected; `check_records_independent` measures them.

    Raises:
        ConfigurationError: naming the layer and what to use in its place.
    """
    for name, module in model.named_modules():
        _check_layer(name or type(model).__name__, module)
    for name, buffer in model.named_buffers():
        if not torch.is_floating_point(buffer) and not _is_constant(model, name):
            raise ConfigurationError(
                f"Buffers must be floating point or constants; got integer buffer {name!r}. Register it with "
                "persistent=False if it never changes, or remove the layer that counts."
            )
    found = 0
    for name, param in model.named_parameters():
        if not torch.is_floating_point(param):
            raise ConfigurationError(
                f"Parameters must be real floating point; got {param.dtype} in {name!r}."
            )
        if not bool(torch.isfinite(param).all()):
            raise ConfigurationError(
                f"Parameters must be finite; got NaN or infinity in {name!r}. Fix its initialisation."
            )
        found += param.numel() if param.requires_grad else 0
    if not found > 0:
        raise ConfigurationError("A model must have at least one trainable parameter; got none.")


def check_records_independent(model: nn.Module, features: torch.Tensor) -> None:
    """Refuses a model whose output for the first record changes when the other records do.

    A measurement on public or synthetic ``features`` (at least two records), for layers that
    `check_model` cannot judge by their type.

    Raises:
        ConfigurationError: if the outputs differ by more than rounding.
    """
    was_training = model.training
    model.train()
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        together = model(features)[:1]
        torch.manual_seed(0)
        alone = model(torch.cat([features[:1], torch.zeros_like(features[1:])]))[:1]
        changed = [name for name, buffer in model.named_buffers() if not torch.equal(buffer, buffers[name])]
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
    model.train(was_training)
    if changed or not torch.allclose(together, alone, rtol=1e-3, atol=1e-4):
        raise ConfigurationError(
            "A record's output must not depend on the other records of its batch; it does"
            + (f" (buffers {changed} are updated from the data)" if changed else "")
            + ". Replace layers that use batch statistics by nn.GroupNorm or nn.LayerNorm.",
            see=HowTo.OWN_MODEL,
        )


def looks_up(model: nn.Module) -> bool:
    """Says whether a model takes numbers for places in a table, as of token ids."""
    return any(isinstance(layer, nn.Embedding | nn.EmbeddingBag) for layer in model.modules())


def _check_layer(name: str, module: nn.Module) -> None:
    if isinstance(module, nn.modules.batchnorm._BatchNorm):
        raise ConfigurationError(
            f"A layer must not mix records; got {type(module).__name__} at {name!r}. "
            "Use nn.GroupNorm, nn.LayerNorm or nn.InstanceNorm instead.",
            see=HowTo.OWN_MODEL,
        )
    if isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats:
        raise ConfigurationError(
            f"A layer must not keep statistics of the data; got {type(module).__name__} at {name!r} with "
            "track_running_stats=True. Set track_running_stats=False."
        )


def _is_constant(model: nn.Module, name: str) -> bool:
    """A buffer that is not saved with the model is declared a constant (an index table, a mask)."""
    owner, _, leaf = name.rpartition(".")
    return leaf in model.get_submodule(owner)._non_persistent_buffers_set
