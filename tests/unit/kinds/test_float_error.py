"""The rounding bound of a linear step against exact rational arithmetic, for residuals of any size."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.arrays import Floats
from discreet.errors import ConfigurationError
from discreet.kinds import ClippedUpdate, NoisySteps, SingleStep, Softmax, TangentSteps
from discreet.kinds.float_error import MAX_NORM, MIN_NORM, linear_step_error

UNIT = 2.0**-53
RATE = 0.1


def _rounded(slope: float, bound: float, features: Floats, weights: Floats) -> Floats:
    residuals = np.clip(slope * (features @ weights), -bound, bound)
    stepped: Floats = weights - RATE * (residuals @ features)
    return stepped


def _exact(slope: float, bound: float, features: Floats, weights: Floats) -> list[Fraction]:
    rows = [[Fraction(float(x)) for x in row] for row in features]
    start = [Fraction(float(w)) for w in weights]
    gradient = [Fraction(0)] * len(start)
    for row in rows:
        logit = sum((x * w for x, w in zip(row, start, strict=True)), Fraction(0))
        residual = max(-Fraction(bound), min(Fraction(bound), Fraction(slope) * logit))
        gradient = [g + residual * x for g, x in zip(gradient, row, strict=True)]
    return [w - Fraction(RATE) * g for w, g in zip(start, gradient, strict=True)]


@pytest.mark.parametrize(
    ("slope", "bound", "records", "num_features"),
    [(1.0, 1.0, 50, 5), (1.0, 1e6 / 3, 600, 1), (1e8, 1e12, 1, 64), (1e-3, 0.1, 300, 8)],
)
def test_a_step_lands_within_the_bound_whatever_the_residual(
    slope: float, bound: float, records: int, num_features: int
) -> None:
    numbers = np.random.default_rng(3)
    features = numbers.normal(size=(records, num_features))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    weights = numbers.normal(size=num_features) * 10.0
    rounded = _rounded(slope, bound, features, weights)
    exact = _exact(slope, bound, features, weights)
    squares = [float(Fraction(float(r)) - e) ** 2 for r, e in zip(rounded, exact, strict=True)]
    claimed = linear_step_error(
        num_features=num_features,
        residual_norm=bound,
        residual_lipschitz=slope,
        residual_error=UNIT * bound,
        batch=records,
        feature_norm=1.0,
        weight_norm=float(np.linalg.norm(weights)),
        learning_rate=RATE,
    )
    assert 0.0 < math.sqrt(sum(squares)) <= claimed


def test_the_bound_is_the_stated_formula() -> None:
    claimed = linear_step_error(
        num_features=7,
        residual_norm=3.0,
        residual_lipschitz=5.0,
        residual_error=11 * UNIT,
        batch=13,
        feature_norm=2.0,
        weight_norm=17.0,
        learning_rate=0.5,
    )
    gradient = 1.01 * 13 * 2 * (5 * 7 * 2 * 17 + 11 + 13 * 3)
    update = 0.5 * gradient + 3 * (17 + 0.5 * 13 * 2 * 3)
    assert claimed / UNIT == pytest.approx(update, rel=1e-12)


@pytest.mark.parametrize(
    "training",
    [
        SingleStep,
        lambda norm: NoisySteps(norm, (Fraction(1, 10),)),
        lambda norm: ClippedUpdate(norm, epochs=1, batch_size=1, learning_rate=0.1),
        lambda norm: TangentSteps(
            Softmax(3), norm_bound=norm, learning_rate=1e-42, steps=3, record_capacity=20
        ),
    ],
)
def test_norms_whose_factors_are_no_normal_numbers_are_refused(
    training: Callable[[float], object],
) -> None:
    # At 1e-305 the factor of one record was off by half, and its sum moved by 1.9 times the norm.
    for norm in (MIN_NORM, MAX_NORM):
        training(norm)
    for norm in (1e-305, MIN_NORM / 2, MAX_NORM * 2, math.inf, math.nan, 0.0, -1.0):
        with pytest.raises(ConfigurationError, match=r"must be positive, from 2\^-64 to 2\^64; got"):
            training(norm)
