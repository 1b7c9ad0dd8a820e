r"""The local-state attack: several noisy local steps leak more than the summed noise suggests.

One round of two local steps (docs/claims.md). Parameters (a, b). The target record's gradient lies along a in
every step; the silo's other records have no gradient until the *local* a has moved by more than
``trigger``·γC, and then +C along b. The silo's own noise is all that hides the first step from the second,
and the second step shouts: B·C along b in the released sum. So the released b tells what the local guarantee
allows and not what the summed noise would.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import ndtr
from torch import nn

from discreet.accounting import epsilon
from discreet.audit.membership import AttackRates
from discreet.data import Records
from discreet.encoding import GridRequest, plan_grid
from discreet.errors import ConfigurationError
from discreet.learning import NoisySteps, StepNoise
from discreet.learning.clipping.per_record import PerRecordFallbackWarning
from discreet.mechanisms import NoiseFamily, law_for, sample_share
from discreet.privacy.events import GaussianNoise, Release, Repeated
from discreet.randomness import SeededRandom

_CLIP = 0.1
_STEPS = 2
_GATE_WIDTHS = 15.0
_KIND = NoisySteps(clip_norm=_CLIP, rates=(Fraction(1),) * _STEPS)

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CraftedFederation:
    """A federation in which one silo's second step betrays its first.

    Attributes:
        num_silos: N, all honest, all adding the same noise.
        noise_multiplier: z, summed noise deviation per step ÷ clip norm; each silo adds z/√N.
        trigger: how far the local a must move for the others to answer, in units of γC; larger triggers
            make false alarms rarer.
        amplifiers: B, the silo's other records.
    """

    num_silos: int
    noise_multiplier: float
    trigger: float = 0.5
    amplifiers: int = 64

    def __post_init__(self) -> None:
        if not (self.num_silos >= 1 and self.amplifiers >= 1 and self.noise_multiplier > 0.0 < self.trigger):
            raise ConfigurationError(
                "a crafted federation needs num_silos, amplifiers >= 1, noise_multiplier, trigger > 0; got "
                f"{self.num_silos}, {self.amplifiers}, {self.noise_multiplier}, {self.trigger}."
            )

    @property
    def local_noise_multiplier(self) -> float:
        """z/√N, the only noise between the target and the silo's second step."""
        return self.noise_multiplier / math.sqrt(self.num_silos)

    def claimed_epsilon(self, delta: float) -> float:
        """Returns the CONDITIONAL claim: two steps at the summed noise (Heikkilä 2025, Theorem 4.6)."""
        return _two_steps(self.noise_multiplier, delta)

    def local_epsilon(self, delta: float) -> float:
        """Returns the PROVEN claim: two steps at the silo's own noise."""
        return _two_steps(self.local_noise_multiplier, delta)

    def exact_rates(self) -> tuple[float, float]:
        """Returns (FPR, TPR) of the test "released b beyond half the shout", for real Gaussian noise."""
        local = self.local_noise_multiplier
        alarm, hit = (float(ndtr((moved - self.trigger) / local)) for moved in (0.0, 1.0))
        heard = float(ndtr(self.amplifiers / 2.0 / (math.sqrt(_STEPS) * self.noise_multiplier)))
        false_positives, true_positives = (p * heard + (1.0 - p) * (1.0 - heard) for p in (alarm, hit))
        return false_positives, true_positives


def simulate(federation: CraftedFederation, trials: int, randomness: SeededRandom) -> AttackRates:
    """Plays the round ``trials`` times in each world with vectorised Gaussian noise, C = γ = 1."""
    generator = np.random.Generator(np.random.PCG64(int(randomness.words(1)[0])))
    counts = []
    for target in (0.0, 1.0):
        first = generator.normal(target, federation.local_noise_multiplier, trials)
        shouts = federation.amplifiers * (first > federation.trigger)
        noise = math.sqrt(_STEPS) * federation.noise_multiplier
        released = shouts + generator.normal(0.0, noise, trials)
        counts.append(int((released > federation.amplifiers / 2.0).sum()))
    return AttackRates(counts[0], counts[1], trials)


