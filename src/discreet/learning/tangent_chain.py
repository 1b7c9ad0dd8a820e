"""The gradients of all logits in a chain of layers: one pass backwards, with the logits as a dimension.

What a layer's derivative is made of (slopes, places of maxima, kernels) is made once a record and serves all
logits; K backward passes of torch would make it K times, in K times as many calls.

Gradients at images may be those of the first rows and columns alone: all others are zero, because nothing
later reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeGuard

import torch
from torch import nn
from torch.nn import functional

from discreet.learning.clipping.convolution import Window
from discreet.learning.clipping.ghost import Call
from discreet.learning.clipping.rules import find_rule
from discreet.learning.forward import linear_backward
from discreet.models.convexity import LinearHead
from discreet.models.networks import TemperedSigmoid

_BY_ENTRY = (TemperedSigmoid, nn.Tanh, nn.ReLU, nn.Sigmoid, nn.ELU, nn.SELU, nn.SiLU, nn.GELU, nn.Softplus)
# As many as vector instructions take numbers at a time, so that no record is left over for another kernel.
_RECORDS_AT_ONCE = 32
_KNOWN = (*_BY_ENTRY, nn.MaxPool2d, nn.Flatten, LinearHead)


def chain_of(model: nn.Module, trained: dict[str, nn.Module]) -> dict[str, nn.Module] | None:
    """Returns the layers of a chain from the first ``trained`` one on, by name, or None.

    A chain is a `torch.nn.Sequential`, with others inside or not, of layers that run once, change nothing in
    place, and are known here or have a rule for clipping.
    """
    if type(model) is not nn.Sequential:
        return None
    run = list(_leaves("", model))
    first = next((place for place, (name, _) in enumerate(run) if name in trained), len(run))
    later = dict(run[first:])
    fits = (
        trained.keys() <= later.keys(),
        all(type(layer) in _KNOWN or find_rule(layer) is not None for layer in later.values()),
        len({id(layer) for _, layer in run}) == len(run),
        not any(getattr(layer, "inplace", False) for layer in later.values()),
    )
    return later if all(fits) else None


def _leaves(prefix: str, chain: nn.Sequential) -> Iterator[tuple[str, nn.Module]]:
    for name, layer in chain._modules.items():  # `named_children` leaves out an object's second place
        if type(layer) is nn.Sequential:
            yield from _leaves(f"{prefix}{name}.", layer)
        else:
            yield f"{prefix}{name}", layer


def gradients_in_chain(
    chain: dict[str, nn.Module], trained: dict[str, nn.Module], calls: dict[str, Call], seeds: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Returns the gradients at the outputs of the ``trained`` layers, by name, shape ``(n, K, ...)``.

    Those of a convolution may be cropped.

    Args:
        chain: as of `chain_of`.
        trained: the trainable layers of the network, by name.
        calls: what the layers saw in a forward pass.
        seeds: combinations of the logits, shape ``(K, number of logits)``; their gradients are returned.
    """
    names, found = list(reversed(chain)), {}
    gradients, slopes = seeds.expand(len(calls[names[0]].outputs), *seeds.shape), None
    for place, name in enumerate(names):
        layer, call = chain[name], calls[name]
        if name in trained:
            cropped = isinstance(layer, nn.Conv2d)
            found[name] = gradients if cropped else _whole(gradients, call.outputs.shape[1:])
        if place + 1 == len(names):
            break
        earlier, inputs = chain[names[place + 1]], calls[names[place + 1]].outputs
        if isinstance(layer, _BY_ENTRY) and _is_plain_pool(earlier):
            slopes = _cropped(_slopes(call, inputs), gradients)
        elif _is_plain_pool(layer):
            gradients, slopes = _through_pool(layer, call, slopes, gradients), None
        else:
            gradients = _pulled_back(layer, call, inputs, gradients)
    return found


def _slopes(call: Call, inputs: torch.Tensor) -> torch.Tensor:
    """Returns the derivative of each output of a layer by its own input, on the tape."""
    ones = torch.ones_like(call.outputs)
    return torch.autograd.grad(call.outputs, inputs, ones, retain_graph=True)[0]


