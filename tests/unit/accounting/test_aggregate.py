"""Heikkilä (2025): Table 1, unequal silos, fused steps, colluders and dropouts; what is proven of it."""

import math

import pytest

from discreet.accounting import Conversion, Rdp, epsilon
from discreet.accounting.aggregate import (
    LATER_STEPS,
    NoisyFederation,
    NoisySilo,
    aggregate_event,
    local_event,
    silo_guarantees,
    worst,
)
from discreet.errors import ConfigurationError
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from discreet.privacy.units import Status

MIRONOV = Rdp(orders=tuple(float(a) for a in range(2, 257)), conversion=Conversion.MIRONOV)

TABLE_1 = [
    (1, 1, 0.69, 5.0),
    (1, 2, 0.98, 2.78),
    (1, 5, 1.54, 1.22),
    (1, 10, 2.18, 0.64),
    (10, 1, 0.90, 5.0),
    (10, 2, 1.28, 2.61),
    (10, 5, 2.02, 1.19),
    (10, 10, 2.85, 0.72),
    (50, 1, 1.18, 5.0),
    (50, 2, 1.67, 2.85),
    (50, 5, 2.64, 1.55),
    (50, 10, 3.73, 1.03),
]


def silo(name="a", *, noise=1.0, clip=1.0, rate=0.1, prob=0.1, steps=1):
    return NoisySilo(name, noise, clip, rate, prob, steps)


@pytest.mark.parametrize(("steps", "parties", "sigma", "published"), TABLE_1)
def test_table_1(steps, parties, sigma, published):
    members = tuple(silo(str(i), noise=sigma / math.sqrt(parties), steps=steps) for i in range(parties))
    federation = NoisyFederation(members, rounds=1)
    event = aggregate_event(federation, members[0])
    found = epsilon(event, delta=1e-5, accountant=MIRONOV).epsilon
    assert found == pytest.approx(published, abs=0.03)
    assert epsilon(event, delta=1e-5).epsilon < found


def test_one_step_is_proven_many_are_conditional():
    one = silo_guarantees(NoisyFederation((silo("a"), silo("b")), rounds=5), 1e-5)
    assert {row.aggregate.status for row in one} == {Status.PROVEN}
    many = silo_guarantees(NoisyFederation((silo("a", steps=4), silo("b", steps=4)), rounds=5), 1e-5)
    for row in many:
        assert row.aggregate.status is Status.CONDITIONAL
        assert LATER_STEPS in row.aggregate.assumptions
        assert row.local.status is Status.PROVEN
        assert row.local.epsilon > row.aggregate.epsilon


def test_local_event_composes_every_step_at_the_own_noise():
    expected = Repeated(Release(GaussianNoise(1.5), 1.0, 1, PoissonSampling(0.2)), 12)
    assert local_event(silo(noise=1.5, prob=0.2, steps=4), 3) == expected


def test_unequal_silos_add_scaled_variances():
    members = (silo("a", noise=1.0, clip=2.0, rate=0.1), silo("b", noise=3.0, clip=0.5, rate=0.4))
    federation = NoisyFederation(members, rounds=1)
    # (0.1·2·1)² + (0.4·0.5·3)² = 0.04 + 0.36.
    assert federation.honest_variance(members[0]) == pytest.approx(0.40)
    release = aggregate_event(federation, members[0]).event
    assert release.l2_sensitivity == pytest.approx(0.2)
    assert release.noise.stddev == pytest.approx(math.sqrt(0.40))


def test_sampling_probabilities_give_each_silo_its_own_guarantee():
    rows = silo_guarantees(NoisyFederation((silo("small", prob=0.3), silo("large", prob=0.05)), 10), 1e-5)
    small, large = rows
    assert small.aggregate.epsilon > large.aggregate.epsilon
    assert worst(rows) is small


def test_colluders_and_dropouts_take_the_largest_noises_of_others():
    members = tuple(silo(str(i), noise=s) for i, s in enumerate((1.0, 2.0, 3.0, 4.0)))
    whole = NoisyFederation(members, 1).honest_variance(members[0])
    assert whole == pytest.approx(0.01 * (1 + 4 + 9 + 16))
    fewer = NoisyFederation(members, 1, num_colluding=1, num_dropouts=1).honest_variance(members[0])
    assert fewer == pytest.approx(0.01 * (1 + 4))
    # The own noise is always there: silo 3 keeps its 4.
    own = NoisyFederation(members, 1, num_colluding=3).honest_variance(members[3])
    assert own == pytest.approx(0.01 * 16)
    with pytest.raises(ConfigurationError, match="honest"):
        NoisyFederation(members, 1, num_colluding=2, num_dropouts=2)


def test_fused_steps_are_tighter_as_a_mixture():
    members = (silo("a", steps=4, clip=0.25), silo("b", steps=1, noise=2.0))
    federation = NoisyFederation(members, rounds=20)
    assert federation.common_steps == 1
    tight = epsilon(aggregate_event(federation, members[0]), delta=1e-5).epsilon
    loose = epsilon(aggregate_event(federation, members[0], tight=False), delta=1e-5).epsilon
    assert tight < loose
    # Four inclusions of a quarter cannot beat one inclusion of a quarter.
    one = Repeated(aggregate_event(federation, members[0]).event, 20)
    plain = Release(one.event.noise, one.event.l2_sensitivity, 1, PoissonSampling(0.1))
    assert tight > epsilon(Repeated(plain, 20), delta=1e-5).epsilon


def test_common_steps_are_the_greatest_common_divisor():
    members = (silo("a", steps=6), silo("b", steps=4))
    event = aggregate_event(NoisyFederation(members, rounds=3), members[0])
    assert event.count == 6
    assert event.event.sampling.trials == 3


@pytest.mark.parametrize("bad", [{"noise": 0.0}, {"noise": math.nan}, {"prob": 0.0}, {"steps": 0}])
def test_bad_silos(bad):
    with pytest.raises(ConfigurationError):
        silo(**bad)
