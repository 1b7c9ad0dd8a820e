"""Claims that are true survive many audits; the same audit refutes half the noise."""

from __future__ import annotations

import pytest

from discreet.audit.campaign import claimed
from discreet.audit.canaries import coordinate_canaries
from discreet.audit.findings import CanaryFinding
from discreet.audit.judge import judge
from discreet.audit.one_run import coordinate_run
from discreet.engines.local import Prepared
from discreet.privacy.adversary import ServerWithColluders
from discreet.randomness import SeededRandom
from tests.unit.audit.test_planted_bugs import plant_half_the_noise

CONFIDENCE = 0.99


def audited_once(prepared: Prepared, seed: int, runs: int) -> CanaryFinding:
    source = SeededRandom(seed).derive("claims")
    scores = []
    for number in range(runs):
        own = source.derive(number)
        canaries = coordinate_canaries(prepared.plan, 650, own.derive("canaries"))
        scores.append(coordinate_run(prepared, canaries, own).scores[-1])
    claim, curve = claimed(prepared.plan, ServerWithColluders(1))
    return judge(scores, canaries="gradient-space", claim=claim, curve=curve, confidence=CONFIDENCE)


def repetitions_that_exceed(prepared: Prepared, repetitions: int) -> int:
    """Each repetition may exceed a true claim with probability 0.02 (two tests at 99 %)."""
    return sum(audited_once(prepared, seed, 1).exceeded for seed in range(repetitions))


@pytest.mark.statistical
def test_a_proven_claim_is_not_exceeded_in_ten_repetitions(digits: Prepared) -> None:
    assert repetitions_that_exceed(digits, 10) == 0


@pytest.mark.slow
@pytest.mark.statistical
def test_a_proven_claim_is_not_exceeded_in_a_hundred_repetitions(digits: Prepared) -> None:
    assert repetitions_that_exceed(digits, 100) == 0


@pytest.mark.statistical
def test_half_the_noise_is_refuted(digits: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audited_once(digits, 0, 4).exceeded
    plant_half_the_noise(monkeypatch)
    finding = audited_once(digits, 0, 4)
    assert finding.exceeded
    assert finding.audited_gaussian_epsilon_lower > finding.claim.epsilon
