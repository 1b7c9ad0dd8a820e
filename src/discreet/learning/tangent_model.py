"""A network at a public model: each record's logits, and how they move with the weights to first order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import nn
from torch.func import functional_call, jacrev, vmap
from torch.nn import functional

from discreet.errors import ConfigurationError
from discreet.learning.clipping.ghost import recorded_forward, trainable_layers
from discreet.learning.clipping.per_record import warn_fallback
from discreet.learning.forward import independent_records
from discreet.learning.tangent_chain import chain_of, gradients_in_chain
from discreet.learning.tangent_layers import kept_order, layer_rows, layer_without_rows
from discreet.learning.tangent_maps import LayerMap
from discreet.learning.tangent_rows import TangentRows, WrittenOut, upward_sqrt
from discreet.models.parameters import trainable

# Logits are cut off here, so that the rounding of their sum with the tangent part is bounded beforehand.
LARGEST_LOGIT = 2.0**16


@dataclass(frozen=True, slots=True, repr=False)
class TangentModel:
    """Private: n records at the public model; nothing here mixes records.

    Attributes:
        logits: shape ``(n, K)``, float64, within ±`LARGEST_LOGIT`; NaN where the network gave none.
        rows: how the logits move with the weights of each layer, in the order of `row_order`. Of several
            logits each but the last one has a row, its gradient less that of the last one: no more is seen by
            a softmax.
        sizes: number of trainable weights of each layer.
    """

    logits: torch.Tensor
    rows: tuple[TangentRows, ...]
    sizes: tuple[int, ...]

    def of(self, records: slice | torch.Tensor) -> TangentMap:
        """Returns the tangent of some of the records in float64."""
        return TangentMap(self.logits[records], tuple(rows.of(records) for rows in self.rows), self.sizes)

    def spread(self) -> torch.Tensor:
        r"""Returns the norm of the features of a linear head that would be as sensitive, ``(n,)``.

        For K logits that is max_{k,l}‖J_k - J_l‖/√2, for a single one ‖J_1‖; never too small. The last logit
        counts as one that does not move.
        """
        if self.logits.shape[1] == 1:
            return self.longest()
        distances = torch.stack([rows.distances_squared() for rows in self.rows]).sum(dim=0)
        return upward_sqrt(distances.flatten(1).amax(dim=1) / 2.0)

    def longest(self) -> torch.Tensor:
        """Returns the longest row of each record, as far as rounding errors are concerned, ``(n,)``."""
        lengths = torch.stack([rows.lengths_squared() for rows in self.rows]).sum(dim=0)
        return upward_sqrt(lengths.amax(dim=1))

    def along_error(self) -> float:
        """Bounds the rounding error of `TangentMap.along`, relative to `longest` and the direction's norm."""
        return max(rows.along_error() for rows in self.rows) + math.ldexp(len(self.rows), -53)

    def sum_error(self, records: int) -> float:
        """Bounds a record's share in the error of `TangentMap.weighted_sum`, by `longest`·Σ_k |weight|."""
        return max(rows.sum_error(records) for rows in self.rows)


@dataclass(frozen=True, slots=True, repr=False)
class TangentMap:
    """Private: some records of a `TangentModel`, ready for products in float64.

    Attributes:
        logits: as there.
        maps: how the logits move with the weights of each layer.
        sizes: as there.
    """

    logits: torch.Tensor
    maps: tuple[LayerMap, ...]
    sizes: tuple[int, ...]

    def along(self, direction: torch.Tensor) -> torch.Tensor:
        """Returns how the logits move along ``direction``, shape ``(d,)``, to first order: ``(n, K)``.

        Of several logits the last one does not move, and the others move as they do relative to it. The
        direction's coordinates are in the order of the rows, as those of `weighted_sum` are.
        """
        parts = zip(self.maps, torch.split(direction, list(self.sizes)), strict=True)
        moved = torch.stack([layer.along(part) for layer, part in parts]).sum(dim=0)
        return functional.pad(moved, (0, self.logits.shape[1] - moved.shape[1]))

    def weighted_sum(self, weights: torch.Tensor) -> torch.Tensor:
        """Returns Σ weight·row over records and logits, shape ``(d,)``: the transpose of `along`.

        Args:
            weights: shape ``(n, K)``; of several logits that of the last one counts for nothing.
        """
        counted = weights[:, None, : max(1, weights.shape[1] - 1)]
        return torch.cat([part for layer in self.maps for part in layer.weighted_sum(counted)])


