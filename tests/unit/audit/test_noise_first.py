"""Plans whose noise comes before rounding: the honest pass; half the noise and early rounding are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.audit import AuditSettings, CanaryFinding, NoiseFinding, audit
from discreet.audit.canaries import coordinate_canaries
from discreet.audit.insider import LeftOver, stacked
from discreet.audit.noise import noise_findings
from discreet.audit.one_run import coordinate_run
from discreet.config import parse_config
from discreet.encoding.rounding import round_dithered
from discreet.engines.local import Prepared, prepare
from discreet.mechanisms import per_silo, round_with_noise, sample_share
from discreet.privacy.events import IntegerNoise, RoundedGaussianNoise
from discreet.randomness import RandomSource, SeededRandom
from tests.unit.audit.audited_configs import DIGITS
from tests.unit.audit.test_claims import audited_once

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ROUND_WITH_NOISE = "discreet.encoding.contribution.round_with_noise"


def half_the_noise(
    values: Floats, law: RoundedGaussianNoise, randomness: RandomSource, *, workers: int = 1
) -> Integers:
    half = RoundedGaussianNoise(0.5 * law.silo_stddev, law.num_silos)
    return round_with_noise(values, half, randomness, workers=workers)


def nearest_then_noise(
    values: Floats, law: IntegerNoise, randomness: RandomSource, *, workers: int = 1
) -> Integers:
    """Rounds first, although the grid's sensitivity holds only without rounding."""
    rounded = np.rint(values).astype(np.int64)
    return rounded + sample_share(law, len(values), randomness, workers=workers)


def dithered_then_noise(
    values: Floats, law: IntegerNoise, randomness: RandomSource, *, workers: int = 1
) -> Integers:
    rounded = round_dithered(values, randomness.derive("dither"))
    return rounded + sample_share(law, len(values), randomness, workers=workers)


def failing(prepared: Prepared, runs: int) -> set[str]:
    """Names the checks that fail on the noise of all survivors, and when a colluder tells what it sent."""
    done = []
    for number in range(runs):
        source = SeededRandom(11).derive(number)
        canaries = coordinate_canaries(prepared.plan, 650, source.derive("canaries"))
        done.append(coordinate_run(prepared, canaries, source))
    families = [(3, [run.noise for run in done]), (2, [run.honest_noise for run in done])]
    return {
        finding.check
        for honest, parts in families
        for finding in noise_findings(
            stacked(parts),
            law=per_silo(prepared.plan.release.share, honest),
            scenario=f"{honest} honest",
            confidence=0.999,
        )
        if finding.exceeded
    }


def test_an_honest_plan_passes_every_audit(noise_first: Prepared) -> None:
    """False-alarm rate: 2 % for each of 6 canary findings, 1 % for each of 3 noise families; fixed seed."""
    assert noise_first.plan.grid.noise_first
    assert noise_first.plan.grid.scale < 64.0, "the grid should be coarse"
    findings = audit(noise_first, AuditSettings(canaries=650, trials=4, seed=2))
    assert not [finding for finding in findings if finding.exceeded]
    checks = {finding.check for finding in findings if isinstance(finding, NoiseFinding)}
    assert {"variance / planned", "χ² of the two low bits", "rounding before noise"} <= checks
    scenarios = {finding.scenario for finding in findings if isinstance(finding, NoiseFinding)}
    assert len(scenarios) == 3
    guessed = [finding for finding in findings if isinstance(finding, CanaryFinding)]
    # A canary of less than one grid unit would not be seen if it were rounded away.
    assert all(f.correct / f.guesses > 0.65 for f in guessed if f.canaries == "gradient-space")


def test_a_sensitivity_below_one_grid_unit_can_still_be_audited() -> None:
    """Much noise on a coarse grid: here integers could hold no canary at all."""
    privacy = {"noise_multiplier": 25.0, "delta": 1e-5}
    aggregation = DIGITS["aggregation"] | {"noise_first": True}
    prepared = prepare(parse_config(DIGITS | {"privacy": privacy, "aggregation": aggregation}, source="test"))
    canaries = coordinate_canaries(prepared.plan, 650, SeededRandom(1))
    assert 0.0 < canaries.height == prepared.plan.grid.l2_sensitivity < 1.0
    run = coordinate_run(prepared, canaries, SeededRandom(1))
    law = per_silo(prepared.plan.release.share, prepared.plan.thresholds.min_survivors)
    checks = noise_findings(run.noise, law=law, scenario="test", confidence=0.999)
    assert not any(finding.exceeded for finding in checks)


