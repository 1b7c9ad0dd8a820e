"""Chunks of a batch: one sum, to the bit, whatever number of threads; and every tensor where the model is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.kinds import FLAT, Automatic, Flat, PerLayer
from discreet.learning.clipping import ClippedSum, clipped_gradient_sum
from discreet.learning.clipping.chunks import in_order, models_for_threads
from discreet.models import flatten
from discreet.randomness import SeededRandom


@pytest.fixture(autouse=True)
def _torch_threads() -> Iterator[None]:
    """Leaves torch's number of threads as it was."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def network(*extra: nn.Module) -> nn.Sequential:
    torch.manual_seed(0)
    front = [nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten()]
    return nn.Sequential(*front, *extra, nn.Linear(36, 5))


class Scale(nn.Module):
    """A layer without a rule of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.ones(36))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs * self.factor


def images(count: int) -> Records:
    rng = np.random.default_rng(1)
    return Records(rng.normal(size=(count, 1, 8, 8)).astype(np.float32), rng.integers(0, 5, count))


def clipped(
    model: nn.Module, records: Records, threads: int, style: Automatic | Flat | PerLayer = FLAT
) -> ClippedSum:
    torch.set_num_threads(threads)
    return clipped_gradient_sum(
        model, flatten(model), records, clip_norm=0.5, style=style, randomness=SeededRandom(3)
    )


@pytest.mark.filterwarnings("ignore::discreet.learning.clipping.PerRecordFallbackWarning")
@pytest.mark.parametrize("extra", [(), (nn.Dropout(0.5),), (Scale(),)], ids=["rules", "dropout", "vmap"])
def test_the_sum_has_the_same_bits_on_any_number_of_threads(extra: tuple[nn.Module, ...]) -> None:
    model, records = network(*extra), images(300)
    alone = clipped(model, records, 1)
    for threads in (2, 3):
        together = clipped(model, records, threads)
        assert together.vector.tobytes() == alone.vector.tobytes()
        assert together.loss == alone.loss


def test_a_model_that_draws_random_numbers_stays_on_one_thread() -> None:
    torch.set_num_threads(2)
    features = torch.from_numpy(images(2).features)
    assert len(models_for_threads(network(), features, 4)) == 2
    assert len(models_for_threads(network(), features, 1)) == 1
    generator = torch.get_rng_state()
    assert len(models_for_threads(network(nn.Dropout(0.5)), features, 4)) == 1
    assert torch.equal(torch.get_rng_state(), generator)


def test_a_model_that_cannot_be_copied_stays_on_one_thread() -> None:
    torch.set_num_threads(2)
    model: Any = network()
    model.derived = model[0].weight * 2.0
    assert models_for_threads(model, torch.from_numpy(images(2).features), 4) == [model]


def test_threads_never_work_on_the_callers_model() -> None:
    torch.set_num_threads(2)
    model = network()
    assert model not in models_for_threads(model, torch.from_numpy(images(2).features), 4)


@pytest.mark.parametrize("threads", [1, 3])
def test_parts_come_in_order_and_torch_gets_its_threads_back(threads: int) -> None:
    torch.set_num_threads(3)
    parts = [slice(number, number + 1) for number in range(20)]
    models: list[nn.Module] = [network() for _ in range(threads)]
    seen = list(in_order(lambda _, part: (part.start, torch.get_num_threads()), models, parts))
    assert seen == [(number, 1) for number in range(20)]
    assert torch.get_num_threads() == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_is_raised_and_torch_gets_its_threads_back(threads: int) -> None:
    torch.set_num_threads(2)

    def fail(_: nn.Module, part: slice) -> int:
        if part.start == 1:
            raise ValueError("second part")
        return part.start

    with pytest.raises(ValueError, match="second part"):
        list(in_order(fail, [network() for _ in range(threads)], [slice(0, 1), slice(1, 2)]))
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize("style", [FLAT, PerLayer(), Automatic()], ids=str)
def test_every_new_tensor_is_made_on_the_device_of_the_model(style: Automatic | Flat | PerLayer) -> None:
    """Under a default device of "meta" a tensor that forgets its device holds no numbers at all."""
    model, records = network(), images(70)
    expected = clipped(model, records, 1, style)
    with torch.device("meta"):
        found = clipped(model, records, 1, style)
    assert found.vector.tobytes() == expected.vector.tobytes()


def test_embeddings_are_summed_on_the_device_of_the_model() -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.head = nn.Embedding(9, 3), nn.Linear(3, 4)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.head(self.table(features.long()).mean(dim=1))

    rng = np.random.default_rng(2)
    records = Records(rng.integers(0, 9, (20, 6)).astype(np.float32), rng.integers(0, 4, 20))
    model = Words()
    expected = clipped(model, records, 1)
    with torch.device("meta"):
        found = clipped(model, records, 1)
    np.testing.assert_array_equal(found.vector, expected.vector)
