"""From updates to integers and back: exact sums, bounded error, refusals, memory."""

from __future__ import annotations

import dataclasses
import math
import tracemalloc
from collections.abc import Callable
from fractions import Fraction
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.arrays import Floats, Integers
from discreet.encoding import (
    Grid,
    GridRequest,
    Rotation,
    decode,
    encode,
    from_ring,
    noisy_integers,
    plan_grid,
    planned_weights,
    to_ring,
)
from discreet.encoding.ring import bits_for
from discreet.encoding.step_weights import StepWeights
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.kinds import NoisyStepsConfig
from discreet.mechanisms import NoiseFamily, law_for
from discreet.randomness import SeededRandom
from discreet.secagg.packing import add_packed, pack
from discreet.secagg.ring import to_ring as to_words
from discreet.secagg.ring import to_total, word_type

REQUEST = GridRequest(
    l2_sensitivity=1.0, silo_bound=20.0, num_silos=4, dimension=300, rounds=3, noise_multiplier=2.0
)
GRID = plan_grid(REQUEST)
ROTATED = plan_grid(dataclasses.replace(REQUEST, rotated=True))


def _updates(num: int, dimension: int = 300, norm: float = 20.0) -> np.ndarray:
    x = np.random.default_rng(1).normal(size=(num, dimension))
    return x * norm / np.linalg.norm(x, axis=1, keepdims=True)


def test_sum_through_the_wire_is_the_integer_sum_exactly() -> None:
    updates = _updates(4)
    integers = [encode(update, GRID, SeededRandom(i)) for i, update in enumerate(updates)]
    words = np.zeros(300, dtype=word_type(GRID.bits))
    for vector in integers:
        add_packed(words, pack(to_words(vector, GRID.bits, 300), GRID.bits), GRID.bits)
    total = to_total(words, GRID.bits)
    assert np.array_equal(from_ring(total, GRID.bits), sum(integers))
    assert np.array_equal(decode(total, GRID), sum(integers) / GRID.scale)


@pytest.mark.parametrize("grid", [GRID, ROTATED], ids=["plain", "rotated"])
def test_decoded_sum_is_close_to_the_sum(grid: Grid) -> None:
    rotation = Rotation.drawn(300, SeededRandom(9)) if grid.rotated else None
    updates = _updates(4)
    total = np.zeros(300, dtype=np.uint64)
    for i, update in enumerate(updates):
        total += to_ring(encode(update, grid, SeededRandom(i), rotation), grid.bits)
    error = decode(total, grid, rotation) - updates.sum(axis=0)
    assert np.linalg.norm(error) * grid.scale <= 4 * math.sqrt(300)
    assert np.linalg.norm(error) * grid.scale > 1


@given(values=st.lists(st.integers(-(2**40), 2**40 - 1), min_size=1, max_size=30), bits=st.integers(42, 62))
def test_ring_round_trip(values: list[int], bits: int) -> None:
    array = np.array(values, dtype=np.int64)
    assert np.array_equal(from_ring(to_ring(array, bits), bits), array)


@given(magnitude=st.floats(0, 2.0**60))
def test_bits_for_is_minimal(magnitude: float) -> None:
    bits = bits_for(magnitude)
    largest = math.floor(magnitude)
    assert largest <= 2 ** (bits - 1) - 1
    assert bits == 8 or largest > 2 ** (bits - 2) - 1


def test_no_update_is_zero_for_every_dither_and_a_tiny_one_is_dithered() -> None:
    grid = plan_grid(REQUEST)
    nothing = encode(np.zeros(grid.dimension), grid, SeededRandom(1))
    assert nothing.dtype == np.int64
    assert not nothing.any()
    small = np.full(grid.dimension, 0.5 / grid.scale)
    assert 100 < encode(small, grid, SeededRandom(1)).sum() < 200


def test_float32_updates_are_scaled_exactly() -> None:
    update = _updates(1)[0].astype(np.float32)
    product = update[:50] * np.float64(GRID.scale)
    assert all(
        Fraction(float(p)) == Fraction(float(u)) * Fraction(GRID.scale)
        for p, u in zip(product, update, strict=False)
    )
    assert np.array_equal(
        encode(cast(Any, update), GRID, SeededRandom(1)), encode(update.astype(float), GRID, SeededRandom(1))
    )


