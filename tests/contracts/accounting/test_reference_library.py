"""dp-accounting stays the reference: the same events, side by side, by its loss distributions."""

from typing import Any

import dp_accounting
import pytest
from dp_accounting import SelfComposedDpEvent
from dp_accounting.pld import PLDAccountant

from discreet.accounting import epsilon
from discreet.privacy.events import (
    Composed,
    GaussianNoise,
    PoissonSampling,
    PolyaNoise,
    Release,
    Repeated,
    RepeatedPoissonSampling,
)
from discreet.privacy.units import NeighboringRelation

ADD, REPLACE = NeighboringRelation.ADD_REMOVE, NeighboringRelation.REPLACE_ONE
THEIRS = {
    ADD: dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    REPLACE: dp_accounting.NeighboringRelation.REPLACE_ONE,
}


def gauss(stddev: float, prob: float, count: int) -> Repeated:
    return Repeated(Release(GaussianNoise(stddev), 1.0, 1, PoissonSampling(prob)), count)


def their_gauss(stddev: float, prob: float, count: int) -> SelfComposedDpEvent:
    step = dp_accounting.PoissonSampledDpEvent(prob, dp_accounting.GaussianDpEvent(stddev))
    return dp_accounting.SelfComposedDpEvent(step, count)


def their_mixture(stddev: float, prob: float, trials: int, count: int) -> SelfComposedDpEvent:
    from scipy.stats import binom

    weights = [float(binom.pmf(k, trials, prob)) for k in range(trials + 1)]
    step = dp_accounting.dp_event.MixtureOfGaussiansDpEvent(stddev, list(range(trials + 1)), weights)
    return dp_accounting.SelfComposedDpEvent(step, count)


PAIRS = [
    (gauss(1.0, 0.1, 30), their_gauss(1.0, 0.1, 30), ADD, 3e-4),
    (gauss(2.0, 0.1, 30), their_gauss(2.0, 0.1, 30), REPLACE, 3e-4),
    (
        Composed((gauss(1.0, 0.1, 10), gauss(3.0, 0.5, 10))),
        dp_accounting.ComposedDpEvent([their_gauss(1.0, 0.1, 10), their_gauss(3.0, 0.5, 10)]),
        ADD,
        3e-4,
    ),
    pytest.param(
        Repeated(Release(GaussianNoise(2.0), 1.0, 1, RepeatedPoissonSampling(0.1, 3)), 10),
        their_mixture(2.0, 0.1, 3, 10),
        ADD,
        3e-4,
        marks=pytest.mark.slow,
    ),
    (
        Repeated(Release(PolyaNoise(4.0, whole=1, num_silos=1), 1.0, 1), 20),
        dp_accounting.SelfComposedDpEvent(dp_accounting.dp_event.DiscreteLaplaceDpEvent(0.25, 1), 20),
        ADD,
        3e-4,
    ),
]


@pytest.mark.parametrize(("ours", "theirs", "relation", "slack"), PAIRS)
@pytest.mark.parametrize("delta", [1e-3, 1e-7])
def test_same_epsilon(
    ours: Composed | Repeated, theirs: Any, relation: NeighboringRelation, slack: float, delta: float
) -> None:
    reference = PLDAccountant(THEIRS[relation]).compose(theirs).get_epsilon(delta)
    found = epsilon(ours, delta=delta, neighboring=relation).epsilon
    # Both are upper bounds; theirs has a fixed grid of 1e-4, ours one for a relative 1e-5.
    assert found <= reference * (1 + 3e-5) + 1e-6
    assert found >= reference * (1 - slack) - slack
