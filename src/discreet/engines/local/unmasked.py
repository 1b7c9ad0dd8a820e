"""Adding up in public, where every silo's message is seen and protected by its own noise."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import final

import numpy as np

from discreet.encoding import Grid
from discreet.errors import NotEnoughSurvivors
from discreet.secagg import RoundTerms, Stage, SumOutcome
from discreet.secagg.codes import AbortCode
from discreet.secagg.invitations import NO_DROPOUTS
from discreet.secagg.packing import packed_size
from discreet.secagg.ring import InputVector, to_ring, to_total, word_type


@final
class UnmaskedRun:
    """A `SumRun` that hides nothing and needs nobody: one message is enough.

    Args:
        grid: the integers that travel.
        context: digest that binds the plan.
    """

    def __init__(self, grid: Grid, context: bytes) -> None:
        self._grid = grid
        self._context = context

    def sum_round(
        self,
        round_terms: RoundTerms,
        inputs: Mapping[str, InputVector],
        dropouts: Mapping[str, Stage] = NO_DROPOUTS,
    ) -> SumOutcome:
        """Sums what was not lost on its way.

        Raises:
            NotEnoughSurvivors: if every message was lost.
        """
        grid = self._grid
        arrived = tuple(name for name in inputs if name not in dropouts or dropouts[name].keeps_input)
        if not arrived:
            raise NotEnoughSurvivors(
                AbortCode.TOO_FEW, f"sum {round_terms.round_index}: no message of a silo arrived."
            )
        total = np.zeros(grid.dimension, dtype=word_type(grid.bits))
        for name in arrived:
            total += to_ring(inputs[name], grid.bits, grid.dimension)
        size = packed_size(grid.dimension, grid.bits)
        names = "\0".join(arrived).encode()
        return SumOutcome(
            total=to_total(total, grid.bits),
            survivors=arrived,
            transcript=hashlib.sha256(self._context + round_terms.body() + names).digest(),
            bytes_per_client=size,
        )
