"""A client that disappears in one round, at any stage, takes part in the next one."""

import numpy as np
import pytest

from discreet.randomness import SeededRandom
from discreet.secagg import Bell, Bonawitz, RoundTerms, SemiHonest, Stage, SumProtocol, SumTerms

TERMS = SumTerms(bytes(32), ("a", "b", "c", "d"), 3, 3, 1, 20, 2, bytes(32))
INPUTS = {client: np.array([number, 1]) for number, client in enumerate(TERMS.clients)}


@pytest.mark.parametrize("protocol", [Bonawitz(), Bonawitz(SemiHonest()), Bell()], ids=lambda p: p.name)
@pytest.mark.parametrize("stage", list(Stage))
@pytest.mark.parametrize("dropped_in", [1, 2])
def test_it_takes_part_again(protocol: SumProtocol, stage: Stage, dropped_in: int) -> None:
    run = protocol.open(TERMS, SeededRandom(0))
    for number in (1, 2, 3):
        dropouts = {"c": stage} if number == dropped_in else {}
        outcome = run.sum_round(RoundTerms(number, number, bytes(32)), INPUTS, dropouts)
        missing = number == dropped_in and not stage.keeps_input
        assert outcome.survivors == (("a", "b", "d") if missing else TERMS.clients)
        assert outcome.total.tolist() == ([4, 3] if missing else [6, 4])
