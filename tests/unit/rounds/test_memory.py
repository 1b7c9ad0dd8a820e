"""A checkpoint gives back exactly the server state that went in."""

from dataclasses import dataclass

import numpy as np
import pytest

from discreet.kinds import AveragingConfig, MomentumConfig, ServerRule
from discreet.rounds.memory import from_arrays, to_arrays


@dataclass(frozen=True)
class Inner:
    count: int
    direction: np.ndarray


@dataclass(frozen=True)
class Outer:
    rate: float
    inner: Inner


def test_nested_states_survive() -> None:
    state = Outer(0.25, Inner(3, np.array([1.0, -2.0])))
    back = from_arrays(Outer(0.0, Inner(0, np.zeros(2))), to_arrays(state))
    assert back.rate == 0.25
    assert back.inner.count == 3
    assert isinstance(back.inner.count, int)
    np.testing.assert_array_equal(back.inner.direction, state.inner.direction)


@pytest.mark.parametrize("rule", [AveragingConfig(), MomentumConfig(kind="momentum")])
def test_a_restored_rule_steps_as_if_never_interrupted(rule: ServerRule) -> None:
    aggregate = np.array([1.0, -3.0, 0.5])
    state, parameters = rule.step(rule.init(3), np.zeros(3), aggregate, 2)
    restored = from_arrays(rule.init(3), to_arrays(state))
    np.testing.assert_array_equal(
        rule.step(restored, parameters, aggregate, 2)[1], rule.step(state, parameters, aggregate, 2)[1]
    )


def test_a_state_that_cannot_be_saved_is_refused() -> None:
    with pytest.raises(TypeError, match=r"server\.rate"):
        to_arrays(Outer("fast", Inner(0, np.zeros(1))))  # type: ignore[arg-type]
