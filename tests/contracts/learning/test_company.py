"""A shard's or client's numbers are the same, to the bit, in every company, for crafted records too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.kinds import LocalSgd
from discreet.learning.clients import trained
from discreet.learning.dense import DenseNetwork
from discreet.learning.objective import Client
from discreet.models import flatten
from discreet.randomness import SeededRandom
from tests.contracts.learning import crafted_rows
from tests.contracts.learning.crafted_rows import Crafted

MAKES: dict[str, Callable[[], Crafted]] = {
    "kinks": crafted_rows.at_the_kinks,
    "cancellation": crafted_rows.beyond_rounding,
    "odd widths": crafted_rows.of_an_odd_width,
    "ties": crafted_rows.with_ties,
    "ends of float32": crafted_rows.at_the_ends_of_float32,
    "batch norm": crafted_rows.with_batch_norm,
    "logistic": crafted_rows.without_a_visible_logit(1),
    "softmax": crafted_rows.without_a_visible_logit(10),
}


@pytest.fixture(autouse=True)
def _together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has large models step together too."""
    monkeypatch.setattr("discreet.learning.clients._PARAMETERS_AT_ONCE", 1 << 24)


def silos(crafted: Crafted, sizes: list[int]) -> list[Records]:
    """Every client begins at another of the crafted records."""
    return [crafted.records(np.arange(size) + number) for number, size in enumerate(sizes)]


def updates(
    local: LocalSgd, model: nn.Module, start: np.ndarray, chosen: list[tuple[int, Records]]
) -> list[bytes]:
    clients = [Client(own, SeededRandom(number)) for number, own in chosen]
    return [moved.tobytes() for moved, _ in trained(local, model, start, clients)]


@pytest.mark.parametrize("make", MAKES)
def test_bits_do_not_depend_on_company_order_or_sizes(make: str) -> None:
    """Batches of 1 to 40 records, alone, together, in another order, and without one of them."""
    crafted = MAKES[make]()
    local, start = LocalSgd(0.1, 40), flatten(crafted.model)
    sizes = (
        [*range(1, 41)] if make in ("kinks", "odd widths", "softmax") else [1, 2, 3, 7, 8, 15, 16, 17, 33, 40]
    )
    sizes += [5, 5, 5, 16, 16]
    everyone = list(enumerate(silos(crafted, sizes)))
    alone = [updates(local, crafted.model, start, [one])[0] for one in everyone]
    for company in (slice(None), slice(None, None, -1), slice(1, None), slice(None, None, 2)):
        # Written-out differences of long byte strings take pytest minutes.
        same = updates(local, crafted.model, start, everyone[company]) == alone[company]
        assert same, f"{make}, {company}"


def test_company_that_changes_a_last_bit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DenseNetwork.mean_gradients

    def by_number(self, parameters, features, labels):  # type: ignore[no-untyped-def]
        gradients, losses = honest(self, parameters, features, labels)
        return gradients * (1.0 + 2.0**-52 * (len(labels) > 1)), losses

    monkeypatch.setattr(DenseNetwork, "mean_gradients", by_number)
    with pytest.raises(AssertionError):
        test_bits_do_not_depend_on_company_order_or_sizes("kinks")


@pytest.mark.parametrize("layers", [(), (nn.LayerNorm(4),)], ids=["dense", "by autograd"])
def test_a_client_that_diverges_leaves_the_others_alone(layers: tuple[nn.Module, ...]) -> None:
    """Numbers that are not finite stay its own, and nothing is raised for it, then or in the next round."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), *layers, nn.Linear(4, 3))
    start, local = flatten(model), LocalSgd(1e30, 2, epochs=3)
    rng = np.random.default_rng(0)
    tame = Records(np.zeros((4, 3), np.float32), np.zeros(4, np.int64))
    wild = Records(rng.normal(size=(4, 3)).astype(np.float32) * np.float32(1e30), rng.integers(0, 9, 4))
    quiet = LocalSgd(1e-3, 2)
    expected = updates(quiet, model, start, [(0, tame)])
    for _ in range(2):
        found = updates(local, model, start, [(1, wild), (0, tame), (2, wild)])
        assert not np.isfinite(np.frombuffer(found[0])).all()
        assert updates(local, model, start, [(0, tame)]) == found[1:2]
    assert updates(quiet, model, start, [(0, tame)]) == expected
