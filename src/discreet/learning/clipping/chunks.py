"""The chunks of a batch on as many threads as torch may use, given back in one order.

Torch's own threads split every operation of a chunk, which is too little work for two; whole chunks are
enough. Each chunk is computed by one thread and the chunks are given back in order, so the bits of a sum do
not depend on the number of threads.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

import torch
from torch import nn

from discreet.learning.torch_state import device_of, draws_random_numbers
from discreet.models.threads import one_thread

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")


def _convolves(model: nn.Module) -> bool:
    return any(isinstance(layer, nn.Conv1d | nn.Conv2d) for layer in model.modules())


def models_for_threads(model: nn.Module, one: torch.Tensor, parts: int) -> list[nn.Module]:
    """Returns one model for each thread that may share ``parts`` chunks, or just ``model``.

    A model that draws random numbers stays on one thread: torch's generator is one for all of them, so the
    draws would come in an order that nobody can repeat. So does one that cannot be copied, and one without
    convolutions, whose chunks are over before a second thread has helped.

    Args:
        model: what every chunk runs.
        one: a batch of one record, zeros: no silo's data can then change the choice.
        parts: how many chunks there are.
    """
    threads = min(torch.get_num_threads(), parts)
    if (
        threads == 1
        or not _convolves(model)
        or device_of(model).type != "cpu"
        or draws_random_numbers(model, one)
    ):
        return [model]
    try:
        return [copy.deepcopy(model) for _ in range(threads)]
    except RuntimeError:
        return [model]


def in_order(
    work: Callable[[nn.Module, _Part], _Found], models: list[nn.Module], parts: list[_Part]
) -> Iterator[_Found]:
    """Yields ``work(model, part)`` for every part in order, on as many threads as there are models."""
    with one_thread():
        if len(models) == 1:
            yield from (work(models[0], part) for part in parts)
        else:
            yield from _on_threads(work, models, parts)


def _on_threads(
    work: Callable[[nn.Module, _Part], _Found], models: list[nn.Module], parts: list[_Part]
) -> Iterator[_Found]:
    free: SimpleQueue[nn.Module] = SimpleQueue()
    for model in models:
        free.put(model)

    def on_a_copy(part: _Part) -> _Found:
        own = free.get()
        try:
            return work(own, part)
        finally:
            free.put(own)

    with ThreadPoolExecutor(len(models), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        yield from pool.map(on_a_copy, parts)
