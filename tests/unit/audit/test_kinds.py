"""Every kind of local training can be audited, each by what fits it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.audit import (
    AuditSettings,
    CanaryFinding,
    LocalStateFinding,
    PostProcessingFinding,
    SamplingFinding,
    SensitivityFinding,
    audit,
    campaign,
)
from discreet.audit.canaries import coordinate_canaries
from discreet.audit.one_run import coordinate_run
from discreet.audit.participation import Participation
from discreet.config import parse_config
from discreet.engines.local import Prepared, prepare
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.adversary import ReleasedModels
from discreet.privacy.units import NeighboringRelation, Status
from discreet.randomness import SeededRandom
from discreet.sampling import FixedSize
from tests.unit.audit.audited_configs import DIGITS, noisy_steps

SETTINGS = AuditSettings(canaries=650, trials=8)


@pytest.fixture
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves most canaries to gradient space: a rehearsal has room for few records."""

    def few(prepared: Prepared, settings: AuditSettings, *others: Any) -> Any:
        return all_of_them(prepared, replace(settings, canaries=96), *others)

    all_of_them = campaign._record_runs
    monkeypatch.setattr(campaign, "_record_runs", few)


@pytest.mark.usefixtures("few_records")
@pytest.mark.parametrize("name", ["sharded", "clients", "sampled", "quantile"])
def test_true_claims_hold(name: str, request: pytest.FixtureRequest) -> None:
    """False-alarm rate: at most 2 % a canary finding and 1 % a noise family; seeds are fixed."""
    # Lone gradients of a network are slow, so it gets fewer canaries.
    settings = AuditSettings(canaries=96 if name in {"sampled", "quantile"} else 650, trials=8)
    findings = audit(request.getfixturevalue(name), settings)
    assert not [finding for finding in findings if finding.exceeded]
    kinds = {finding.canaries for finding in findings if isinstance(finding, CanaryFinding)}
    assert kinds == ({"gradient-space"} if name == "clients" else {"gradient-space", "input-space"})
    assert any(isinstance(finding, SamplingFinding) for finding in findings) == (name != "clients")


def test_a_canary_of_a_shard_is_replaced_by_its_opposite(sharded: Prepared) -> None:
    """In or out moves the sum by twice the clip norm, and the guesses show it."""
    source = SeededRandom(1)
    canaries = coordinate_canaries(sharded.plan, 650, source)
    assert canaries.opposed
    scores = coordinate_run(sharded, canaries, source).scores[0]
    hits = (scores.values > 0) == scores.included
    # Sampled in at least one of two rounds with probability 3/4, and then mostly seen.
    assert 0.55 < hits.mean() < 0.95


@pytest.mark.usefixtures("few_records")
def test_a_rotated_plan_is_audited_in_its_own_coordinates() -> None:
    aggregation = DIGITS["aggregation"] | {"rotation": True}
    prepared = prepare(parse_config(DIGITS | {"aggregation": aggregation}, source="test"))
    assert prepared.plan.grid.rotated
    findings = audit(prepared, AuditSettings(canaries=1300, trials=8))
    assert not [finding for finding in findings if finding.exceeded]
    guessed = [f for f in findings if isinstance(f, CanaryFinding) and f.canaries == "gradient-space"]
    # Models show less than sums; of 162 blind guesses 97 are right once in a hundred times.
    for finding in guessed:
        least = 0.6 if isinstance(finding.claim.adversary, ReleasedModels) else 0.65
        assert finding.correct / finding.guesses > least, finding.claim.adversary


def test_exchanged_records_are_audited_by_opposed_canaries(fixed_size: Prepared) -> None:
    """A canary turns into its opposite, in as many of the silo's places as the plan draws each round."""
    findings = audit(fixed_size, AuditSettings(canaries=1000, trials=16))
    assert not [finding for finding in findings if finding.exceeded]
    guessed = [finding for finding in findings if isinstance(finding, CanaryFinding)]
    assert {finding.canaries for finding in guessed} == {"gradient-space"}
    assert {finding.claim.neighboring for finding in guessed} == {NeighboringRelation.REPLACE_ONE}
    assert all(finding.correct / finding.guesses > 0.6 for finding in guessed)
    moved = [finding for finding in findings if isinstance(finding, SensitivityFinding)]
    clip_norm = fixed_size.config.privacy.clip_norm
    assert isinstance(clip_norm, float)
    assert all(finding.claimed == pytest.approx(2.0 * clip_norm, rel=1e-2) for finding in moved)
    assert max(finding.largest for finding in moved) > clip_norm
    made_of_sums = [finding for finding in findings if isinstance(finding, PostProcessingFinding)]
    assert [finding.difference for finding in made_of_sums] == ["one record exchanged"]


def test_a_fixed_number_of_canaries_takes_part() -> None:
    drawn = Participation(FixedSize(25, 100)).drawn(100, SeededRandom(1))
    assert drawn.sum() == 25
    share = np.mean(
        [Participation(FixedSize(25, 100)).drawn(10, SeededRandom(seed)) for seed in range(400)], axis=0
    )
    # Each of ten canaries over 400 rounds: five standard deviations.
    assert np.all(np.abs(share - 0.25) < 5.0 * math.sqrt(0.25 * 0.75 / 400))


def test_the_published_claim_for_noisy_steps_is_refuted() -> None:
    finding, made_of_sums = audit(noisy_steps(1.0, "independent-local-state"), SETTINGS)
    assert isinstance(finding, LocalStateFinding)
    assert finding.status is Status.CONDITIONAL
    assert finding.num_silos == 30
    assert finding.exceeded
    assert isinstance(made_of_sums, PostProcessingFinding)
    assert not made_of_sums.exceeded


def test_the_local_claim_for_noisy_steps_holds() -> None:
    finding, _ = audit(noisy_steps(5.0), SETTINGS)
    assert isinstance(finding, LocalStateFinding)
    assert finding.status is Status.PROVEN
    assert not finding.exceeded
    assert finding.audited_epsilon_lower > 0.3 * finding.claimed


def test_noisy_steps_cannot_be_rehearsed_with_canaries() -> None:
    prepared = noisy_steps(5.0)
    canaries = coordinate_canaries(prepared.plan, 8, SeededRandom(0))
    with pytest.raises(UnsupportedAnalysisError, match="local-state attack"):
        coordinate_run(prepared, canaries, SeededRandom(0))


def test_a_single_noisy_step_is_sent_to_single_step() -> None:
    prepared = noisy_steps(5.0, steps=1)
    with pytest.raises(UnsupportedAnalysisError, match="a single one as the kind single-step"):
        audit(prepared, SETTINGS)
