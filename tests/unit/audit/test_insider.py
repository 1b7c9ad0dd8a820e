"""The insider knows, to the bit, what the silos of a rehearsal added up."""

from __future__ import annotations

import pytest

from discreet.audit.rehearsal import rehearse
from discreet.engines.local import Prepared
from discreet.randomness import SeededRandom


@pytest.mark.parametrize("name", ["heart", "sampled", "clients", "noise_first"])
def test_nothing_is_left_of_a_sum_once_every_share_of_noise_is_told(
    name: str, request: pytest.FixtureRequest
) -> None:
    prepared: Prepared = request.getfixturevalue(name)
    rehearsal = rehearse(prepared, SeededRandom(3), known=prepared.federation)
    for step in rehearsal.steps:
        survivors = step.outcome.survivors
        left = rehearsal.insider.left_over(step.order, step.outcome, colluders=survivors)
        assert not left.noise.any()
        honest = rehearsal.insider.left_over(step.order, step.outcome, colluders=survivors[1:])
        assert honest.noise.any()
        assert honest.fractions.any() == prepared.plan.grid.noise_first
