"""The local-state attack with the production code: `NoisySteps`, integer noise, one exact integer sum."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from discreet.audit.local_state import CraftedFederation
from discreet.audit.membership import AttackRates
from discreet.data import Records
from discreet.encoding import GridRequest, plan_grid
from discreet.kinds import NoisySteps
from discreet.learning import StepNoise, noisy_update
from discreet.learning.clipping.per_record import PerRecordFallbackWarning
from discreet.mechanisms import NoiseFamily, law_for, sample_share
from discreet.randomness import SeededRandom

_CLIP = 0.1
_STEPS = 2
_GATE_WIDTHS = 15.0
_KIND = NoisySteps(clip_norm=_CLIP, rates=(Fraction(1),) * _STEPS)

Floats = npt.NDArray[np.float64]


def play(federation: CraftedFederation, trials: int, randomness: SeededRandom) -> AttackRates:
    """Plays the same round with the production code: `NoisySteps`, integer noise, one exact integer sum."""
    grid = plan_grid(
        GridRequest(
            l2_sensitivity=_KIND.l2_sensitivity(),
            silo_bound=(federation.amplifiers + 1) * _KIND.l2_sensitivity(),
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
            noisy_update(_KIND, model, start, records, source.derive(trial), noise=noise).combined
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