def _pulled_back(layer: nn.Module, call: Call, inputs: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Returns the gradients at a layer's inputs, given those at its outputs.

    Args:
        layer: of the chain.
        call: of the layer.
        inputs: the output of the layer before it, on the tape.
        gradients: shape ``(n, K, ...)``.
    """
    if isinstance(layer, _BY_ENTRY):
        return gradients * _cropped(_slopes(call, inputs), gradients)[:, None]
    if _is_plain_convolution(layer):
        return _through_convolution(layer, call.inputs.shape[2:], gradients)
    gradients = _whole(gradients, call.outputs.shape[1:])
    if type(layer) is nn.Flatten:
        return gradients.reshape(*gradients.shape[:2], *inputs.shape[1:])
    if type(layer) is nn.Linear:
        return linear_backward(layer, gradients)
    by_logit = [
        torch.autograd.grad(call.outputs, inputs, gradient, retain_graph=True)[0]
        for gradient in gradients.unbind(dim=1)
    ]
    return torch.stack(by_logit, dim=1)


def _is_plain_pool(layer: nn.Module) -> TypeGuard[nn.MaxPool2d]:
    return (
        isinstance(layer, nn.MaxPool2d)
        and layer.dilation in (1, (1, 1))
        and not layer.ceil_mode
        and not layer.return_indices
    )


def _is_plain_convolution(layer: nn.Module) -> TypeGuard[nn.Conv2d]:
    return (
        isinstance(layer, nn.Conv2d)
        and find_rule(layer) is not None
        and layer.groups == 1
        and layer.dilation == (1, 1)
    )


def _through_pool(
    layer: nn.MaxPool2d, call: Call, slopes: torch.Tensor | None, gradients: torch.Tensor
) -> torch.Tensor:
    """Adds gradients, times the slopes of what comes after, where the maxima were, for all logits at once.

    Place by place of the window, and a few records at a time, which stay in the processor's cache.
    """
    (rows, columns), (down, across), (above, left) = (
        (size, size) if isinstance(size, int) else size
        for size in (layer.kernel_size, layer.stride, layer.padding)
    )
    upward = gradients.permute(0, 1, 3, 4, 2).contiguous()
    high, wide, channels = upward.shape[2:]
    inputs = call.inputs
    if above or left:
        inputs = functional.pad(inputs, (left, left, above, above), value=-math.inf)
    places = [
        (
            slice(row, row + (high - 1) * down + 1, down),
            slice(column, column + (wide - 1) * across + 1, across),
        )
        for row in range(rows)
        for column in range(columns)
    ]
    shares = _shares(inputs, _cropped(call.outputs.detach(), gradients), slopes, places)
    size = ((high - 1) * down + rows, (wide - 1) * across + columns)
    total = upward.new_empty(*upward.shape[:2], *size, channels)
    for first in range(0, len(total), _RECORDS_AT_ONCE):
        some = slice(first, first + _RECORDS_AT_ONCE)
        part = total[some].zero_()
        for place, share in zip(places, shares, strict=True):
            part[:, :, *place].addcmul_(upward[some], share[some, None])
    return _inside(total, above, left, call.inputs.shape[2:]).permute(0, 1, 4, 2, 3)


def _shares(
    inputs: torch.Tensor,
    maxima: torch.Tensor,
    slopes: torch.Tensor | None,
    places: list[tuple[slice, slice]],
) -> list[torch.Tensor]:
    """Returns what each place of the window passes on, shape ``(n, rows, columns, channels)``.

    That is the slope, or 1, where the place has the maximum, and zero elsewhere. Of several places that have
    it the first one counts. Products with ones and zeros are several times as fast as selections.
    """
    seen, highest = inputs.permute(0, 2, 3, 1), maxima.permute(0, 2, 3, 1)
    rest = torch.ones_like(maxima) if slopes is None else slopes
    rest = rest.permute(0, 2, 3, 1).clone(memory_format=torch.contiguous_format)
    shares = []
    for place in places:
        share = seen[:, *place].clone(memory_format=torch.contiguous_format).eq_(highest).mul_(rest)
        rest -= share
        shares.append(share)
    return shares


def _through_convolution(layer: nn.Conv2d, size: torch.Size, gradients: torch.Tensor) -> torch.Tensor:
    """Convolves the gradients with the kernel's phases, one for each place of an input in a stride.

    The inputs that lie s·i + a meet the kernel at a, a + s, ... only. So all inputs come out of one forward
    convolution of stride 1, which takes half the time of torch's backward one.
    """
    window = Window.of(layer)
    down, across = window.stride
    taps = [-(-length // step) for length, step in zip(window.kernel, window.stride, strict=True)]
    missing = (0, taps[1] * across - window.kernel[1], 0, taps[0] * down - window.kernel[0])
    kernel = functional.pad(layer.weight, missing) if any(missing) else layer.weight
    outputs, inputs = kernel.shape[:2]
    by_place = kernel.reshape(outputs, inputs, taps[0], down, taps[1], across)
    phases = by_place.permute(3, 5, 1, 0, 2, 4).flip(4, 5).flatten(0, 2)
    by_phase = functional.conv2d(
        gradients.flatten(0, 1).contiguous(memory_format=torch.channels_last),
        phases.contiguous(memory_format=torch.channels_last),
        padding=(taps[0] - 1, taps[1] - 1),
    ).permute(0, 2, 3, 1)
    high, wide = by_phase.shape[1:3]
    places = by_phase.reshape(*gradients.shape[:2], high, wide, down, across, inputs)
    images = places.transpose(3, 4).reshape(*gradients.shape[:2], high * down, wide * across, inputs)
    return _inside(images, *window.padding, size).permute(0, 1, 4, 2, 3)


def _inside(padded: torch.Tensor, above: int, left: int, size: torch.Size) -> torch.Tensor:
    """Returns what of ``padded``, shape ``(n, K, rows, columns, channels)``, lies in an image of ``size``."""
    return padded[:, :, above : above + size[0], left : left + size[1]]


def _cropped(values: torch.Tensor, gradients: torch.Tensor) -> torch.Tensor:
    """Returns those of the ``values``, shape ``(n, ...)``, at which there are gradients."""
    return values[(slice(None), *(slice(0, size) for size in gradients.shape[2:]))]


def _whole(gradients: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Fills gradients up with the zeros that were left out."""
    missing = [full - size for full, size in zip(shape, gradients.shape[2:], strict=True)]
    if not any(missing):
        return gradients
    return functional.pad(gradients, [number for size in reversed(missing) for number in (0, size)])
