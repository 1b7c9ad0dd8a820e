"""The rounding that the claimed sensitivity allows for, measured on float32 networks of ordinary size."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from discreet.data.records import Records
from discreet.kinds import FLAT
from discreet.kinds.float_error import FLOAT_SLACK, with_slack
from discreet.learning.clipping import clipped_gradient_sum
from discreet.learning.clipping.clipped_sum import prepare
from discreet.learning.tangent_model import linearise
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom

TANGENTS = [("cnn-tanh-standardised", (28, 28)), ("cnn-tanh", (28, 28)), ("mlp", (28, 28))]
CLIP_NORM = 0.05  # small enough that every record is clipped and contributes exactly this norm
CASES = [("cnn-tanh", (28, 28)), ("cnn-group-norm", (81, 7, 7)), ("mlp", (28, 28)), ("logistic", (28, 28))]


def clipped(name: str, shape: tuple[int, ...], records: Records) -> np.ndarray:
    model = build_model(name, shape, 10, seed=1)
    total = clipped_gradient_sum(
        model, flatten(model), records, clip_norm=CLIP_NORM, style=FLAT, randomness=SeededRandom(0)
    )
    return total.vector


def batch(shape: tuple[int, ...], count: int) -> Records:
    rng = np.random.default_rng(3)
    return Records(rng.random((count, *shape), dtype=np.float32), rng.integers(0, 10, count))


@pytest.mark.parametrize(("name", "shape"), CASES, ids=[name for name, _ in CASES])
def test_a_record_in_front_of_all_others_moves_the_sum_within_the_claim(
    name: str, shape: tuple[int, ...]
) -> None:
    """Every other record moves to another place of its chunk, and some to another chunk."""
    data = batch(shape, 200)
    moved = clipped(name, shape, data) - clipped(name, shape, data.take(np.arange(1, 200)))
    own = clipped(name, shape, data.take(np.arange(1)))
    assert np.linalg.norm(own) == pytest.approx(CLIP_NORM, rel=1e-3)
    assert np.linalg.norm(moved) <= with_slack(CLIP_NORM)
    assert np.linalg.norm(moved - own) <= FLOAT_SLACK * CLIP_NORM / 4


@pytest.mark.parametrize(("name", "shape"), CASES, ids=[name for name, _ in CASES])
def test_the_order_of_a_batch_does_not_matter(name: str, shape: tuple[int, ...]) -> None:
    """Were a record's contribution to depend on its place, a reversed batch would show it."""
    data = batch(shape, 128)
    difference = clipped(name, shape, data) - clipped(name, shape, data.take(np.arange(128)[::-1].copy()))
    assert np.linalg.norm(difference) <= 128 * CLIP_NORM * 2.0**-20


@pytest.mark.parametrize(("name", "shape"), TANGENTS, ids=[name for name, _ in TANGENTS])
def test_a_tangent_does_not_depend_on_its_place_in_a_chunk(name: str, shape: tuple[int, ...]) -> None:
    """A record more shifts all later ones by a place, and lengthens the last chunk by one.

    Full chunks are of one shape, so a shift moves nothing to speak of in the many records it concerns; the
    last chunk's length concerns at most 64, which may move by 2^-28 each, far within the slack.
    """
    model, records = build_model(name, shape, 10, seed=1), batch(shape, 65)
    prepare(model, flatten(model))
    features = torch.from_numpy(records.features)
    direction = torch.from_numpy(np.random.default_rng(5).normal(size=len(flatten(model))))
    full = linearise(model, features[:64])
    for first, end, most in ((1, 65, 2.0**-40), (0, 1, 2.0**-28), (0, 37, 2.0**-28), (0, 63, 2.0**-28)):
        other, common = linearise(model, features[first:end]), min(end, 64) - first
        rows = slice(first, first + common)
        here, there = full.of(rows).along(direction), other.of(slice(common)).along(direction)
        moved = (there - here).abs().amax(dim=1)
        assert float((moved / (full.longest()[rows] * direction.norm())).max()) <= most
        assert float((other.spread()[:common] / full.spread()[rows] - 1.0).abs().max()) <= 2.0**-20
