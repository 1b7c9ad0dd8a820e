"""The crafted federation exceeds the CONDITIONAL claim of noisy-steps; PROVEN kinds never exceed theirs."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.stats import binom
from torch import nn

from discreet.accounting.gdp import gaussian_epsilon
from discreet.audit import CraftedFederation, simulate_local_state_attack, two_steps_epsilon
from discreet.audit.membership import AttackRates
from discreet.data import Records
from discreet.errors import ConfigurationError
from discreet.kinds import StableSteps, TangentSteps
from discreet.kinds.convex_steps import ConvexSteps
from discreet.learning import tangent_steps
from discreet.learning.tangent_model import TangentModel
from discreet.models import flatten, load_flat
from discreet.randomness import SeededRandom
from tests.support.crafted_federations import Crafted, crafted_federations
from tests.support.played_local_state import play
from tests.support.threshold_attack import threshold_attack

DELTA, CONFIDENCE = 1e-5, 0.99
# The federation, its claimed ε, exact rates; the first two lines are the sign attack.
CASES = [
    (CraftedFederation(100, 4.0), 1.356, (0.1056, 0.8944)),
    (CraftedFederation(100, 8.0), 0.634, (0.2671, 0.7329)),
    (CraftedFederation(100, 4.0, trigger=0.8), 1.356, (0.0228, 0.6915)),
    (CraftedFederation(10, 4.0, trigger=3.5), 1.356, (0.0028, 0.0241)),
]


@pytest.mark.parametrize(("federation", "claim", "exact"), CASES)
def test_the_conditional_claim_is_exceeded(
    federation: CraftedFederation, claim: float, exact: tuple[float, float]
) -> None:
    assert two_steps_epsilon(federation.noise_multiplier, DELTA) == pytest.approx(claim, abs=1e-3)
    assert federation.exact_rates() == pytest.approx(exact, abs=2e-4)
    rates = simulate_local_state_attack(federation, 100_000, SeededRandom(1))
    assert rates.false_positives / rates.trials == pytest.approx(exact[0], abs=0.004)
    assert rates.true_positives / rates.trials == pytest.approx(exact[1], abs=0.006)
    measured = rates.epsilon_lower(DELTA, CONFIDENCE)
    assert measured > two_steps_epsilon(federation.noise_multiplier, DELTA)
    assert measured < two_steps_epsilon(federation.local_noise_multiplier, DELTA)


def test_the_first_case_measures_what_the_sign_of_the_sum_tells() -> None:
    """log(0.8944/0.1056) = 2.137; a million rounds come within 0.02 at 99 % confidence."""
    rates = simulate_local_state_attack(CraftedFederation(100, 4.0), 1_000_000, SeededRandom(2))
    assert 2.12 < rates.epsilon_lower(DELTA, CONFIDENCE) < 2.137


def test_production_code_plays_the_same_round() -> None:
    """`NoisySteps` with integer noise; rates outside these limits have probability below 1e-6."""
    federation = CraftedFederation(100, 4.0, trigger=0.8, amplifiers=32)
    rates = play(federation, 120, SeededRandom(3))
    alarms, hits = federation.exact_rates()
    for successes, prob in ((rates.false_positives, alarms), (rates.true_positives, hits)):
        assert binom.ppf(1e-6, rates.trials, prob) <= successes <= binom.isf(1e-6, rates.trials, prob)
    assert rates.epsilon_lower(DELTA, 0.9) > two_steps_epsilon(federation.noise_multiplier, DELTA)


@pytest.mark.slow
@pytest.mark.parametrize("silos", [10, 100])
def test_production_code_plays_the_same_round_many_times(silos: int) -> None:
    federation = CraftedFederation(silos, 4.0, trigger=0.8 if silos == 100 else 2.0, amplifiers=32)
    rates = play(federation, 1000, SeededRandom(3))
    alarms, hits = federation.exact_rates()
    for successes, prob in ((rates.false_positives, alarms), (rates.true_positives, hits)):
        assert binom.ppf(1e-6, rates.trials, prob) <= successes <= binom.isf(1e-6, rates.trials, prob)


# --- PROVEN kinds ------------------------------------------------------------------------------------------


def shares_of_the_claim(count: int, seed: int) -> list[tuple[str, float]]:
    """Attacks ``count`` federations; measured ε ÷ claimed ε, with the kind's name."""
    shares = []
    for number, crafted in enumerate(crafted_federations(count, SeededRandom(seed))):
        measured = crafted.attacked(6, delta=DELTA, randomness=SeededRandom(seed).derive("coins", number))
        shares.append((type(crafted.kind).__name__, measured / crafted.claimed_epsilon(DELTA)))
    return shares


def check(shares: list[tuple[str, float]]) -> None:
    assert max(share for _, share in shares) <= 1.0
    ordered = sorted(shares)
    assert len({kind for kind, _ in ordered}) == 5
    for kind, group in itertools.groupby(ordered, key=lambda pair: pair[0]):
        # An attack that stays far below the claim could not notice that it is false.
        assert max(share for _, share in group) > (0.7 if kind == "Sharded" else 0.9), kind