def test_half_the_noise_is_found(noise_first: Prepared, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not audited_once(noise_first, 0, 4).exceeded
    monkeypatch.setattr(ROUND_WITH_NOISE, half_the_noise)
    finding = audited_once(noise_first, 0, 4)
    assert finding.exceeded
    assert finding.audited_gaussian_epsilon_lower > finding.claim.epsilon
    assert "variance / planned" in failing(noise_first, 1)


def test_rounding_to_the_nearest_before_the_noise_is_found(
    noise_first: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would let one record move every coordinate by one, where the plan counts none of it."""
    assert not failing(noise_first, 3)
    monkeypatch.setattr(ROUND_WITH_NOISE, nearest_then_noise)
    assert failing(noise_first, 3) == {"rounding before noise"}


# --- the checks themselves, on updates without training ---------------------------------------------------

SHARE, SILOS = RoundedGaussianNoise(2.1, 3), 3


def left_over(rule: Any, coordinates: int, seed: int = 1, spread: float = 3.0) -> LeftOver:
    """What four rounds of sums of random updates leave; all updates are zero without ``spread``."""
    source, rows = SeededRandom(seed), []
    for number in range(4):
        noise, fractions = np.zeros(coordinates // 4), np.zeros(coordinates // 4)
        for silo in range(SILOS):
            own = source.derive(number, silo)
            update = spread * (own.derive("update").uniform(len(noise)) - 0.5)
            noise += rule(update.copy(), SHARE, own.derive("noise")) - update
            fractions += update - np.rint(update)
        rows.append(LeftOver(noise, fractions))
    return stacked(rows)


def found(left: LeftOver) -> set[str]:
    findings = noise_findings(left, law=SHARE, scenario="test", confidence=0.999)
    return {finding.check for finding in findings if finding.exceeded}


@pytest.mark.statistical
@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_the_coarsest_grid_passes(spread: float) -> None:
    """400,000 integers of deviation 3.7; false-alarm rate 0.001, the seed is fixed."""
    left = left_over(round_with_noise, 400_000, spread=spread)
    assert found(left) == set()


@pytest.mark.statistical
def test_every_check_is_wrong_as_rarely_as_promised() -> None:
    """200 families at 95 %: more than 22 alarms have probability below 3e-4 if each has at most 5 %."""
    alarms = 0
    for seed in range(200):
        left = left_over(round_with_noise, 4_000, seed=seed, spread=0.7)
        family = noise_findings(left, law=SHARE, scenario="test", confidence=0.95)
        alarms += any(finding.exceeded for finding in family)
    assert alarms <= 22


def test_rounding_to_the_nearest_is_found_in_four_thousand_integers() -> None:
    assert found(left_over(nearest_then_noise, 4_000)) == {"rounding before noise"}


def test_dithered_rounding_is_found_by_its_variance_in_many_integers_only() -> None:
    """Its error has mean zero given the update: a variance of 1/6 a silo is all there is to see."""
    assert not found(left_over(dithered_then_noise, 2_000))
    assert found(left_over(dithered_then_noise, 400_000)) >= {"variance / planned"}


def test_a_tail_is_counted_on_the_lattice_of_its_own_update() -> None:
    """All updates half a unit above an integer: on the integers' own lattice the tails would be off."""
    size = 1_000_000
    update = np.full(size, 0.5)
    noise = round_with_noise(update.copy(), SHARE, SeededRandom(3)) - update
    law = per_silo(SHARE, 1)

    def tails(fractions: Floats) -> list[NoiseFinding]:
        left = LeftOver(noise.reshape(4, -1), fractions.reshape(4, -1))
        findings = noise_findings(left, law=law, scenario="test", confidence=0.999)
        return [finding for finding in findings if finding.check.startswith("share beyond")]

    assert not any(finding.exceeded for finding in tails(update))
    assert any(finding.exceeded for finding in tails(np.zeros(size)))
