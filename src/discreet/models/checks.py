"""What a model must be before private training starts: no layer that mixes records, nothing unclippable."""

from __future__ import annotations

import torch
from torch import nn

from discreet.errors import ConfigurationError, HowTo
from discreet.models.batch_norm import batch_norm_layers, check_batch_norm, running_statistics

_NUMBERS = (torch.float16, torch.float32, torch.float64)


def check_model(model: nn.Module, *, mixes_records: bool = False) -> None:
    """Refuses a model whose gradient for one record depends on other records or cannot be released.

    Guarantee:
        No layer of ``model`` (by type) computes statistics over the batch or keeps statistics of the data,
        every trainable parameter is a finite floating-point array, and no integer buffer changes during
        training. Layers of a user's own type cannot be inspected; `check_records_independent` measures them.

    Args:
        model: with its initial weights.
        mixes_records: whether batch norm may mix records, since the whole update is clipped; its running
            statistics are then part of the update.

    Raises:
        ConfigurationError: naming the layer and what to use in its place.
    """
    for name, layer in batch_norm_layers(model):
        if not mixes_records:
            raise ConfigurationError(
                f"A layer must not mix records that are clipped one by one; got {type(layer).__name__} at "
                f"{name!r}. Use nn.GroupNorm, nn.LayerNorm or nn.InstanceNorm instead, or a local kind that "
                "clips the whole update: sharded (record) or clipped-update (client).",
                see=HowTo.OWN_MODEL,
            )
        check_batch_norm(name, layer)
    for name, module in model.named_modules():
        _check_layer(name or type(model).__name__, module)
    for name, buffer in model.named_buffers():
        if not torch.is_floating_point(buffer) and not _is_constant(model, name):
            raise ConfigurationError(
                f"Buffers must be floating point or constants; got integer buffer {name!r}. Register it with "
                "persistent=False if it never changes, or remove the layer that counts."
            )
    for name, tensor in model.state_dict().items():
        if torch.is_floating_point(tensor) and tensor.dtype not in _NUMBERS:
            raise ConfigurationError(
                f"Weights must be float32, float64 or float16, which a released file holds; got "
                f"{tensor.dtype} in {name!r}. Let the factory call .float() on the network."
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
    `check_model` cannot judge by their type. Batch norm is judged as it answers, by its running statistics.

    Raises:
        ConfigurationError: if the outputs differ by more than rounding.
    """
    was_training, normalises = model.training, bool(batch_norm_layers(model))
    if normalises:
        _check_no_leftovers(model, features)
    model.train(not normalises)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        before = _tensors(model)
        torch.manual_seed(0)
        together = model(features)[:1]
        changed = _put_back(before)
        torch.manual_seed(0)
        alone = model(torch.cat([features[:1], torch.zeros_like(features[1:])]))[:1]
        changed += [name for name in _put_back(before) if name not in changed]
    model.train(was_training)
    if changed or not torch.allclose(together, alone, rtol=1e-3, atol=1e-4):
        raise ConfigurationError(
            "A record's output must not depend on the other records of its batch; it does"
            + (f" ({changed} are updated from the data)" if changed else "")
            + ". Replace layers that use batch statistics by nn.GroupNorm or nn.LayerNorm.",
            see=HowTo.OWN_MODEL,
        )


def looks_up(model: nn.Module) -> bool:
    """Says whether a model takes numbers for places in a table, as of token ids."""
    return any(isinstance(layer, nn.Embedding | nn.EmbeddingBag) for layer in model.modules())


def _check_no_leftovers(model: nn.Module, features: torch.Tensor) -> None:
    """Refuses a model that keeps something of its records, but for the running statistics that travel.

    Its tensors are compared; what a layer keeps elsewhere is seen where the next answers show it.
    """
    was_training, known = model.training, {id(tensor) for tensor in running_statistics(model)}
    model.train()
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        before = _tensors(model)
        torch.manual_seed(0)
        first = model(features)
        changed = [name for name in _put_back(before) if id(before[name][0]) not in known]
        torch.manual_seed(0)
        repeats = torch.equal(first, model(features))
        _put_back(before)
    model.train(was_training)
    if changed or not repeats:
        what = (
            f"{changed} are updated from the data" if changed else "the same records get other answers later"
        )
        raise ConfigurationError(
            f"A layer must keep nothing of its records but the running statistics of batch norm; {what}. "
            "Remove what updates them, and draw random numbers by torch alone.",
            see=HowTo.OWN_MODEL,
        )


def _tensors(model: nn.Module) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Returns every weight, frozen or not, and every buffer by name, each with a copy."""
    named = (*model.named_parameters(), *model.named_buffers())
    return {name: (tensor, tensor.clone()) for name, tensor in named}


def _put_back(before: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> list[str]:
    """Gives tensors the values of their copies; returns the names of those that had changed."""
    changed = [name for name, (tensor, copy) in before.items() if not torch.equal(tensor, copy)]
    for tensor, copy in before.values():
        tensor.copy_(copy)
    return changed


def _check_layer(name: str, module: nn.Module) -> None:
    if isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats:
        raise ConfigurationError(
            f"A layer must not keep statistics of the data; got {type(module).__name__} at {name!r} with "
            "track_running_stats=True. Set track_running_stats=False."
        )


def _is_constant(model: nn.Module, name: str) -> bool:
    """A buffer that is not saved with the model is declared a constant (an index table, a mask)."""
    owner, _, leaf = name.rpartition(".")
    return leaf in model.get_submodule(owner)._non_persistent_buffers_set
