"""The front door: ε, δ, guarantees, fallbacks and refusals over whole events."""

import math
from typing import Any, cast

import pytest

from discreet.accounting import Conversion, Pld, Rdp, delta, epsilon, guarantee, tradeoff
from discreet.accounting.gdp import gaussian_epsilon
from discreet.accounting.tally import tally
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.adversary import AggregationServer
from discreet.privacy.events import (
    Composed,
    DiscreteGaussianNoise,
    Failure,
    FixedSizeSampling,
    GaussianNoise,
    PoissonBinomialRelease,
    PoissonSampling,
    PolyaNoise,
    Release,
    Repeated,
    RepeatedPoissonSampling,
    RoundedGaussianNoise,
    SampledChange,
    SkellamNoise,
    StatisticalDistance,
)
from discreet.privacy.units import NeighboringRelation, Status, Unit

REPLACE = NeighboringRelation.REPLACE_ONE
SPECIAL = NeighboringRelation.REPLACE_SPECIAL


def gauss(
    stddev: float, sensitivity: float = 1.0, sampling: Any = None, count: int = 1, **more: Any
) -> Repeated:
    options = {"sampling": sampling} if sampling else {}
    return Repeated(Release(GaussianNoise(stddev), sensitivity, 1, **options, **more), count)


def test_unsampled_gaussian_is_exact() -> None:
    assert epsilon(gauss(5.0, count=10), delta=1e-5).epsilon == pytest.approx(2.594383, abs=1e-6)
    assert epsilon(gauss(5.0), delta=1e-5, neighboring=REPLACE).epsilon == pytest.approx(
        gaussian_epsilon(0.4, 1e-5)
    )


def test_failures_count_once_and_distances_on_both_sides() -> None:
    clean = gauss(2.0)
    target = epsilon(clean, delta=1e-5 - 4e-6).epsilon
    failing = Composed((clean, Repeated(Failure(1e-6, "rounding"), 4)))
    assert epsilon(failing, delta=1e-5).epsilon == pytest.approx(target, rel=1e-9)
    distant = Composed((clean, StatisticalDistance(1e-9, "sampler")))
    found = epsilon(distant, delta=1e-5).epsilon
    expected = epsilon(clean, delta=1e-5 - 1e-9 * (1 + math.exp(found))).epsilon
    assert found == pytest.approx(expected, rel=1e-6)
    assert epsilon(Composed((clean, Failure(1e-5, "all of it"))), delta=1e-5).epsilon == math.inf


def test_repeated_distances_add_up() -> None:
    spec = tally(Repeated(Composed((gauss(2.0), Repeated(StatisticalDistance(1e-9, "sampler"), 3))), 5))
    assert spec.distance == pytest.approx(15e-9)
    assert spec.releases[0][1] == 5


def test_replaced_shards_cost_more_than_added_records_and_less_than_doubling_noise_says() -> None:
    plain = epsilon(gauss(1.0, sampling=PoissonSampling(0.01), count=1000), delta=1e-5).epsilon
    sharded = gauss(1.0, sampling=PoissonSampling(0.01), count=1000, change=SampledChange.REPLACED)
    replaced = epsilon(sharded, delta=1e-5).epsilon
    doubled = epsilon(gauss(0.5, sampling=PoissonSampling(0.01), count=1000), delta=1e-5).epsilon
    assert plain < replaced < doubled
    # dp-accounting 0.6.0, PLD, replace-one, Poisson: 2.843440.
    assert replaced == pytest.approx(2.843440, rel=1e-4)
    again = epsilon(gauss(1.0, sampling=PoissonSampling(0.01), count=1000), delta=1e-5, neighboring=REPLACE)
    assert again.epsilon == replaced


def test_group_of_four_matches_the_reference() -> None:
    grouped = gauss(1.0, sampling=RepeatedPoissonSampling(0.01, 4), count=1000)
    # dp-accounting 0.6.0, mixture-of-Gaussians event: 8.899190.
    assert epsilon(grouped, delta=1e-5).epsilon == pytest.approx(8.899190, rel=1e-4)
    assert epsilon(grouped, delta=1e-5, accountant=Rdp()).epsilon > 8.8991