def row_order(model: nn.Module) -> torch.Tensor:
    """Returns the place in `flatten` of each coordinate of the rows of every record, shape ``(d,)``."""
    if layer_without_rows(model) is not None:
        return torch.arange(sum(param.numel() for _, param in trainable(model)))
    by_layer = [kept_order(layer) for layer in trainable_layers(model).values()]
    firsts = [0, *accumulate(len(order) for order in by_layer)]
    return torch.cat([first + order for first, order in zip(firsts, by_layer, strict=False)])


def linearise(model: nn.Module, features: torch.Tensor) -> TangentModel:
    """Returns the tangent of ``model`` at its present weights.

    A chain of layers takes one backward pass for all logits, any other network one for each.

    Layers whose gradient is a sum of outer products stay factored; a model with a layer that cannot be
    book-kept has its rows written out by `torch.func.vmap`, with a warning that names the layer.

    Args:
        model: as `discreet.learning.clipping.clipped_sum.prepare` leaves it.
        features: shape ``(n, ...)``, n ≥ 1.

    Raises:
        ConfigurationError: if the model cannot be differentiated record by record.
    """
    missing = layer_without_rows(model)
    if missing is not None:
        warn_fallback(missing)
    logits, rows, sizes = (_book_kept if missing is None else _written_out)(model, features)
    exact = logits.detach().double()
    return TangentModel(
        exact.clamp(-LARGEST_LOGIT, LARGEST_LOGIT).masked_fill(~exact.isfinite(), math.nan), rows, sizes
    )


_Found = tuple[torch.Tensor, tuple[TangentRows, ...], tuple[int, ...]]


def _book_kept(model: nn.Module, features: torch.Tensor) -> _Found:
    """Backward passes stop at the layers' outputs; the rules of the layers do the rest."""
    layers = trainable_layers(model)
    chain = chain_of(model, layers)
    logits, calls = recorded_forward(model, features, layers if chain is None else chain)
    _require_logits(logits, len(features))
    seeds = _differences(torch.eye(logits.shape[1], dtype=logits.dtype, device=logits.device))
    outputs = {name: calls[name].outputs for name in layers}
    with torch.no_grad():
        gradients = (
            _one_by_one(logits, outputs, seeds)
            if chain is None
            else gradients_in_chain(chain, layers, calls, seeds)
        )
        rows = tuple(layer_rows(layer, calls[name].inputs, gradients[name]) for name, layer in layers.items())
    return logits, rows, tuple(_trained_size(layer) for layer in layers.values())


def _trained_size(layer: nn.Module) -> int:
    return sum(param.numel() for param in layer.parameters(recurse=False) if param.requires_grad)


def _differences(by_logit: torch.Tensor) -> torch.Tensor:
    """Returns what is there of each logit but the last one, less that of the last one; one logit as it is."""
    return by_logit if len(by_logit) == 1 else by_logit[:-1] - by_logit[-1]


def _one_by_one(
    logits: torch.Tensor, outputs: dict[str, torch.Tensor], seeds: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Returns what `gradients_in_chain` returns, of a network that is not a chain."""
    by_seed = [
        torch.autograd.grad(logits, list(outputs.values()), seed.expand_as(logits), retain_graph=True)
        for seed in seeds
    ]
    return {name: torch.stack(found, dim=1) for name, *found in zip(outputs, *by_seed, strict=True)}


def _written_out(model: nn.Module, features: torch.Tensor) -> _Found:
    """Runs the model record by record."""
    params = {name: param.detach() for name, param in trainable(model)}

    def logits_of(values: Mapping[str, torch.Tensor], one: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        logits = functional_call(model, dict(values), (one.unsqueeze(0),))
        _require_logits(logits, 1)
        return _differences(logits[0]), logits[0]

    try:
        per_record = vmap(jacrev(logits_of, has_aux=True), in_dims=(None, 0), randomness="different")
        with independent_records(model):
            jacobians, logits = per_record(params, features)
    except RuntimeError as error:
        raise ConfigurationError(
            f"tangent-steps cannot differentiate the model record by record ({error}). Use layers that "
            "torch.func.vmap supports, or the kind sharded (record), which needs no per-record gradients."
        ) from error
    rows = tuple(WrittenOut(jacobian.flatten(2)) for jacobian in jacobians.values())
    return logits, rows, tuple(param.numel() for param in params.values())


def _require_logits(logits: torch.Tensor, records: int) -> None:
    if not (logits.ndim == 2 and logits.shape[0] == records):
        raise ConfigurationError(
            f"A model must return one row of logits a record, shape ({records}, k); got "
            f"{tuple(logits.shape)}."
        )
