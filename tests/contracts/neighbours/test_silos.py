"""A silo with settings of its own: its record moves the integers by at most its own sensitivity."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.audit.crafted_search import record_findings
from discreet.audit.neighbours import Rounds
from discreet.config import parse_config
from discreet.kinds import SiloTraining
from discreet.plan import Plan
from discreet.randomness import SeededRandom
from tests.contracts.neighbours.test_neighbours import told_apart
from tests.contracts.neighbours.worlds import IMAGE, KINDS, LINEAR_ONLY, OWN, config, planned, start_of

COINS = {"kind": "poisson", "probability": 0.5}
OWN_SETTINGS: dict[str, dict[str, Any]] = {
    "single-step": {"clip_norm": 0.25, "sampling": COINS},
    "noisy-steps": {"clip_norm": 0.25, "learning_rate": 0.02},
    "sharded": {"clip_norm": 0.25},
    "stable-steps": {"learning_rate": 0.0025, "steps": 9},
    "tangent-steps": {"clip_norm": 0.25, "learning_rate": 0.001},
    "clipped-update": {"clip_norm": 0.25, "sampling": COINS},
}
# Networks take long, and each kind is searched at length elsewhere.
TRIALS = {"stable-steps": 26}
FEW = 9


def rounds_of(kind: str, silo: str) -> Rounds:
    """The part of a silo where ``a`` has settings of its own, and the others have not."""
    linear = kind == LINEAR_ONLY
    plain = config(KINDS[kind], {"source": "npz:unset.npz"}, "logistic" if linear else f"{OWN}:rectified")
    stated = plain.model_dump(mode="json", exclude_none=True) | {"silos": {"a": OWN_SETTINGS[kind]}}
    made = planned(parse_config(stated), IMAGE, 3, 1.0 if linear else None)
    return Rounds(made.plan, made.model, silo)


def worst_of(rounds: Rounds, trials: int) -> float:
    found = record_findings(rounds, start_of(rounds), trials=trials, source=SeededRandom(4))
    return max(one.largest for one in found)


@pytest.mark.parametrize("kind", OWN_SETTINGS)
def test_a_record_moves_its_silos_integers_by_its_own_claim(kind: str) -> None:
    rounds = rounds_of(kind, "a")
    trials = TRIALS.get(kind, FEW)
    found = list(record_findings(rounds, start_of(rounds), trials=trials, source=SeededRandom(3)))
    assert not told_apart(found)


@pytest.mark.parametrize("kind", OWN_SETTINGS)
def test_the_claim_of_a_silo_is_a_fraction_of_the_others(kind: str) -> None:
    rounds = rounds_of(kind, "a")
    own, other = rounds.plan.release_of("a"), rounds.plan.release_of("b")
    assert own.l2_sensitivity < 0.6 * other.l2_sensitivity
    assert rounds.claims()[1] < Rounds(rounds.plan, rounds.model, "b").claims()[1]


@pytest.mark.parametrize("kind", ["single-step", "stable-steps", "clipped-update"])
def test_a_silo_that_trains_with_the_others_settings_is_found(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the plan states a silo's own sensitivity, and the silo trains as all the others do."""
    rounds = rounds_of(kind, "a")
    right = worst_of(rounds, TRIALS.get(kind, FEW))
    real = Plan.silo_training

    def of_another(self: Plan, silo: str, release: int = 1) -> SiloTraining:
        return real(self, "b" if silo == "a" else silo, release)

    monkeypatch.setattr(Plan, "silo_training", of_another)
    # What is claimed of the update follows from the training that is run; of integers, from the plan.
    assert right <= 1.0
    assert worst_of(rounds, TRIALS.get(kind, FEW)) > 1.5


def test_two_silos_noise_is_of_one_law() -> None:
    """What a silo adds does not depend on its own settings, or their rows would say too much."""
    rounds = rounds_of("single-step", "a")
    shares = {rounds.plan.release_of(silo).share for silo in ("a", "b", "c")}
    assert shares == {rounds.plan.release.share}
