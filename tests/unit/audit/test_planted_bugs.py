"""Bugs of the kind that other systems shipped, each planted and found by at least one audit."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from discreet.audit import AuditSettings, CanaryFinding, NoiseFinding, audit
from discreet.audit.canaries import coordinate_canaries
from discreet.audit.coins import sampling_finding
from discreet.audit.interruption import noise_across_interruption
from discreet.audit.noise import exceeded, noise_findings
from discreet.audit.post_processing import post_processing_finding
from discreet.audit.sensitivity import sensitivity_finding
from discreet.engines.local import LocalEngine, Prepared
from discreet.kinds import Flat, QuantileClipping
from discreet.learning import CountedUpdate
from discreet.learning.single_step import single_step_update
from discreet.mechanisms import per_silo, sample_share
from discreet.plan import Plan
from discreet.privacy.events import IntegerNoise
from discreet.randomness import RandomSource, SeededRandom
from discreet.rounds import Contribution, RoundOrder

SETTINGS = AuditSettings(canaries=1300, trials=8, confidence=0.99, seed=4)


def plant_half_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every silo draw noise of half the planned deviation; colluders tell what they drew."""

    def drawn(
        law: IntegerNoise, size: int, randomness: RandomSource, *, workers: int = 1
    ) -> npt.NDArray[np.int64]:
        return np.rint(0.5 * sample_share(law, size, randomness, workers=workers)).astype(np.int64)

    def added(
        values: npt.NDArray[np.int64], law: IntegerNoise, randomness: RandomSource, *, workers: int = 1
    ) -> None:
        values += drawn(law, len(values), randomness, workers=workers)

    monkeypatch.setattr("discreet.encoding.contribution.add_share", added)
    monkeypatch.setattr("discreet.encoding.contribution.sample_share", drawn)


def test_an_honest_plan_passes_every_audit(digits: Prepared) -> None:
    """False-alarm rate: 2 % for each of 6 canary findings, 1 % for each of 3 noise families."""
    assert not [finding for finding in audit(digits, SETTINGS) if finding.exceeded]


