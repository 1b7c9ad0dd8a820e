"""Events and guarantees refuse what cannot be true, NaN included."""

import math
from collections.abc import Callable
from typing import Any, cast

import pytest

from discreet.errors import ConfigurationError
from discreet.privacy.adversary import AggregationServer, ServerWithColluders, WithoutSecureAggregation
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    Failure,
    FixedSizeSampling,
    GaussianNoise,
    PoissonBinomialRelease,
    PoissonSampling,
    Release,
    Repeated,
    RepeatedPoissonSampling,
    RoundedGaussianNoise,
    SkellamNoise,
    StatisticalDistance,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit


@pytest.mark.parametrize(
    "make",
    [
        lambda: GaussianNoise(math.nan),
        lambda: RoundedGaussianNoise(0.0, 3),
        lambda: DiscreteGaussianNoise(1.0, 0),
        lambda: SkellamNoise(math.inf, 1),
        lambda: PoissonSampling(1.5),
        lambda: PoissonSampling(math.nan),
        lambda: RepeatedPoissonSampling(0.1, 0),
        lambda: FixedSizeSampling(11, 10),
        lambda: Release(GaussianNoise(1.0), math.nan, 1),
        lambda: Release(GaussianNoise(1.0), 1.0, 0),
        lambda: PoissonBinomialRelease(1, 1, 0.5, 1),
        lambda: Failure(math.nan, "x"),
        lambda: StatisticalDistance(1.0, "x"),
        lambda: Repeated(Failure(0.0, "x"), -1),
    ],
)
def test_impossible_events(make: Callable[..., Any]) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_variances_of_sums() -> None:
    assert RoundedGaussianNoise(3.0, 4).variance == pytest.approx(4 * (9 + 1 / 12))
    assert DiscreteGaussianNoise(3.0, 4).variance == pytest.approx(36)
    assert SkellamNoise(9.0, 4).variance == pytest.approx(36)


def make_guarantee(**changes: Any) -> Guarantee | None:
    fields = {
        "epsilon": 1.0,
        "delta": 1e-5,
        "unit": Unit.RECORD,
        "neighboring": NeighboringRelation.ADD_REMOVE,
        "adversary": AggregationServer(),
        "status": Status.PROVEN,
    }
    return Guarantee(**cast(Any, fields | changes))


@pytest.mark.parametrize(
    "changes", [{"epsilon": -1.0}, {"epsilon": math.nan}, {"delta": 2.0}, {"status": Status.CONDITIONAL}]
)
def test_impossible_guarantees(changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        make_guarantee(**changes)


def test_guarantee_says_everything() -> None:
    text = str(make_guarantee(adversary=ServerWithColluders(2)))
    for part in ("1", "1e-5", "record", "add-remove", "2 colluding silos", "PROVEN"):
        assert part in text
    assert make_guarantee(epsilon=math.inf).is_vacuous
    assert "clinic" in WithoutSecureAggregation("clinic").describe()
