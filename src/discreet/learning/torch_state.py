"""What torch keeps for a whole process, set from outside: random generator, threads, layout, device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from discreet.data.records import Records
from discreet.randomness import RandomSource


def device_of(model: nn.Module) -> torch.device:
    """Returns the device of the model's parameters; all are on one."""
    return next(model.parameters()).device


def on_device_of(model: nn.Module, records: Records) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns features and labels as tensors where ``model`` is; a view of the arrays on the CPU."""
    device = device_of(model)
    return torch.from_numpy(records.features).to(device), torch.from_numpy(records.labels).to(device)


def use_fast_layout(model: nn.Module) -> None:
    """Puts weights in the channels-last layout: pooling is several times faster, and patches are contiguous.

    Everything that trains or measures does so, because another layout gives other roundings. On a GPU every
    shape then has one algorithm, too: none is chosen by a race, and none adds in an order of its own.
    """
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
    model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


@contextmanager
def torch_seeded(randomness: RandomSource, device: torch.device) -> Iterator[None]:
    """Makes what a model draws (dropout masks) a function of ``randomness`` while the block runs.

    Torch has one generator a process, so blocks must not overlap between threads.
    """
    seed = int(randomness.words(1)[0])
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        # torch.manual_seed also looks for devices that are not used, for most of a millisecond.
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.manual_seed(seed)
        yield


def draws_random_numbers(model: nn.Module, one: torch.Tensor) -> bool:
    """Says whether a forward pass over ``one`` record uses torch's generator on the CPU."""
    before = torch.get_rng_state()
    with torch.no_grad():
        model(one)
    drew = not torch.equal(torch.get_rng_state(), before)
    torch.set_rng_state(before)
    return drew
