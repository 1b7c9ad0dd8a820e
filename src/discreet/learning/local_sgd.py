"""Plain local SGD: several passes over shuffled batches, for the kinds that clip the whole update.

Several clients take the same steps at the same time, each on its own records and from its own coins: one
call of numpy does the work of many small ones, and every client's row has the bits that it has alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from discreet.arrays import Floats, Indices
from discreet.kinds.local_sgd import LocalSgd
from discreet.kinds.setting import LEAST_BATCH
from discreet.learning.objective import Client, Objective


@np.errstate(all="ignore")
def run_sgd(
    settings: LocalSgd,
    objective: Objective,
    start: Floats,
    clients: Sequence[Client],
    *,
    radius: float = math.inf,
) -> tuple[Floats, Floats]:
    """Returns how far training moved each of m clients, shape ``(m, d)``, and mean losses, ``(m,)``.

    A client whose training diverges ends with numbers that are not finite; nothing is raised for it.
    Where a model has running statistics of batches, each step replaces them, and one record is no batch.

    Args:
        settings: of the steps.
        objective: the losses of ``clients``.
        start: parameters that all start from, shape ``(d,)``.
        clients: how many records each has, and the source of its shuffles.
        radius: after every step the movement is projected onto the ball of this radius (P3's in-ball
            clipping); infinite leaves it alone.
    """
    moved = np.zeros((len(clients), len(start)))
    velocity = np.zeros_like(moved)
    losses: list[list[float]] = [[] for _ in clients]
    weights = slice(0, len(start) - objective.statistics)
    least = LEAST_BATCH if objective.statistics else 1
    for _ in range(settings.epochs):
        orders = [client.randomness.permutation(len(client.records)) for client in clients]
        for places, batches in _in_step(orders, settings.batch_size, least):
            all_of_them = len(places) == len(clients)
            own = moved if all_of_them else moved[places]
            here = start + own
            gradients, found = objective.mean_gradients(here, places, batches)
            direction = _velocity(
                settings, velocity[:, weights], places, gradients[:, weights], here[:, weights]
            )
            np.multiply(direction, settings.learning_rate, out=here[:, weights])
            here[:, weights.stop :] = gradients[:, weights.stop :]
            own -= here
            _project_rows(own, radius)
            if not all_of_them:
                moved[places] = own
            for place, loss in zip(places, found.tolist(), strict=True):
                losses[place].append(loss)
    return moved, np.array([np.mean(of_client or 0.0) for of_client in losses])


def _velocity(
    settings: LocalSgd, velocity: Floats, places: list[int], gradients: Floats, here: Floats
) -> Floats:
    """Returns momentum·velocity + gradients + weight_decay·here; gradients and here are scratch space.

    The velocity of the clients at ``places`` is written down if there is any momentum.
    """
    if settings.momentum > 0.0:
        gradients += settings.momentum * velocity[places]
    if settings.weight_decay > 0.0:
        here *= settings.weight_decay
        gradients += here
    if settings.momentum > 0.0:
        velocity[places] = gradients
    return gradients


def _in_step(orders: list[Indices], batch_size: int, least: int) -> Iterator[tuple[list[int], Indices]]:
    """Yields the steps of one pass: places of clients, and their batches, which are of one size.

    Clients take their first steps together, then their second ones, and so on; only a last batch, which may
    be smaller, parts those of different sizes. Batches of fewer than ``least`` records are left out.
    """
    for first in range(0, max(map(len, orders)), batch_size):
        batches = [order[first : first + batch_size] for order in orders]
        for size in dict.fromkeys(map(len, batches)):
            places = [place for place, batch in enumerate(batches) if len(batch) == size]
            if size >= least:
                yield places, np.stack([batches[place] for place in places])


def _project_rows(vectors: Floats, radius: float) -> None:
    """Brings every row into the ball; rows inside are left alone to the bit."""
    if radius == math.inf:
        return
    norms = np.sqrt(np.vecdot(vectors, vectors))
    for row in np.flatnonzero(norms > radius):
        vectors[row] *= radius / norms[row]
