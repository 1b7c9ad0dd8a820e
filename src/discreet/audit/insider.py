"""The strongest adversary of a rehearsal: it knows every record and every coin but the honest noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.audit.training import inseparable_noise
from discreet.data import Federation
from discreet.encoding import from_ring, noise_integers, signal_integers, to_ring
from discreet.errors import ConfigurationError
from discreet.learning import NoisyUpdate
from discreet.plan import Plan
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum, round_rotation, silo_source, train_silo

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Insider:
    """Recomputes what the silos of a seeded rehearsal added up, share by share.

    It takes the steps that `contribute` takes, from the same sources, but keeps signal and noise apart.

    Attributes:
        plan: the agreement.
        federation: the records that the adversary knows; canaries are not among them.
        model: the architecture; scratch space.
        randomness: the source that the engine was given.
    """

    plan: Plan
    federation: Federation
    model: nn.Module
    randomness: SeededRandom

    def contributions(self, order: RoundOrder, silos: Iterable[str]) -> Integers:
        """Returns the sum of the rounded updates of ``silos`` without noise, shape ``(d,)``, grid units.

        Raises:
            ConfigurationError: if noise comes before rounding, so that there are no integers without it.
            UnsupportedAnalysisError: for noisy-steps, whose noise is inside the steps.
        """
        if self.plan.grid.noise_first:
            raise ConfigurationError(
                "'aggregation.noise_first' must be false for an audit, which takes rounded updates off sums; "
                "got true. Audit the config without it: all else that is audited is the same."
            )
        total = np.zeros(self.plan.facts.dimension, dtype=np.int64)
        rotation = round_rotation(self.plan, order.sequence)
        for name in silos:
            source = silo_source(self.randomness, order.sequence, name)
            update = train_silo(
                self.plan,
                name,
                model=self.model,
                parameters=order.parameters,
                records=self.federation.silo(name).train,
                randomness=source,
            )
            if isinstance(update, NoisyUpdate):
                raise inseparable_noise()
            total += signal_integers(update.vector, self.plan.grid, source, rotation)
        return total

    def noise(self, order: RoundOrder, silos: Iterable[str]) -> Integers:
        """Returns the sum of the noise shares of ``silos``: what colluders tell the server."""
        total = np.zeros(self.plan.facts.dimension, dtype=np.int64)
        for name in silos:
            source = silo_source(self.randomness, order.sequence, name)
            total += noise_integers(self.plan.release.share, len(total), source)
        return total

    def left_over(self, order: RoundOrder, outcome: RoundSum, *, colluders: Iterable[str] = ()) -> Integers:
        """Returns the sum minus everything known: honest noise and canaries, centred, grid units."""
        known = self.contributions(order, outcome.survivors) + self.noise(order, colluders)
        bits = self.plan.grid.bits
        return from_ring(outcome.total - to_ring(known, bits), bits)
