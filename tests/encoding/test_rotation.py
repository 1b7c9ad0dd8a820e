"""The rotation: orthogonal for every dimension, no padding, flat, and as accurate as its bound says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp, mpf, workprec
from scipy.linalg import hadamard

from discreet.encoding import Rotation
from discreet.encoding.rotation import flattened_bound, rotation_error
from discreet.errors import ConfigurationError
from discreet.randomness import SeededRandom

DIMENSIONS = [1, 2, 3, 64, 100, 127, 128, 4096, 5000, 100_003]


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_inverse_and_norm(dimension: int) -> None:
    rotation = Rotation.drawn(dimension, SeededRandom(1))
    x = np.random.default_rng(2).normal(size=dimension)
    y = rotation.forward(x)
    assert y.shape == x.shape
    limit = 3 * rotation_error(dimension) * np.linalg.norm(x) + 1e-300
    assert abs(np.linalg.norm(y) - np.linalg.norm(x)) <= limit
    assert np.linalg.norm(rotation.inverse(y) - x) <= limit


@pytest.mark.parametrize("size", [2, 8, 64, 128, 1024])
def test_power_of_two_is_the_walsh_hadamard_transform(size: int) -> None:
    rotation = Rotation.drawn(size, SeededRandom(3))
    matrix = hadamard(size) / math.sqrt(size) * rotation.first_signs
    x = np.random.default_rng(4).normal(size=size)
    assert np.allclose(rotation.forward(x), matrix @ x, rtol=0, atol=1e-12)


def test_linear_so_that_the_sum_of_rotated_is_the_rotated_sum() -> None:
    rotation = Rotation.drawn(1000, SeededRandom(5))
    x, y = np.random.default_rng(6).normal(size=(2, 1000))
    assert np.allclose(rotation.forward(x + y), rotation.forward(x) + rotation.forward(y), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dimension", [1000, 1025, 1500])
@pytest.mark.parametrize("position", [0, 500, 999])
def test_a_spike_is_flattened(dimension: int, position: int) -> None:
    """The worst update for a ring: all in one coordinate. 400 rotations, bound at 1e-7 a coordinate."""
    spike = np.zeros(dimension)
    spike[position] = 1.0
    bound = flattened_bound(1.0, dimension, 1e-7)
    largest = max(np.abs(Rotation.drawn(dimension, SeededRandom(i)).forward(spike)).max() for i in range(400))
    assert largest <= bound < 0.3
    # m > d/2: an entry is 1/√m where one pass reached it, so the bound is not off by orders of magnitude.
    assert largest >= bound / 9


def test_bound_is_that_of_hoeffding() -> None:
    assert flattened_bound(3.0, 2**20, 1e-9) == pytest.approx(3 * math.sqrt(2 * math.log(2e9) / 2**20))
    assert flattened_bound(3.0, 2**20 + 5, 1e-9) == flattened_bound(3.0, 2**20, 1e-9)
    assert flattened_bound(3.0, 4, 1e-9) == 3.0


def test_error_bound_covers_the_computation() -> None:
    dimension = 256
    rotation = Rotation.drawn(dimension, SeededRandom(7))
    x = np.random.default_rng(8).normal(size=dimension) * 10.0 ** np.random.default_rng(9).integers(
        -6, 6, dimension
    )
    signs = hadamard(dimension) * rotation.first_signs.astype(int)
    with workprec(200):
        exact = [mp.fsum(int(s) * mpf(float(v)) for s, v in zip(row, x, strict=True)) / 16 for row in signs]
        error = mp.sqrt(
            mp.fsum((mpf(float(y)) - e) ** 2 for y, e in zip(rotation.forward(x), exact, strict=True))
        )
    assert 0 < error <= rotation_error(dimension) * np.linalg.norm(x)


def test_same_public_seed_same_rotation() -> None:
    a, b = (Rotation.drawn(300, SeededRandom(b"round 3")) for _ in range(2))
    x = np.arange(300.0)
    assert np.array_equal(a.forward(x), b.forward(x))
    c = Rotation.drawn(300, SeededRandom(b"round 4"))
    assert not np.array_equal(a.forward(x), c.forward(x))


def test_input_is_not_changed() -> None:
    x = np.arange(100.0)
    Rotation.drawn(100, SeededRandom(1)).forward(x)
    Rotation.drawn(100, SeededRandom(1)).inverse(x)
    assert np.array_equal(x, np.arange(100.0))


def test_empty_dimension_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        Rotation.drawn(0, SeededRandom(1))
