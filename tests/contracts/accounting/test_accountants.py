"""What every accountant owes, whatever its method."""

import math
from dataclasses import replace

import pytest

from discreet.accounting import Conversion, Pld, Rdp, delta, epsilon
from discreet.privacy.events import (
    Composed,
    DiscreteGaussianNoise,
    Failure,
    FixedSizeSampling,
    GaussianNoise,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
    SkellamNoise,
)
from discreet.privacy.units import NeighboringRelation, Status

ACCOUNTANTS = [Pld(), Pld(interval=1e-3), Rdp(), Rdp(conversion=Conversion.MIRONOV)]
LAWS: list[DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise] = [
    GaussianNoise(1000.0),
    RoundedGaussianNoise(500.0, 4),
    DiscreteGaussianNoise(500.0, 4),
    SkellamNoise(250_000.0, 4),
]
SAMPLINGS = [None, PoissonSampling(0.1)]


def release(
    law: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
    sampling: FixedSizeSampling | PoissonSampling | None = None,
    sensitivity: float = 500.0,
) -> Release:
    bare = Release(law, sensitivity, 100)
    return replace(bare, sampling=sampling) if sampling else bare


@pytest.fixture(params=ACCOUNTANTS, ids=["pld", "pld-coarse", "rdp", "rdp-mironov"])
def accountant(request: pytest.FixtureRequest) -> Pld | Rdp:
    return request.param


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("sampling", SAMPLINGS, ids=["all", "poisson"])
class TestEveryLaw:
    def test_counting_is_composing(
        self,
        accountant: Pld | Rdp,
        law: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
        sampling: PoissonSampling | None,
    ) -> None:
        step = release(law, sampling)
        repeated = epsilon(Repeated(step, 6), delta=1e-5, accountant=accountant)
        spelled = Composed((Repeated(step, 2), step, Repeated(Repeated(step, 3), 1)))
        assert epsilon(spelled, delta=1e-5, accountant=accountant).epsilon == repeated.epsilon

    def test_monotone_in_everything(
        self,
        accountant: Pld | Rdp,
        law: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
        sampling: PoissonSampling | None,
    ) -> None:
        def cost(count: int = 6, sensitivity: float = 500.0, level: float = 1e-5) -> float:
            event = Repeated(release(law, sampling, sensitivity), count)
            return epsilon(event, delta=level, accountant=accountant).epsilon

        assert cost() <= cost(count=7)
        assert cost() <= cost(sensitivity=550.0)
        assert cost() <= cost(level=1e-6)

    def test_delta_and_epsilon_are_inverse(
        self,
        accountant: Pld | Rdp,
        law: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
        sampling: PoissonSampling | None,
    ) -> None:
        event = Repeated(release(law, sampling), 6)
        level = epsilon(event, delta=1e-5, accountant=accountant).epsilon
        assert delta(event, epsilon=level, accountant=accountant).delta <= 1e-5 * (1 + 1e-3)

    def test_failures_are_paid(
        self,
        accountant: Pld | Rdp,
        law: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
        sampling: PoissonSampling | None,
    ) -> None:
        event = Repeated(release(law, sampling), 6)
        failing = Composed((event, Failure(5e-6, "bound")))
        assert (
            epsilon(failing, delta=1e-5, accountant=accountant).epsilon
            > epsilon(event, delta=1e-5, accountant=accountant).epsilon
        )

    def test_proven(
        self,
        accountant: Pld | Rdp,
        law: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
        sampling: PoissonSampling | None,
    ) -> None:
        bound = epsilon(release(law, sampling), delta=1e-5, accountant=accountant)
        assert bound.status is Status.PROVEN
        assert bound.delta == 1e-5


def test_fixed_size_under_replacement(accountant: Pld | Rdp) -> None:
    event = Repeated(release(LAWS[0], FixedSizeSampling(10, 100)), 10)
    found = epsilon(event, delta=1e-5, neighboring=NeighboringRelation.REPLACE_ONE, accountant=accountant)
    everyone = Repeated(release(LAWS[0], FixedSizeSampling(100, 100)), 10)
    most = epsilon(everyone, delta=1e-5, neighboring=NeighboringRelation.REPLACE_ONE, accountant=accountant)
    assert 0.0 < found.epsilon < most.epsilon < math.inf


def test_tight_is_below_renyi() -> None:
    for law in LAWS:
        for sampling in SAMPLINGS:
            event = Repeated(release(law, sampling), 10)
            tight, renyi = (epsilon(event, delta=1e-5, accountant=one).epsilon for one in (Pld(), Rdp()))
            assert tight < renyi