def test_fused_steps_are_tighter_as_a_mixture() -> None:
    """Four sub-steps of a quarter of the norm: how many hold the record, against all four if any does."""
    tight = epsilon(gauss(1.0, sampling=RepeatedPoissonSampling(0.1, 4), count=20), delta=1e-5).epsilon
    any_of_four = PoissonSampling(1 - 0.9**4)
    loose = epsilon(gauss(0.25, sampling=any_of_four, count=20), delta=1e-5).epsilon
    one = epsilon(gauss(1.0, sampling=PoissonSampling(0.1), count=20), delta=1e-5).epsilon
    assert one < tight < loose


def test_one_inclusion_is_plain_poisson() -> None:
    one = epsilon(gauss(1.0, sampling=RepeatedPoissonSampling(0.05, 1), count=9), delta=1e-5)
    assert one.epsilon == epsilon(gauss(1.0, sampling=PoissonSampling(0.05), count=9), delta=1e-5).epsilon


@pytest.mark.parametrize(
    ("sampling", "relation", "word"),
    [
        (FixedSizeSampling(10, 100), NeighboringRelation.ADD_REMOVE, "fixed-size"),
        (FixedSizeSampling(10, 100), SPECIAL, "replace-one"),
    ],
)
@pytest.mark.parametrize("accountant", [Pld(), Rdp()])
def test_relations_that_prove_nothing_are_refused(
    sampling: FixedSizeSampling,
    relation: NeighboringRelation,
    word: str,
    accountant: Pld | Rdp,
) -> None:
    with pytest.raises(UnsupportedAnalysisError, match=word):
        epsilon(gauss(1.0, sampling=sampling), delta=1e-5, neighboring=relation, accountant=accountant)


def test_fixed_size_uses_the_replacement_distance() -> None:
    """The upstream trap: one relation, two readings of σ (google/differential-privacy issue 378)."""
    event = gauss(2.0, sampling=FixedSizeSampling(100, 10_000), count=1000)
    rdp = epsilon(event, delta=1e-5, neighboring=REPLACE, accountant=Rdp()).epsilon
    # dp-accounting and autodp at σ/Δ = 1 with Δ = 2C: 3.576111.
    assert rdp == pytest.approx(3.576111, rel=1e-6)
    half = gauss(1.0, sampling=FixedSizeSampling(100, 10_000), count=1000)
    assert epsilon(half, delta=1e-5, neighboring=REPLACE, accountant=Rdp()).epsilon == pytest.approx(
        20.987072, rel=1e-6
    )
    tight = epsilon(event, delta=1e-5, neighboring=REPLACE).epsilon
    assert 1.828 < tight < rdp


def test_pure_noise_has_pure_epsilon() -> None:
    query = Release(PolyaNoise(5.0, whole=1, num_silos=1), 1.0, 1)
    assert epsilon(Repeated(query, 10), delta=0.0).epsilon == pytest.approx(2.0)
    assert 1.9 < epsilon(Repeated(query, 10), delta=1e-5).epsilon <= 2.0
    with pytest.raises(ConfigurationError, match="pure differential privacy"):
        epsilon(gauss(1.0), delta=0.0)
    with pytest.raises(ConfigurationError, match="nothing may fail"):
        epsilon(Composed((query, Failure(1e-9, "x"))), delta=0.0)


def test_laplace_and_gaussian_compose() -> None:
    both = Composed((Release(PolyaNoise(5.0, whole=1, num_silos=1), 1.0, 1), gauss(5.0, count=4)))
    found = epsilon(both, delta=1e-5).epsilon
    alone = epsilon(gauss(5.0, count=4), delta=1e-5).epsilon
    assert alone < found < alone + 0.2


def test_poisson_binomial_goes_through_renyi() -> None:
    bound = epsilon(PoissonBinomialRelease(4, 64, 0.25, 8), delta=1e-5, neighboring=REPLACE)
    assert isinstance(bound.accountant, Rdp)
    assert 0.0 < bound.epsilon < 10.0