@pytest.mark.parametrize(
    ("update", "error", "words"),
    [
        (np.full(300, np.nan), PrivacyViolation, "finite"),
        (np.array([np.inf] + [0.0] * 299), PrivacyViolation, "finite"),
        (np.full(300, 1e200), PrivacyViolation, "finite"),
        (np.full(300, 1.2), PrivacyViolation, "silo_bound=20.0.*Clip"),
        (np.zeros(299), ConfigurationError, "shape \\(300,\\)"),
        (np.zeros((300, 1)), ConfigurationError, "shape"),
        (np.zeros(300, dtype=np.int64), ConfigurationError, "int64"),
        (np.zeros(300, dtype=np.float16), ConfigurationError, "float16"),
        (np.zeros(300, dtype=complex), ConfigurationError, "complex"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_bad_updates_are_refused(
    update: npt.NDArray[np.float16] | Floats | Integers,
    error: type[ConfigurationError] | type[PrivacyViolation],
    words: str,
) -> None:
    with pytest.raises(error, match=words):
        encode(cast(Any, update), GRID, SeededRandom(1))


def test_rotation_must_match_the_grid() -> None:
    rotation = Rotation.drawn(300, SeededRandom(1))
    for call in (
        lambda: encode(np.zeros(300), GRID, SeededRandom(1), rotation),
        lambda: encode(np.zeros(300), ROTATED, SeededRandom(1)),
        lambda: decode(np.zeros(300, dtype=np.uint64), ROTATED),
        lambda: encode(np.zeros(300), ROTATED, SeededRandom(1), Rotation.drawn(299, SeededRandom(1))),
        lambda: decode(np.zeros(299, dtype=np.uint64), GRID),
        lambda: decode(np.zeros(300, dtype=np.int64), GRID),
    ):
        with pytest.raises(ConfigurationError):
            call()


@pytest.mark.parametrize("rotated", [False, True])
def test_contribution_streams_within_four_updates_of_memory(rotated: bool) -> None:
    dimension = 1_000_000
    grid = plan_grid(dataclasses.replace(REQUEST, dimension=dimension, rotated=rotated))
    law = law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=(2 * grid.l2_sensitivity) ** 2, num_silos=4)
    rotation = Rotation.drawn(dimension, SeededRandom(1)) if rotated else None
    update = _updates(1, dimension)[0]
    noisy_integers(
        update[:1].copy(), dataclasses.replace(grid, dimension=1, rotated=False), law, SeededRandom(1)
    )
    tracemalloc.start()
    vector = noisy_integers(update, grid, law, SeededRandom(2), rotation)
    data = pack(to_words(vector, grid.bits, dimension), grid.bits)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The update itself was there before; with it, at most four times its size.
    assert peak + update.nbytes <= 4 * update.nbytes
    assert len(data) == grid.payload_bytes


def test_contribution_is_update_plus_noise() -> None:
    law = law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=(2 * GRID.l2_sensitivity) ** 2, num_silos=4)
    grid = GRID.with_noise(law)
    updates = _updates(4)
    runs = []
    for repeat in range(40):
        total = np.zeros(300, dtype=np.uint64)
        for i, update in enumerate(updates):
            total += to_ring(noisy_integers(update, grid, law, SeededRandom(repeat).derive(i)), grid.bits)
        runs.append(decode(total, grid) - updates.sum(axis=0))
    # Noise of the planned law, and dither of at most 1/4 per silo; 12,000 squares, z within 5.
    ratio = np.var(runs) * grid.scale**2 / law.variance
    assert abs(ratio - 1) < 5 * math.sqrt(2 / 12_000) + 4 * 0.25 / law.variance


rates = st.lists(
    st.fractions(min_value=Fraction(1, 64), max_value=1, max_denominator=64), min_size=1, max_size=4
)


@given(
    rates=rates,
    momentum=st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(3, 4)]),
    num_silos=st.integers(1, 4),
    seed=st.integers(0, 2**20),
)
@settings(deadline=None)
def test_multi_step_sum_is_what_infinite_precision_gives(
    rates: list[Fraction], momentum: Fraction, num_silos: int, seed: int
) -> None:
    """Heavy-ball local steps in rational arithmetic, silo by silo, against one modular sum of integers."""
    weights = planned_weights(rates, momentum)
    exact = all(
        weights.unit * weight
        == -_heavy_ball([np.eye(len(rates))[s][[i] * 3] for i in range(len(rates))], rates, momentum, 1)[0]
        for s, weight in enumerate(weights.weights)
    )
    scale, bits = Fraction(160), 50
    draws = SeededRandom(seed)
    total, rational = np.zeros(3, dtype=np.uint64), [Fraction(0)] * 3
    for _ in range(num_silos):
        steps = [draws.integers_below(3, 2001) - 1000 for _ in rates]
        total += to_ring(weights.combine(steps), bits)
        if exact:
            rational = [
                a + b for a, b in zip(rational, _heavy_ball(steps, rates, momentum, scale), strict=True)
            ]
        else:
            for weight, q in zip(weights.weights, steps, strict=True):
                rational = [
                    r - weights.unit * weight * int(v) / scale for r, v in zip(rational, q, strict=True)
                ]
    combined = from_ring(total, bits)
    assert [-weights.unit * int(v) / scale for v in combined] == rational
    assert weights.move(combined, float(scale)).tolist() == [float(r) for r in rational]


