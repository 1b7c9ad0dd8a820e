"""The tangent of a network against torch's own Jacobian, written out record by record in float64."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call, jacrev

from discreet.errors import ConfigurationError
from discreet.learning.clipping.clipped_sum import prepare
from discreet.learning.clipping.per_record import PerRecordFallbackWarning
from discreet.learning.tangent_model import LARGEST_LOGIT, TangentMap, TangentModel, linearise, row_order
from discreet.learning.tangent_rows import Factored, WrittenOut
from discreet.models import LinearHead, build_model, flatten
from discreet.models.adapters import LowRank


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.GroupNorm(2, 4), nn.Tanh(), nn.MaxPool2d(2, 1),
        nn.Conv2d(4, 4, 2, groups=2), nn.ReLU(), nn.Flatten(), nn.Linear(4, 3),
    )  # fmt: skip


def sequence() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(3, 4, 3, padding=2, dilation=2), nn.InstanceNorm1d(4, affine=True), nn.Linear(7, 5),
        nn.LayerNorm(5), nn.Tanh(), nn.Flatten(), nn.Linear(20, 4, bias=False),
    )  # fmt: skip


def frozen_layer() -> nn.Module:
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))
    model[1].weight.requires_grad_(False)
    return model


def edges() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 3, 2, bias=False), nn.ReLU(),
        nn.Sequential(nn.MaxPool2d((2, 3), (2, 1), (1, 0)), nn.Tanh()),
        nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, (1, 2), stride=(1, 3)), nn.Flatten(), nn.Linear(4, 2),
    )  # fmt: skip


def pooled() -> nn.Module:
    return nn.Sequential(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 4), nn.GELU(), nn.Linear(4, 3))


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.head = nn.Linear(6, 4), nn.Linear(6, 4), nn.Linear(4, 3)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.left(features)) * self.right(features))


CASES: list[tuple[str, Callable[[], nn.Module], tuple[int, ...]]] = [
    ("convolutions", convolutions, (2, 6, 6)),
    ("sequence", sequence, (3, 7)),
    (
        "a wide convolution",
        lambda: nn.Sequential(nn.Conv2d(6, 8, 3), nn.Flatten(), nn.Linear(32, 3)),
        (6, 4, 4),
    ),
    (
        "many positions",
        lambda: nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(16, 3)),
        (8, 2),
    ),
    ("frozen weights", frozen_layer, (6,)),
    ("edges that no window reaches", edges, (2, 12, 13)),
    ("a pool before all weights", pooled, (2, 4, 4)),
    ("not a chain", Branches, (6,)),
    ("adapters", lambda: nn.Sequential(LowRank(nn.Linear(6, 4), 2), nn.Tanh(), nn.Linear(4, 3)), (6,)),
    ("one object twice", lambda: nn.Sequential(nn.Linear(6, 4), *[nn.Tanh()] * 2, nn.Linear(4, 3)), (6,)),
    ("linear head", lambda: LinearHead(6, 3), (6,)),
    ("one output", lambda: nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 1)), (6,)),
]


def tangent_of(model: nn.Module, features: torch.Tensor) -> TangentModel:
    prepare(model, flatten(model))
    return linearise(model, features)


def whole(tangent: TangentModel) -> TangentMap:
    return tangent.of(slice(None))


def jacobian(model: nn.Module, features: torch.Tensor) -> torch.Tensor:
    """Float64, shape ``(n, K, d)``; of several logits each row less the last one."""
    exact = copy.deepcopy(model).double()
    params = {name: param.detach() for name, param in exact.named_parameters() if param.requires_grad}
    rows = []
    for one in features.double():
        parts = jacrev(lambda values, one=one: functional_call(exact, values, (one[None],))[0])(params)
        rows.append(torch.cat([part.flatten(1) for part in parts.values()], dim=1))
    stacked = torch.stack(rows)
    return stacked - stacked[:, -1:] if stacked.shape[1] > 1 else stacked


@pytest.fixture(params=CASES, ids=[case[0] for case in CASES])
def pair(request: pytest.FixtureRequest) -> tuple[TangentModel, torch.Tensor]:
    _, factory, shape = request.param
    torch.manual_seed(3)
    model, features = factory(), torch.randn(5, *shape)
    return tangent_of(model, features), jacobian(model, features)[:, :, row_order(model)]


def test_rows_along_a_direction(pair: tuple[TangentModel, torch.Tensor]) -> None:
    tangent, rows = pair
    direction = torch.randn(rows.shape[2], dtype=torch.float64)
    torch.testing.assert_close(whole(tangent).along(direction), rows @ direction, rtol=1e-4, atol=1e-4)


def test_weighted_sums_of_rows(pair: tuple[TangentModel, torch.Tensor]) -> None:
    tangent, rows = pair
    weights = torch.randn(rows.shape[:2], dtype=torch.float64)
    expected = torch.einsum("nk,nkp->p", weights, rows)
    torch.testing.assert_close(whole(tangent).weighted_sum(weights), expected, rtol=1e-4, atol=1e-4)


def test_one_is_the_transpose_of_the_other_to_double_precision(
    pair: tuple[TangentModel, torch.Tensor],
) -> None:
    """The proof needs one linear map in both places, however roughly float32 has computed it."""
    tangent, rows = pair
    direction = torch.randn(rows.shape[2], dtype=torch.float64)
    weights = torch.randn(rows.shape[:2], dtype=torch.float64)
    forward = (weights * whole(tangent).along(direction)).sum()
    backward = whole(tangent).weighted_sum(weights) @ direction
    scale = float(weights.norm() * tangent.longest().max() * direction.norm())
    error = tangent.along_error() + tangent.sum_error(5)
    assert abs(float(forward - backward)) <= error * scale * math.sqrt(5 * rows.shape[1])
    assert error < 1e-12


def test_the_spread_is_an_upper_bound_and_close(pair: tuple[TangentModel, torch.Tensor]) -> None:
    tangent, rows = pair
    if rows.shape[1] == 1:
        exact = rows.norm(dim=2)[:, 0]
    else:
        exact = torch.cdist(rows, rows).amax(dim=(1, 2)) / math.sqrt(2.0)
    assert bool((tangent.spread() >= exact * (1.0 - 1e-6)).all())
    assert bool((tangent.spread() <= exact * 1.01).all())
    assert bool((tangent.longest() >= rows.norm(dim=2).amax(dim=1) * (1.0 - 1e-6)).all())


def test_the_spread_of_a_linear_head_is_the_norm_of_its_features() -> None:
    """Then tangent-steps have the constants of stable-steps, neither larger nor smaller."""
    features = torch.randn(6, 9)
    spread = tangent_of(LinearHead(9, 4), features).spread()
    torch.testing.assert_close(spread, features.double().norm(dim=1), rtol=1e-5, atol=0.0)


def test_a_spread_covers_the_cancellation_of_its_gram_matrix() -> None:
    """Two long rows that hardly differ: float32 knows their distance roughly, and the bound must say so."""
    base = torch.full((1, 1, 4096), 1000.0)
    rows = torch.cat([base, base + 2.0**-9], dim=1)
    exact = (rows[0, 0].double() - rows[0, 1].double()).norm()
    assert float(WrittenOut(rows).distances_squared()[0, 0, 1].sqrt()) >= float(exact)


def test_several_positions_are_bounded_whatever_the_factors() -> None:
    torch.manual_seed(0)
    backprops, activations = torch.randn(3, 4, 50, 6), 10.0 + torch.randn(3, 50, 7)
    rows = torch.einsum("nktr,ntc->nkrc", backprops.double(), activations.double()).flatten(2)
    factored = Factored(backprops, activations)
    off_diagonal = ~torch.eye(5, dtype=torch.bool)
    rows = torch.cat([rows, torch.zeros_like(rows[:, :1])], dim=1)
    exact = torch.cdist(rows, rows)
    for squared in (
        factored.distances_squared(),
        Factored(backprops.double(), activations.double()).distances_squared(),
    ):
        assert bool((squared.sqrt() >= exact * (1.0 - 1e-9)).all())
        assert float((squared.sqrt() / exact)[:, off_diagonal].max()) < 1.01


def test_an_embedding_is_written_out_with_a_warning_that_names_it() -> None:
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Embedding(7, 3), nn.Flatten(), nn.Linear(12, 3))
    prepare(model, flatten(model))
    with pytest.warns(PerRecordFallbackWarning, match=r"0 \(Embedding\)"):
        tangent = linearise(model, torch.tensor([[0, 1, 1, 6], [2, 2, 2, 2]]))
    # what the second record moves, relative to the last logit: one row of the table, four times
    moved = whole(tangent).weighted_sum(torch.tensor([[0.0, 0, 0], [1.0, 0, 0]]).double())[:21].view(7, 3)
    assert bool((moved[[0, 1, 3, 4, 5, 6]] == 0).all())
    expected = (model[2].weight[0] - model[2].weight[2]).view(4, 3).sum(dim=0).double()
    torch.testing.assert_close(moved[2], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::discreet.learning.clipping.per_record.PerRecordFallbackWarning")
def test_a_model_that_cannot_run_record_by_record_is_refused() -> None:
    class Sorted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            if float(features.sum()) > 0:
                return features * self.weight
            return features - self.weight

    model = Sorted()
    prepare(model, flatten(model))
    with pytest.raises(ConfigurationError, match=r"record by record.*sharded"):
        linearise(model, torch.ones(2, 3))


def test_logits_are_cut_off_and_those_beyond_float32_are_marked() -> None:
    model = LinearHead(2, 2)
    prepare(model, np.array([1e30, 0.0, 0.0, 1.0]))
    logits = linearise(model, torch.tensor([[1.0, 1.0]])).logits
    assert logits.tolist() == [[LARGEST_LOGIT, 1.0]]
    beyond = linearise(model, torch.tensor([[1e20, 0.0], [1.0, 1.0]])).logits
    assert bool(beyond[0, 0].isnan())
    assert beyond[1].tolist() == [LARGEST_LOGIT, 1.0]


def test_a_model_without_rows_of_logits_is_refused() -> None:
    model = nn.Sequential(nn.Unflatten(1, (2, 3)), nn.Linear(3, 3))
    prepare(model, flatten(model))
    with pytest.raises(ConfigurationError, match="one row of logits"):
        linearise(model, torch.ones(2, 6))


def test_ordinary_networks_stay_far_below_the_longest_row() -> None:
    """`tangent_steps._LONGEST_ROW`: only float's sake needs it, so it must not bind."""
    features = torch.from_numpy(np.random.default_rng(0).random((8, 28, 28), dtype=np.float32))
    for name in ("cnn-tanh", "cnn-relu", "mlp"):
        tangent = tangent_of(build_model(name, (28, 28), 10, seed=0), features)
        assert float((tangent.longest() / tangent.spread()).max()) < 16.0


def test_nothing_private_is_printed() -> None:
    assert "tensor" not in repr(tangent_of(LinearHead(2, 2), torch.ones(1, 2)))


def test_rows_are_kept_in_whichever_form_has_fewer_numbers() -> None:
    """Either is compared with torch's Jacobian above."""

    def kept(model: nn.Module, shape: tuple[int, ...]) -> Any:
        return tangent_of(model, torch.randn(4, *shape)).rows[0]

    factors, rows = (
        kept(nn.Sequential(nn.Conv2d(6, 8, 3), nn.Flatten(), nn.Linear(32, 3)), (6, 4, 4)),
        kept(convolutions(), (2, 6, 6)),
    )
    assert (type(factors), type(rows)) == (Factored, WrittenOut)
    assert type(kept(nn.Sequential(nn.Linear(2, 2), nn.Flatten(), nn.Linear(16, 3)), (8, 2))) is WrittenOut