def test_rdp_names_its_order_and_conversion() -> None:
    mironov = Rdp(orders=tuple(float(a) for a in range(2, 257)), conversion=Conversion.MIRONOV)
    bound = epsilon(gauss(1.18, sampling=PoissonSampling(0.1), count=50), delta=1e-5, accountant=mironov)
    assert bound.epsilon == pytest.approx(4.9949, abs=1e-4)
    assert bound.order == 5.0
    assert bound.accountant == mironov


def test_guarantee_carries_everything() -> None:
    value = guarantee(gauss(5.0), delta=1e-5, unit=Unit.RECORD, adversary=AggregationServer())
    assert value.status is Status.PROVEN
    assert value.unit is Unit.RECORD
    assert value.neighboring is NeighboringRelation.ADD_REMOVE
    assert "Zhu" in " ".join(value.citations)


@pytest.mark.parametrize(
    ("noise", "sampling", "accountant", "names"),
    [
        (SkellamNoise(1e8, 4), PoissonSampling(0.1), Pld(), ("Zhu", "Agarwal")),
        (DiscreteGaussianNoise(1e4, 4), PoissonSampling(0.1), Rdp(), ("Mironov, Talwar", "Canonne", "Liu")),
        (RoundedGaussianNoise(1e4, 4), FixedSizeSampling(1, 9), Pld(), ("Lemma 2", "Gaboardi")),
        (GaussianNoise(1e4), FixedSizeSampling(1, 9), Rdp(), ("Wang",)),
    ],
)
def test_citations_name_what_was_used(
    noise: DiscreteGaussianNoise | GaussianNoise | RoundedGaussianNoise | SkellamNoise,
    sampling: FixedSizeSampling | PoissonSampling,
    accountant: Pld | Rdp,
    names: tuple[Any, ...],
) -> None:
    event = Release(noise, 1e4, 10, sampling)
    relation = REPLACE if isinstance(sampling, FixedSizeSampling) else NeighboringRelation.ADD_REMOVE
    bound = epsilon(event, delta=1e-5, neighboring=relation, accountant=accountant)
    text = " | ".join(bound.citations)
    assert all(name in text for name in names)
    assert len(set(bound.citations)) == len(bound.citations)


def test_delta_inverts_epsilon() -> None:
    event = gauss(1.0, sampling=PoissonSampling(0.01), count=1000)
    # dp-accounting 0.6.0, PLD at interval 2e-5: 0.0026124236.
    assert delta(event, epsilon=1.0).delta == pytest.approx(0.0026124236, rel=2e-4)
    for level in (1e-3, 1e-8):
        assert delta(event, epsilon=epsilon(event, delta=level).epsilon).delta == pytest.approx(
            level, rel=1e-3
        )


def test_tradeoff_of_a_sampled_event() -> None:
    curve = tradeoff(gauss(1.0, sampling=PoissonSampling(0.01), count=1000))
    # β(0.01) = 0.97090 (riskcal) and 0.97081 (opake), both lower bounds.
    assert curve.false_negative_rate(0.01) == pytest.approx(0.9709, abs=3e-4)


@pytest.mark.parametrize("bad", [math.nan, -1e-9, 1.0, 2.0])
def test_bad_delta(bad: float) -> None:
    with pytest.raises(ConfigurationError):
        epsilon(gauss(1.0), delta=bad)


def test_unknown_events_are_refused() -> None:
    with pytest.raises(UnsupportedAnalysisError, match="know every event"):
        epsilon(cast(Any, "secret sauce"), delta=1e-5)


def test_nothing_costs_nothing() -> None:
    assert epsilon(Composed(()), delta=1e-5).epsilon == 0.0
    assert epsilon(gauss(1.0, count=0), delta=1e-5).epsilon == 0.0


def test_hopeless_noise_is_answered_not_crashed() -> None:
    bound = epsilon(gauss(0.01, sampling=PoissonSampling(0.5), count=10), delta=1e-5)
    assert bound.epsilon > 1000.0
    assert isinstance(bound.accountant, Rdp)