def _heavy_ball(
    steps: list[Any], rates: list[Fraction], momentum: Fraction, scale: Fraction | int
) -> list[Any]:
    """θ_S − θ_0 after v ← m·v + q/scale, θ ← θ − γ·v, exactly."""
    position, velocity = [Fraction(0)] * 3, [Fraction(0)] * 3
    for q, rate in zip(steps, rates, strict=True):
        velocity = [momentum * v + Fraction(int(x)) / scale for v, x in zip(velocity, q, strict=True)]
        position = [p - rate * v for p, v in zip(position, velocity, strict=True)]
    return position


def test_constant_rates_cost_no_extra_weight() -> None:
    weights = planned_weights([Fraction(1, 10)] * 8)
    assert weights.weights == (1,) * 8
    assert weights.unit == Fraction(1, 10)
    assert weights.total == 8


def test_planned_weights_are_exact_while_they_fit_and_close_when_they_do_not() -> None:
    rate, momentum = Fraction(3, 2560), Fraction(1, 2)
    exact = planned_weights([rate] * 20, momentum)
    doubled = [rate * 2 * (1 - momentum ** (20 - step)) for step in range(20)]
    assert [exact.unit * weight for weight in exact.weights] == doubled
    planned = planned_weights([rate] * 480, momentum)
    # γ·(1 + m + … + m^(S−s)), the closed form of heavy-ball momentum.
    closed = [rate * 2 * (1 - Fraction(1, 2) ** (480 - step)) for step in range(480)]
    errors = [abs(planned.unit * weight - real) for weight, real in zip(planned.weights, closed, strict=True)]
    assert max(errors) <= max(closed) / 2**15
    with pytest.raises(ConfigurationError, match="momentum"):
        planned_weights([rate], Fraction(-1, 2))


def test_the_longest_local_training_that_a_paper_asks_for_is_weighed() -> None:
    """20 epochs of 6,000 images in batches of 50 at momentum 0.5: the cells E = 20, R = 1 of P2's tables."""
    steps = 20 * 6000 // 50
    weights = NoisyStepsConfig(
        kind="noisy-steps", learning_rate=0.006, steps=steps, momentum=0.5
    ).step_weights()
    assert len(weights.weights) == steps
    assert weights.weights[-1] * 2 == weights.weights[0] == 1 << 14


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: planned_weights([]), "learning rates"),
        (lambda: planned_weights([Fraction(1), Fraction(1, 10**8)]), "within 1 %"),
        (lambda: planned_weights([Fraction(0)]), "learning rates"),
        (lambda: planned_weights([Fraction(1)], Fraction(1)), "momentum"),
        (lambda: StepWeights((1 << 24,), Fraction(1)), "at most 24 bits; the largest has 25"),
        (lambda: StepWeights((1, 0), Fraction(1)), "positive integers"),
        (lambda: StepWeights((1,), Fraction(0)), "unit"),
        (lambda: StepWeights((1, 1), Fraction(1)).combine([np.zeros(2, dtype=np.int64)]), "2 step vectors"),
    ],
)
def test_weights_refuse(call: Callable[..., Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        call()
