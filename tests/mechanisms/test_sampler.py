"""What every share sampler promises: shape, reproducibility, independence of threads and of the machine."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from discreet.mechanisms import add_share, sample_share, sampler_tv
from discreet.privacy.events import DiscreteGaussianNoise, IntegerNoise, RoundedGaussianNoise, SkellamNoise
from discreet.randomness import SecureRandom, SeededRandom

LAWS: list[IntegerNoise] = [
    RoundedGaussianNoise(200.0, 3),
    DiscreteGaussianNoise(0.7, 3),
    SkellamNoise(25.0, 3),
    SkellamNoise(1e6, 3),
]
VECTORS = Path(__file__).parent.parent / "vectors" / "noise_draws.json"


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_threads_do_not_change_the_draws(
    law: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise,
) -> None:
    one = sample_share(law, 270_001, SeededRandom(1))
    assert np.array_equal(sample_share(law, 270_001, SeededRandom(1), workers=3), one)
    assert one.dtype == np.int64
    assert one.shape == (270_001,)


@pytest.mark.parametrize("workers", [1, 2])
def test_adding_a_share_is_adding_its_draws(workers: int) -> None:
    values = np.arange(140_000)
    add_share(values, LAWS[0], SeededRandom(7), workers=workers)
    assert np.array_equal(values, np.arange(140_000) + sample_share(LAWS[0], 140_000, SeededRandom(7)))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_source_never_gives_the_same_noise_twice(
    law: DiscreteGaussianNoise | RoundedGaussianNoise | SkellamNoise,
) -> None:
    source = SeededRandom(1)
    first, second = sample_share(law, 1000, source), sample_share(law, 1000, source)
    assert not np.array_equal(first, second)
    assert not np.array_equal(
        sample_share(law, 1000, SecureRandom()), sample_share(law, 1000, SecureRandom())
    )


def test_the_share_ignores_how_many_others_there_are() -> None:
    one, ten = RoundedGaussianNoise(50.0, 1), RoundedGaussianNoise(50.0, 10)
    assert np.array_equal(sample_share(one, 100, SeededRandom(2)), sample_share(ten, 100, SeededRandom(2)))


@pytest.mark.parametrize("size", [0, 1, 2, 131_071, 131_073])
def test_any_size(size: int) -> None:
    for law in LAWS:
        assert len(sample_share(law, size, SeededRandom(3))) == size


def test_gaussian_samplers_are_exact() -> None:
    assert sampler_tv(LAWS[0], 10**9) == 0.0
    assert sampler_tv(LAWS[1], 10**9) == 0.0


def test_golden_draws_are_the_same_on_every_machine() -> None:
    """A digest for each law; see the file for its provenance."""
    for case in json.loads(VECTORS.read_text())["cases"]:
        law = {c.__name__: c for c in (RoundedGaussianNoise, DiscreteGaussianNoise, SkellamNoise)}[
            case["law"]
        ]
        draws = sample_share(law(case["parameter"], 1), case["size"], SeededRandom(case["seed"]))
        assert draws[:6].tolist() == case["first"]
        assert hashlib.sha256(draws.astype("<i8").tobytes()).hexdigest() == case["sha256"]