def test_fifty_crafted_federations_stay_within_proven_claims() -> None:
    check(shares_of_the_claim(50, seed=5))


@pytest.mark.slow
def test_a_thousand_crafted_federations_stay_within_proven_claims() -> None:
    check(shares_of_the_claim(1000, seed=6))


def exceeding(kind: type[ConvexSteps], count: int) -> int:
    """Attacks the federations of one kind among ``count``; how many exceed their claim."""
    exceeded = 0
    for number, crafted in enumerate(crafted_federations(count, SeededRandom(5))):
        if isinstance(crafted.kind, kind):
            measured = crafted.attacked(6, delta=DELTA, randomness=SeededRandom(number))
            exceeded += measured > crafted.claimed_epsilon(DELTA)
    return exceeded


@pytest.mark.parametrize("kind", [StableSteps, TangentSteps])
def test_the_same_attack_finds_steps_that_are_too_long(
    kind: type[ConvexSteps], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the guard, steps expand and later batches amplify a record; the claim is then false."""
    monkeypatch.setattr(ConvexSteps, "_require_non_expansive", lambda _: None)
    monkeypatch.setattr("tests.support.crafted_federations._GUARD_EDGE", 60.0)
    assert exceeding(kind, 60) >= 2


def factors_for_twice_the_norm(kind: TangentSteps, tangent: TangentModel) -> torch.Tensor:
    return 2.0 * kind.norm_bound / tangent.spread().clamp(min=2.0 * kind.norm_bound)


def no_factors(_: TangentSteps, tangent: TangentModel) -> torch.Tensor:
    return torch.ones(len(tangent.logits), dtype=torch.float64)


@pytest.mark.parametrize("factors", [factors_for_twice_the_norm, no_factors])
def test_the_same_attack_finds_tangents_that_are_not_shortened(
    factors: Callable[[TangentSteps, TangentModel], torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tangent_steps, "_factors", factors)
    assert exceeding(TangentSteps, 40) >= 2


def test_the_same_attack_finds_tangents_taken_at_a_moving_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network's own steps: others' gradients then change with a record's step by more than convexity."""
    honest = tangent_steps._pass

    def moving(
        kind: TangentSteps,
        model: nn.Module,
        delta: npt.NDArray[np.float64],
        records: Records,
        batches: list[npt.NDArray[np.int64]],
        **_: object,
    ) -> tuple[npt.NDArray[np.float64], float]:
        loss, start = 0.0, flatten(model)
        for batch in batches:
            if len(batch):
                load_flat(model, start + delta)
                moved, more = honest(kind, model, np.zeros_like(delta), records, [batch])
                delta, loss = delta + moved, loss + more
        return delta, loss

    monkeypatch.setattr(tangent_steps, "_pass", moving)
    assert exceeding(TangentSteps, 80) >= 1


def test_crafted_federations_differ_by_one_unit() -> None:
    for crafted in crafted_federations(10, SeededRandom(1)):
        assert isinstance(crafted, Crafted)
        missing = len(crafted.inside) - len(crafted.outside)
        assert missing == (len(crafted.inside) if crafted.kind.unit.value == "client" else 1)


# --- the attack itself -------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_threshold_attack_reaches_the_gaussian_mechanism_and_not_more(distance: float) -> None:
    outside = np.zeros((3, 2))
    inside = outside + np.array([0.0, distance])
    found = threshold_attack(outside, inside, stddev=2.0, delta=DELTA)
    exact = gaussian_epsilon(distance / 2.0, DELTA)
    assert 0.995 * exact < found <= exact


def test_equal_worlds_show_nothing() -> None:
    worlds = np.random.default_rng(0).normal(size=(5, 3))
    assert threshold_attack(worlds, worlds, stddev=1.0, delta=DELTA) == 0.0


@pytest.mark.statistical
def test_clopper_pearson_bound_is_wrong_as_rarely_as_promised() -> None:
    """Randomised response with ε = 1, 500 experiments at 90 %: more than 80 wrong has probability < 1e-5."""
    rng = np.random.default_rng(4)
    accuracy = np.e / (1 + np.e)
    alarms, hits = rng.binomial(300, 1 - accuracy, 500), rng.binomial(300, accuracy, 500)
    bounds = [
        AttackRates(int(a), int(h), 300).epsilon_lower(0.0, 0.9) for a, h in zip(alarms, hits, strict=True)
    ]
    assert sum(bound > 1.0 for bound in bounds) <= 80
    assert np.median(bounds) > 0.6


def test_mismatched_worlds_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="one shape"):
        threshold_attack(np.zeros((2, 3)), np.zeros((2, 2)), stddev=1.0, delta=DELTA)
    with pytest.raises(ConfigurationError, match="num_silos"):
        CraftedFederation(0, 1.0)
