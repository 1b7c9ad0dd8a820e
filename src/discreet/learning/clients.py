"""Many small clients trained together: as if one after the other, to the bit, in a fraction of the time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from torch import nn

from discreet.arrays import Floats
from discreet.kinds.local_sgd import LocalSgd
from discreet.learning.local_sgd import run_sgd
from discreet.learning.objective import Client, objective_for
from discreet.models.threads import one_thread

# Stacks of so many float64 numbers stay in the processor's cache; and so many clients hide what a call costs.
_PARAMETERS_AT_ONCE = 1 << 17
_CLIENTS_AT_ONCE = 64


def clients_at_once(dimension: int) -> int:
    """Returns how many clients with models of ``dimension`` weights are worth training together."""
    return max(1, min(_CLIENTS_AT_ONCE, _PARAMETERS_AT_ONCE // dimension))


def trained(
    local: LocalSgd,
    model: nn.Module,
    start: Floats,
    clients: Sequence[Client],
    *,
    radius: float = math.inf,
) -> Iterator[tuple[Floats, float]]:
    """Yields how far each client moved from ``start``, shape ``(d,)``, and its mean loss, in order.

    Args:
        local: the steps that all take.
        model: the architecture; scratch space.
        start: parameters, shape ``(d,)``.
        clients: each with at least one record.
        radius: as in `run_sgd`.
    """
    size = clients_at_once(len(start))
    for first in range(0, len(clients), size):
        together = clients[first : first + size]
        with one_thread():
            moved, losses = run_sgd(local, objective_for(model, together), start, together, radius=radius)
        yield from zip(moved, losses.tolist(), strict=True)
