"""Many clients trained together: every one has the bits that it has alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.kinds import ClippedUpdate, LocalSgd
from discreet.learning import counted_update
from discreet.learning.clients import clients_at_once, trained
from discreet.learning.clipped_update import clipped_updates, takes_part
from discreet.learning.objective import Client
from discreet.models import LinearHead, flatten
from discreet.randomness import SeededRandom

SIZES = (20, 7, 20, 1, 20, 7, 13, 20, 3, 20)


def records(count: int, seed: int) -> Records:
    rng = np.random.default_rng(seed)
    return Records(rng.normal(size=(count, 6)).astype(np.float32), rng.integers(0, 3, count))


def clients() -> list[Client]:
    """Of different sizes, most of which occur more than once."""
    return [Client(records(size, seed), SeededRandom(seed)) for seed, size in enumerate(SIZES)]


def network(*layers: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), *layers, nn.Linear(5, 3))


MODELS = {
    "linear": LinearHead(6, 3),
    "dense": network(nn.Tanh()),
    "by autograd": network(nn.GELU()),
    "dropout": network(nn.Dropout(0.5)),
}


def fresh(name: str) -> nn.Module:
    """A copy: training leaves other weights behind, and no test may start from another one's."""
    return copy.deepcopy(MODELS[name])


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "local",
    [LocalSgd(0.1, 6, epochs=3), LocalSgd(0.1, 4, epochs=2, momentum=0.5, weight_decay=0.01)],
    ids=["plain", "momentum"],
)
@pytest.mark.parametrize("at_once", [1, 3, 64])
def test_company_does_not_change_a_bit(
    name: str, local: LocalSgd, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fresh(name)
    start = flatten(model) + 0.1
    # Half of the clients leave a ball of this radius, the others do not.
    radius = float(np.median([np.linalg.norm(moved) for moved, _ in trained(local, model, start, clients())]))
    alone = [next(trained(local, model, start, [client], radius=radius)) for client in clients()]
    monkeypatch.setattr("discreet.learning.clients.clients_at_once", lambda _: at_once)
    together = list(trained(local, model, start, clients(), radius=radius))
    assert [moved.tobytes() for moved, _ in together] == [moved.tobytes() for moved, _ in alone]
    assert [loss for _, loss in together] == [loss for _, loss in alone]
    lengths = [np.linalg.norm(moved) for moved, _ in together]
    assert min(lengths) < 0.95 * radius
    assert max(lengths) == pytest.approx(radius)


def test_nobody_trains_nothing() -> None:
    assert list(trained(LocalSgd(0.1, 4), LinearHead(6, 3), np.zeros(18), [])) == []


def test_a_kind_gives_each_client_what_it_gives_it_alone() -> None:
    kind, model, start = ClippedUpdate(0.2, 0.5, 4, sampling_prob=0.6), LinearHead(6, 3), np.zeros(18)
    alone = [counted_update(kind, model, start, own.records, own.randomness) for own in clients()]
    taking_part = [client for client in clients() if takes_part(kind, client)]
    together = iter(list(clipped_updates(kind, model, start, taking_part)))
    assert 0 < len(taking_part) < len(SIZES)
    for counted in alone:
        if counted.update.batch:
            other = next(together)
            assert other.update.vector.tobytes() == counted.update.vector.tobytes()
            assert other.within == counted.within
    assert next(together, None) is None


def test_large_models_go_one_by_one() -> None:
    assert clients_at_once(10_000_000) == 1
    assert clients_at_once(7850) == 16
    assert clients_at_once(10) == 64
