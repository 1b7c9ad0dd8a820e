"""Mean gradients for local SGD: what a network draws comes from the random source, not from torch."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from discreet.data.records import Records
from discreet.learning.objective import Client, objective_for
from discreet.models import flatten
from discreet.randomness import SeededRandom


def gradients(torch_seed: int, seed: int) -> list[bytes]:
    """Two gradients of one batch of a network with dropout."""
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(8, 5)).astype(np.float32), rng.integers(0, 3, 8))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.5), nn.Linear(6, 3))
    objective = objective_for(model, [Client(records, SeededRandom(seed))])
    torch.manual_seed(torch_seed)
    start, batch = flatten(model)[None], np.arange(8)[None]
    return [objective.mean_gradients(start, [0], batch)[0].tobytes() for _ in range(2)]


def test_dropout_of_local_sgd_takes_its_masks_from_the_random_source() -> None:
    assert gradients(torch_seed=1, seed=5) == gradients(torch_seed=2, seed=5)
    assert gradients(torch_seed=1, seed=5) != gradients(torch_seed=1, seed=6)


def test_every_gradient_has_masks_of_its_own() -> None:
    first, second = gradients(torch_seed=1, seed=5)
    assert first != second
