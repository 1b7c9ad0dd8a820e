"""Dense networks by hand against book-keeping by autograd: the same rows to the bit, and the same sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.kinds import Automatic, ExpectedBatch, Flat, PerLayer
from discreet.kinds.float_error import FLOAT_SLACK
from discreet.learning.clipping.clipped_sum import clipped_gradient_sum
from discreet.learning.clipping.dense import LayerRows, clipped_dense_sum, dense_rows
from discreet.learning.clipping.ghost import ghost_gradients
from discreet.learning.clipping.person_rows import PersonRows
from discreet.learning.clipping.pieces import Explicit, OuterSum
from discreet.models import flatten
from discreet.randomness import SeededRandom

LENGTH = 64


def network(outputs: int) -> nn.Sequential:
    torch.manual_seed(outputs)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(22, 9),
        nn.ReLU(),
        nn.Linear(9, 7, bias=False),
        nn.Tanh(),
        nn.Linear(7, outputs),
    )


def records(count: int, outputs: int) -> Records:
    """Some are so large that nothing of theirs is finite; some have a label that is unknown."""
    rng = np.random.default_rng(count)
    features = rng.normal(0.0, 1.5, (count, 2, 11)).astype(np.float32)
    features[5], features[6], features[7] = 3e38, 1e20, 1e-30
    labels = rng.integers(0, max(outputs, 2), count)
    labels[3] = 99
    return Records(features, labels)


@pytest.mark.parametrize("outputs", [1, 5])
def test_rows_are_those_of_autograd_to_the_bit(outputs: int) -> None:
    model, data = network(outputs), records(LENGTH, outputs)
    features, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    with torch.no_grad():
        found = dense_rows(model, features.flatten(1), labels)
    expected = ghost_gradients(model, features, labels)
    pieces: Any = expected.pieces
    outer = [piece for piece in pieces.values() if isinstance(piece, OuterSum)]
    biases = [piece for piece in pieces.values() if isinstance(piece, Explicit)]
    assert len(outer) == len(found.layers) == 3
    assert len(biases) == sum(layer.has_bias for layer in found.layers) == 2
    pairs = [(found.losses, expected.losses), (found.norms_squared, expected.norms_squared())]
    for layer, piece in zip(found.layers, outer, strict=True):
        pairs += [(layer.inputs, piece.activations[:, 0]), (layer.upward, piece.backprops[:, 0])]
    for one, other in pairs:
        assert torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
    assert not found.usable[[3, 5]].any()
    assert found.usable.sum() >= LENGTH - 4


@pytest.mark.parametrize("style", [Flat(), PerLayer(), Automatic()], ids=lambda style: type(style).__name__)
def test_sums_are_those_of_persons_with_one_record_each(style: Any) -> None:
    """Persons go through autograd; chunks of several lengths, the last one with padding."""
    model, data, norm = network(5), records(150, 5), 1.5
    weights = flatten(model)
    alone = PersonRows(np.arange(151), np.ones(150))
    source, other = SeededRandom(0), SeededRandom(0)
    expected = clipped_gradient_sum(
        model, weights, data, clip_norm=norm, style=style, randomness=source, persons=alone
    )
    clipped_gradient_sum(model, weights, data, clip_norm=norm, style=style, randomness=other)
    assert source.words(1) == other.words(1), "a seeded run's noise hangs on who computes its sums"
    assert 20 < expected.within < 130
    for batch in (32.0, 150.0):
        vector, loss, within = clipped_dense_sum(
            model, weights, data, norm, style=style, expected=ExpectedBatch(batch)
        )
        assert np.abs(vector - expected.vector).max() < 1e-6 * np.linalg.norm(expected.vector)
        assert loss == pytest.approx(expected.loss, rel=1e-6)
        assert within == expected.within


def most_of_one_record() -> float:
    """How far one record of 60 moves the sum, at most, over the clipping norm."""
    model, data, norm = network(5), records(60, 5), 0.5
    whole = np.arange(60)

    def total(rows: np.ndarray) -> np.ndarray:
        taken = data.take(rows)
        return clipped_dense_sum(
            model, flatten(model), taken, norm, style=Flat(), expected=ExpectedBatch(32.0)
        )[0]

    full = total(whole)
    return max(float(np.linalg.norm(full - total(np.delete(whole, row)))) for row in whole) / norm


def test_a_record_moves_the_sum_by_the_clipping_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    """With records left out before others, so in other places; a bias that its norm forgets is found."""
    assert 0.999 < most_of_one_record() <= 1.0 + FLOAT_SLACK
    honest = LayerRows.norms_squared
    monkeypatch.setattr(LayerRows, "norms_squared", lambda rows: honest(replace(rows, has_bias=False)))
    assert most_of_one_record() > 1.0 + 2.0 * FLOAT_SLACK
