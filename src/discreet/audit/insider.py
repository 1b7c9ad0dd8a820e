"""The strongest adversary of a rehearsal: it knows every record and every coin but the honest noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import nn

from discreet.audit.training import rehearsed_training
from discreet.data import Federation
from discreet.encoding import encode, from_ring, to_ring
from discreet.errors import ConfigurationError
from discreet.mechanisms import sample_share
from discreet.plan import Plan
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum, round_rotation

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Insider:
    """Recomputes what the silos of a seeded rehearsal added up, share by share.

    It names the same streams as `LocalEngine` and `contribute` do; were it to name others, what it leaves
    over would not follow the planned noise law, and the noise audit would say so.

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
        """
        if self.plan.grid.noise_first:
            raise ConfigurationError(
                "'aggregation.noise_first' must be false for an audit, which takes rounded updates off sums; "
                "got true. Audit the config without it: all else that is audited is the same."
            )
        total = np.zeros(self.plan.facts.dimension, dtype=np.int64)
        rotation = round_rotation(self.plan, order.sequence)
        for name in silos:
            source = self._source(order, name)
            training = rehearsed_training(self.plan, self.model, name)
            records = self.federation.silo(name).train
            update = training.update(self.model, order.parameters, records, source.derive("training"))
            total += encode(update.vector, self.plan.grid, source.derive("dither"), rotation)
        return total

    def noise(self, order: RoundOrder, silos: Iterable[str]) -> Integers:
        """Returns the sum of the noise shares of ``silos``: what colluders tell the server."""
        total = np.zeros(self.plan.facts.dimension, dtype=np.int64)
        for name in silos:
            share = self._source(order, name).derive("noise")
            total += sample_share(self.plan.release.share, len(total), share)
        return total

    def left_over(self, order: RoundOrder, outcome: RoundSum, *, colluders: Iterable[str] = ()) -> Integers:
        """Returns the sum minus everything known: honest noise and canaries, centred, grid units."""
        known = self.contributions(order, outcome.survivors) + self.noise(order, colluders)
        bits = self.plan.grid.bits
        return from_ring(outcome.total - to_ring(known, bits), bits)

    def _source(self, order: RoundOrder, name: str) -> SeededRandom:
        return self.randomness.derive("release", order.sequence, "silo", name)
