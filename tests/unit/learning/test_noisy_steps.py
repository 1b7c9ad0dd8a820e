from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.data.records import Records
from discreet.encoding import GridRequest, plan_grid
from discreet.errors import ConfigurationError
from discreet.kinds import NoisySteps, SingleStep
from discreet.learning import StepNoise, local_update, noisy_update
from discreet.learning import noisy_steps as steps
from discreet.mechanisms import NoiseFamily, law_for
from discreet.models import LinearHead
from discreet.randomness import SeededRandom

RATES = (Fraction(1, 10),) * 3


def records(count: int = 30) -> Records:
    rng = np.random.default_rng(0)
    return Records(rng.normal(size=(count, 4)).astype(np.float32), rng.integers(0, 3, count))


def noise(kind: NoisySteps, *, multiplier: float = 2.0, num_silos: int = 10) -> StepNoise:
    grid = plan_grid(
        GridRequest(
            l2_sensitivity=kind.l2_sensitivity(),
            silo_bound=30 * kind.clip_norm,
            num_silos=num_silos,
            dimension=12,
            rounds=1,
            noise_multiplier=multiplier,
        )
    )
    variance = (multiplier * grid.l2_sensitivity) ** 2
    return StepNoise(grid, law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=variance, num_silos=num_silos))


def test_one_step_sends_the_clipped_sum_plus_noise() -> None:
    kind, data, start = NoisySteps(1.0, (Fraction(1),)), records(), np.zeros(12)
    step = noise(kind, multiplier=1.0)
    sent = noisy_update(kind, LinearHead(4, 3), start, data, SeededRandom(1), noise=step).combined
    exact = -local_update(SingleStep(1.0), LinearHead(4, 3), start, data, SeededRandom(1)).vector
    stddev = np.sqrt(step.law.variance / 10)
    assert np.abs(sent - exact * step.grid.scale).max() < 6 * stddev + 1


def test_the_message_is_the_move_of_the_local_model() -> None:
    """Steps, momentum and rates replayed in real numbers on the integers of each step."""
    kind = NoisySteps(1.0, (Fraction(1, 4), Fraction(1, 8), Fraction(1, 4)), momentum=Fraction(1, 2))
    step, data, start = noise(kind), records(), np.full(12, 0.1)
    captured: list[np.ndarray] = []
    places: list[np.ndarray] = []
    original = steps._step

    def spy(own, model, place, *rest, **named):  # type: ignore[no-untyped-def]
        places.append(place.copy())
        result = original(own, model, place, *rest, **named)
        captured.append(result[0])
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "_step", spy)
        sent = noisy_update(kind, LinearHead(4, 3), start, data, SeededRandom(1), noise=step).combined
    place, velocity = start.copy(), np.zeros(12)
    for rate, integers, seen in zip(kind.rates, captured, places, strict=True):
        np.testing.assert_allclose(seen, place, rtol=1e-12)
        velocity = 0.5 * velocity + integers / step.grid.scale
        place -= float(rate) * velocity
    move = kind.step_weights().move(sent, step.grid.scale)
    np.testing.assert_allclose(move, place - start, rtol=1e-12, atol=1e-15)


def test_later_steps_see_the_noise_of_earlier_ones() -> None:
    kind, data = NoisySteps(1.0, RATES), records()
    sent = [
        noisy_update(kind, LinearHead(4, 3), np.zeros(12), data, SeededRandom(s), noise=noise(kind))
        for s in (1, 1, 2)
    ]
    assert np.array_equal(sent[0].combined, sent[1].combined)
    assert not np.array_equal(sent[0].combined, sent[2].combined)
    assert sent[0].batch == 90
    assert repr(sent[0]) == "NoisyUpdate(<private>)"


def test_rates_without_a_small_common_unit_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="step weights"):
        NoisySteps(1.0, (Fraction(1), Fraction(1, 99_999_989)))


@pytest.mark.parametrize("momentum", [Fraction(1), Fraction(-1, 2)])
def test_momentum_out_of_range_is_refused(momentum: Fraction) -> None:
    with pytest.raises(ConfigurationError):
        NoisySteps(1.0, RATES, momentum=momentum)
