"""Noisy-steps: proven at a silo's own noise, conditional for the sum, and only on opt-in."""

from fractions import Fraction

import pytest

from discreet.errors import UnsupportedAnalysisError
from discreet.kinds import NoisySteps, SingleStep
from discreet.kinds.footprint import NoiseSharing
from discreet.kinds.noisy_steps import INDEPENDENT_LOCAL_STATE
from discreet.mechanisms import per_silo
from discreet.plan import RoundRelease, event_for
from discreet.privacy.events import Composed, PoissonSampling, Release, Repeated, RoundedGaussianNoise

RATES = (Fraction(1, 10),) * 3
LAW = RoundedGaussianNoise(100.0, 10)


def release_of(sharing: NoiseSharing) -> Release:
    """The release inside the event of two rounds of three steps, against whoever faces ten shares."""
    planned = RoundRelease(LAW, 50.0, 12, PoissonSampling(0.1), 0.0, 0.0, steps=3, sharing=sharing)
    event = event_for(planned, honest_silos=10, rounds=2)
    assert isinstance(event, Composed)
    repeated = event.events[0]
    assert isinstance(repeated, Repeated)
    assert repeated.count == 6
    assert isinstance(repeated.event, Release)
    return repeated.event


def test_without_opt_in_only_the_silos_own_noise_counts() -> None:
    sharing = NoisySteps(1.0, RATES, sampling_prob=0.1).noise_sharing(())
    release = release_of(sharing)
    assert sharing == NoiseSharing(adds_up=False)
    assert release.sampling == PoissonSampling(0.1)
    assert release.noise == per_silo(LAW, 1)


def test_the_sum_needs_an_explicit_opt_in_and_names_its_assumption() -> None:
    sharing = NoisySteps(1.0, RATES).noise_sharing((INDEPENDENT_LOCAL_STATE,))
    assert "do not depend on the silo's own unreleased state" in sharing.assumptions[0]
    assert release_of(sharing).noise == LAW


@pytest.mark.parametrize("training", [NoisySteps(1.0, RATES[:1]), SingleStep(1.0)])
def test_one_step_is_proven_at_the_sum(training: NoisySteps | SingleStep) -> None:
    assert training.noise_sharing(()) == NoiseSharing(adds_up=True)


@pytest.mark.parametrize("training", [NoisySteps(1.0, RATES), SingleStep(1.0)])
def test_an_assumption_that_the_training_does_not_have_is_refused(training: NoisySteps | SingleStep) -> None:
    with pytest.raises(UnsupportedAnalysisError, match="accept_assumptions"):
        training.noise_sharing(("the moon is full",))
