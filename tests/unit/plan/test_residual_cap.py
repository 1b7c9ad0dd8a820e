"""A config's ``residual_cap`` reaches the local training, its sensitivity and the noise of the plan."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.config import parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.kinds import BinaryLogistic, Capped, StableSteps
from discreet.plan import Plan
from discreet.plan.uncalibrated import uncalibrated


def planned(residual_cap: float = 1.0, **local: Any) -> tuple[Plan, StableSteps]:
    kind = {"kind": "stable-steps", "learning_rate": 0.05, "steps": 20, "residual_cap": residual_cap}
    prepared = prepare(
        parse_config(
            {
                "data": {"source": "heart-disease", "record_capacity": 300},
                "training": {"rounds": 2, "local": kind | local},
                "privacy": {"epsilon": 1.0, "delta": 1e-5},
            }
        )
    )
    training = prepared.plan.silo_training("cleveland")
    assert isinstance(training, StableSteps)
    return prepared.plan, training


def test_half_the_cap_is_half_the_sensitivity_and_half_the_noise() -> None:
    (whole_plan, whole), (half_plan, half) = planned(), planned(residual_cap=0.5)
    assert whole.loss == BinaryLogistic()
    assert half.loss == Capped(BinaryLogistic(), 0.5)
    assert half.l2_sensitivity() == pytest.approx(0.5 * whole.l2_sensitivity(), rel=1e-12)
    stddevs = [plan.release.share.variance**0.5 / plan.grid.scale for plan in (whole_plan, half_plan)]
    assert stddevs[1] == pytest.approx(0.5 * stddevs[0], rel=0.02)


def test_a_cap_is_told_of_probabilities() -> None:
    assert "residuals are capped at 0.5 in training" in uncalibrated(planned(residual_cap=0.5)[0])
    assert not uncalibrated(planned()[0])
    assert not uncalibrated(planned(class_weights=[2, 2])[0])


@pytest.mark.parametrize("cap", [1.0, 0.5])
@pytest.mark.parametrize(
    ("weights", "told"), [([1, 3], "1 to 3"), ({"kind": "private"}, "by noisy counts, at most 20 to 1")]
)
def test_weights_are_told_of_probabilities(cap: float, weights: Any, told: str) -> None:
    said = uncalibrated(planned(cap, class_weights=weights)[0])
    assert f"classes weigh {told} in training, so that they are stated as if the classes were as " in said
    assert ("residuals are capped at 0.5 in training" in said) == (cap < 1.0)


@pytest.mark.parametrize("cap", [0.0, 1.5])
def test_a_cap_that_is_no_probability_is_refused(cap: float) -> None:
    with pytest.raises(ConfigurationError, match="residual_cap"):
        planned(residual_cap=cap)