def test_a_noise_share_too_small_is_found(digits: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    plant_half_the_noise(monkeypatch)
    failed = [finding for finding in audit(digits, SETTINGS) if finding.exceeded]
    assert any(isinstance(finding, NoiseFinding) and "variance" in finding.check for finding in failed)
    guessed = [finding for finding in failed if isinstance(finding, CanaryFinding)]
    assert {finding.canaries for finding in guessed} == {"gradient-space"}
    assert any(finding.audited_gaussian_epsilon_lower > finding.claim.epsilon for finding in guessed)


def test_a_clip_that_forgets_one_layer_is_found(sampled: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_layer_only(_: Flat, norms_squared: torch.Tensor, clip_norm: float) -> torch.Tensor:
        return (clip_norm / norms_squared[0].sqrt().clamp(min=clip_norm)).expand_as(norms_squared)

    honest = sensitivity_finding(sampled, "silo-1", trials=16, randomness=SeededRandom(1))
    assert not honest.exceeded
    assert honest.largest > 0.8 * honest.claimed
    for module in ("record_gradients", "dense"):
        monkeypatch.setattr(f"discreet.learning.clipping.{module}.factors", first_layer_only)
    assert sensitivity_finding(sampled, "silo-1", trials=16, randomness=SeededRandom(1)).exceeded


def test_a_batch_mean_that_counts_private_records_is_found(
    sampled: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mean_of_the_batch(*arguments: Any) -> CountedUpdate:
        counted = single_step_update(*arguments)
        update, expected = counted.update, 0.25 * 420
        mean = update.vector / max(1, update.batch)
        return dataclasses.replace(counted, update=dataclasses.replace(update, vector=mean * expected))

    monkeypatch.setattr("discreet.learning.arithmetic.single_step_update", mean_of_the_batch)
    assert sensitivity_finding(sampled, "silo-1", trials=16, randomness=SeededRandom(1)).exceeded


def test_a_server_that_divides_by_a_private_count_is_found(
    digits: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums are protected, but who knows a sum and its mean knows how many records there are."""
    honest = post_processing_finding(digits, SeededRandom(1))
    assert honest.largest == 0.0
    assert not honest.exceeded
    assert honest.rounds == digits.plan.rounds
    opened: list[LocalEngine] = []
    open_engine = LocalEngine.__init__

    def remember(self: LocalEngine, *arguments: Any, **settings: Any) -> None:
        open_engine(self, *arguments, **settings)
        opened.append(self)

    def records_of(_: Plan, survivors: tuple[str, ...]) -> float:
        return float(sum(len(opened[-1]._records.under(None)[name]) for name in survivors))

    monkeypatch.setattr(LocalEngine, "__init__", remember)
    monkeypatch.setattr("discreet.plan.counted.normaliser", records_of)
    assert post_processing_finding(digits, SeededRandom(1)).exceeded


def test_a_count_of_unclipped_records_that_was_not_accounted_is_found(
    quantile: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the clipping norm follows a quantile, the count travels with the sum: 3 % of the sensitivity."""
    honest = sensitivity_finding(quantile, "silo-1", trials=16, randomness=SeededRandom(2))
    assert not honest.exceeded
    assert honest.largest > 0.99 * honest.claimed
    monkeypatch.setattr(QuantileClipping, "l2_sensitivity", lambda _: 1.0 + 2.0**-10)
    assert sensitivity_finding(quantile, "silo-1", trials=16, randomness=SeededRandom(2)).exceeded


def noise_after_interruption(prepared: Prepared, folder: Path) -> tuple[NoiseFinding, ...]:
    return noise_findings(
        noise_across_interruption(prepared, SeededRandom(9), folder / "run"),
        law=per_silo(prepared.plan.release.share, 4),
        scenario="resumed",
        confidence=0.999,
    )


@pytest.mark.parametrize("name", ["digits", "noise_first"])
def test_noise_that_is_reused_after_a_resume_is_found(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prepared: Prepared = request.getfixturevalue(name)
    honest_engine = LocalEngine._contributions
    rounds_of: dict[LocalEngine, list[int]] = {}

    def numbered_since_the_start(self: LocalEngine, order: RoundOrder) -> dict[str, Contribution]:
        seen = rounds_of.setdefault(self, [])
        if order.sequence not in seen:
            seen.append(order.sequence)
        return honest_engine(self, dataclasses.replace(order, sequence=len(seen)))

    assert not exceeded(noise_after_interruption(prepared, tmp_path / "honest"))
    monkeypatch.setattr(LocalEngine, "_contributions", numbered_since_the_start)
    found = {f.check for f in noise_after_interruption(prepared, tmp_path / "planted") if f.exceeded}
    assert "largest correlation of two rounds" in found


def test_poisson_coins_in_single_precision_are_found(
    sampled: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Uniform float32 numbers are multiples of 2^-24, so below 0.1 there are more of them than a tenth."""
    tenth = dataclasses.replace(sampled, plan=_with_sampling_prob(sampled, 0.1))
    honest = sampling_finding(tenth)
    assert honest is not None
    assert not honest.exceeded
    assert honest.actual == pytest.approx(honest.claimed, rel=1e-15)

    def in_single_precision(self: RandomSource, count: int, prob: float) -> npt.NDArray[np.bool_]:
        coins = (self.words(count) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
        return coins < np.float32(prob)

    monkeypatch.setattr(RandomSource, "bernoulli", in_single_precision)
    planted = sampling_finding(tenth)
    assert planted is not None
    assert planted.exceeded
    assert planted.actual == pytest.approx(1677722 / 2**24, rel=1e-12)


def _with_sampling_prob(prepared: Prepared, prob: float) -> Any:
    """Returns the plan with another sampling probability, in its config and its release."""
    plan = prepared.plan
    sampling = plan.config.training.sampling.model_copy(update={"probability": prob})
    training = plan.config.training.model_copy(update={"sampling": sampling})
    release = dataclasses.replace(
        plan.release,
        sampling=type(plan.release.sampling)(prob),  # type: ignore[call-arg, arg-type]  # it is Poisson's
    )
    config = plan.config.model_copy(update={"training": training})
    return dataclasses.replace(plan, config=config, release=release)


def test_a_canary_that_is_larger_than_planned_is_found(
    digits: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit itself: twice the sensitivity is as bad as half the noise."""

    def doubled(*arguments: Any) -> Any:
        canaries = coordinate_canaries(*arguments)
        return dataclasses.replace(canaries, height=2 * canaries.height)

    monkeypatch.setattr("discreet.audit.campaign.coordinate_canaries", doubled)
    failed = [finding for finding in audit(digits, SETTINGS) if finding.exceeded]
    assert failed
    assert all(isinstance(finding, CanaryFinding) for finding in failed)
