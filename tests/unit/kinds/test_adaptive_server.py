"""Adaptive server rules against Reddi et al. (2021), Algorithm 2, written out coordinate by coordinate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from discreet.kinds import AdaptiveConfig

KINDS = ("adagrad", "adam", "yogi")


def by_hand(rule: AdaptiveConfig, means: list[float]) -> float:
    place, first, second = 0.0, 0.0, rule.adaptivity**2
    for mean in means:
        first = rule.first_decay * first + (1 - rule.first_decay) * mean
        if rule.kind == "adagrad":
            second += mean**2
        elif rule.kind == "adam":
            second = rule.second_decay * second + (1 - rule.second_decay) * mean**2
        else:
            sign = (second > mean**2) - (second < mean**2)
            second -= (1 - rule.second_decay) * mean**2 * sign
        place += rule.learning_rate * first / (math.sqrt(second) + rule.adaptivity)
    return place


@pytest.mark.parametrize("kind", KINDS)
def test_every_second_moment_follows_its_recursion(kind: Any) -> None:
    means = [1.0, -0.5, 2.0, 0.1, 0.0]
    rule = AdaptiveConfig(kind=kind, learning_rate=0.3, first_decay=0.8, second_decay=0.9, adaptivity=0.05)
    state, place = rule.init(1), np.zeros(1)
    for mean in means:
        state, place = rule.step(state, place, np.array([mean]), rounds=5)
    assert place[0] == pytest.approx(by_hand(rule, means), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_mean_that_points_downhill_is_followed(kind: Any) -> None:
    rule = AdaptiveConfig(kind=kind, learning_rate=0.1)
    _, place = rule.step(rule.init(2), np.zeros(2), np.array([1.0, -1.0]), rounds=1)
    assert place[0] > 0 > place[1]


@pytest.mark.parametrize(
    "changes",
    [{"learning_rate": 0.0}, {"first_decay": 1.0}, {"second_decay": -0.1}, {"adaptivity": 0.0}],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        AdaptiveConfig.model_validate({"kind": "adam"} | changes)
