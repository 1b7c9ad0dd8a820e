"""Tagged JSON: reading back gives the same value; what is not registered is refused."""

import json
import math

import pytest

from discreet.errors import ConfigurationError
from discreet.privacy.adversary import ServerWithColluders, WithoutSecureAggregation
from discreet.privacy.events import (
    Composed,
    DiscreteGaussianNoise,
    Failure,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
    SkellamNoise,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.privacy.wire import canonical, digest, from_json, to_json

VALUES = [
    Composed(
        (
            Repeated(Release(RoundedGaussianNoise(12.5, 3), 4.0, 10, PoissonSampling(0.25)), 7),
            Release(DiscreteGaussianNoise(12.5, 3), 4.0, 10),
            Release(SkellamNoise(12.5, 3), 4.0, 10),
            Release(GaussianNoise(1.5), 1.0, 1),
            Failure(1e-12, "rounding"),
        )
    ),
    Guarantee(
        math.inf,
        1e-5,
        Unit.CLIENT,
        NeighboringRelation.REPLACE_ONE,
        ServerWithColluders(2),
        Status.CONDITIONAL,
        ("an assumption",),
    ),
    WithoutSecureAggregation("north"),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_reading_back_gives_the_same_value(value: object) -> None:
    assert from_json(json.loads(canonical(to_json(value)))) == value


def test_laws_with_the_same_fields_stay_apart() -> None:
    assert digest(to_json(RoundedGaussianNoise(2.0, 3))) != digest(to_json(DiscreteGaussianNoise(2.0, 3)))


def test_unknown_types_and_wrong_fields_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="known type; got 'Mystery'"):
        from_json({"type": "Mystery"})
    with pytest.raises(ConfigurationError, match="SkellamNoise cannot be read"):
        from_json({"type": "SkellamNoise", "variance": 3.0})
    with pytest.raises(TypeError):
        to_json(object())