def play(federation: CraftedFederation, trials: int, randomness: SeededRandom) -> AttackRates:
    """Plays the same round with the production code: `NoisySteps`, integer noise, one exact integer sum."""
    grid = plan_grid(
        GridRequest(
            l2_sensitivity=_KIND.step_sensitivity(),
            silo_bound=(federation.amplifiers + 1) * _KIND.step_sensitivity(),
            num_silos=federation.num_silos,
            dimension=2,
            rounds=1,
            noise_multiplier=federation.noise_multiplier,
            min_stddev=100.0 * math.sqrt(federation.num_silos),
        )
    )
    deviation = federation.noise_multiplier * _CLIP * grid.scale
    law = law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=deviation**2, num_silos=federation.num_silos)
    noise = StepNoise(grid, law)
    others = _others_noise(federation, noise, trials, randomness.derive("other silos"))
    threshold = -federation.amplifiers * _CLIP * grid.scale / 2.0
    counts = []
    for world, records in enumerate(_worlds(federation)):
        source = randomness.derive("world", world)
        released = others[world] + _target_silo(federation, records, noise, trials, source)
        # Gradients are summed, and a loss that falls along +b has a negative gradient there.
        counts.append(int((released[:, 1] < threshold).sum()))
    return AttackRates(counts[0], counts[1], trials)


class Betrayer(nn.Module):
    """z = x₀·a + x₁·gate(a)·b, where the gate is 0 around a = 0 and 2 beyond ``trigger``."""

    def __init__(self, trigger: float) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.zeros(2))
        self._trigger = trigger
        self._width = trigger / _GATE_WIDTHS

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns one logit a record, shape ``(n, 1)``."""
        moved, answer = self.place[0], self.place[1]
        opened = torch.tanh((moved - self._trigger) / self._width)
        # The second wall stands far on the other side, where noise does not reach.
        closed = torch.tanh((moved + 1e3 * self._trigger) / self._width)
        logits = features[:, 0] * moved + features[:, 1] * (opened + closed) * answer
        return logits[:, None]


def _worlds(federation: CraftedFederation) -> tuple[Records, Records]:
    """Returns the silo without and with the target record."""
    amplifiers = np.tile(np.array([[0.0, 1.0]], np.float32), (federation.amplifiers, 1))
    target = np.array([[1.0, 0.0]], np.float32)
    features = np.concatenate([amplifiers, target])
    labels = np.ones(len(features), np.int64)
    return Records(amplifiers, labels[:-1]), Records(features, labels)


def _target_silo(
    federation: CraftedFederation, records: Records, noise: StepNoise, trials: int, source: SeededRandom
) -> Floats:
    """Returns the target silo's messages, shape ``(trials, 2)``, grid units."""
    start, model = np.zeros(2), Betrayer(_CLIP * federation.trigger)
    with warnings.catch_warnings():
        # The crafted layer is meant to be unlike any other; nobody waits for it.
        warnings.simplefilter("ignore", PerRecordFallbackWarning)
        rows = [
            _KIND.update(model, start, records, noise, source.derive(trial)).combined
            for trial in range(trials)
        ]
    return np.stack(rows).astype(np.float64)


def _others_noise(
    federation: CraftedFederation, noise: StepNoise, trials: int, source: SeededRandom
) -> list[Floats]:
    """Returns what all other silos add in both worlds: noise in every step, and nothing else."""
    worlds = []
    for world in range(2):
        total = np.zeros((trials, 2))
        for silo in range(federation.num_silos - 1):
            share = sample_share(noise.law, trials * 2 * _STEPS, source.derive(world, silo))
            total += share.reshape(trials, 2, _STEPS).sum(axis=2)
        worlds.append(total)
    return worlds


def _two_steps(noise_multiplier: float, delta: float) -> float:
    step = Release(GaussianNoise(noise_multiplier), 1.0, dimension=2)
    return epsilon(Repeated(step, _STEPS), delta=delta).epsilon
