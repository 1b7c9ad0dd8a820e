"""Many small clients trained together: as if one after the other, to the bit, in a fraction of the time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.learning.local_sgd import LocalSgd
from discreet.learning.objective import Client, objective_for

FloatVector = npt.NDArray[np.float64]

# Stacks of so many float64 numbers stay in the processor's cache; and so many clients hide what a call costs.
_PARAMETERS_AT_ONCE = 1 << 17
_CLIENTS_AT_ONCE = 64


def clients_at_once(dimension: int) -> int:
    """Returns how many clients with models of ``dimension`` weights are worth training together."""
    return max(1, min(_CLIENTS_AT_ONCE, _PARAMETERS_AT_ONCE // dimension))


def trained(
    local: LocalSgd,
    model: nn.Module,
    start: FloatVector,
    clients: Sequence[Client],
    *,
    radius: float = math.inf,
) -> Iterator[tuple[FloatVector, float]]:
    """Yields how far each client moved from ``start``, shape ``(d,)``, and its mean loss, in order.

    Args:
        local: the steps that all take.
        model: the architecture; scratch space.
        start: parameters, shape ``(d,)``.
        clients: each with at least one record; those with equally many go together.
        radius: as in `LocalSgd.run`.
    """
    size = clients_at_once(len(start))
    for first in range(0, len(clients), size):
        chunk = clients[first : first + size]
        found: dict[int, tuple[FloatVector, float]] = {}
        for population in dict.fromkeys(len(client.records) for client in chunk):
            places = [place for place, client in enumerate(chunk) if len(client.records) == population]
            together = [chunk[place] for place in places]
            moved, losses = local.run(
                objective_for(model, together),
                start,
                population,
                [client.randomness for client in together],
                radius=radius,
            )
            found |= zip(places, zip(moved, losses.tolist(), strict=True), strict=True)
        yield from (found[place] for place in range(len(chunk)))
