"""The interface that engines build on: every protocol equals the oracle, or refuses."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import secagg
from discreet.randomness import SeededRandom
from discreet.secagg import Bell, Bonawitz, Ideal, Malicious, RoundTerms, SemiHonest, Stage, SumTerms

SILOS = ("cleveland", "hungary", "long-beach", "switzerland")


def four_silos(bits: int = 20, length: int = 37) -> SumTerms:
    return SumTerms(bytes(32), SILOS, 3, 3, 1, bits, length, bytes(range(32)))


@pytest.mark.parametrize(
    "protocol",
    [
        Bonawitz(),
        Bonawitz(SemiHonest()),
        Bonawitz(SemiHonest(one_phase=True)),
        Bell(),
        Bell(SemiHonest()),
        Bonawitz(Malicious(), rounds_per_setup=1),
    ],
)
@pytest.mark.parametrize("stage", [None, *Stage])
def test_four_silos_sum_like_the_oracle_wherever_one_drops_out(
    protocol: Bell | Bonawitz, stage: Stage | None
) -> None:
    terms = four_silos()
    real, oracle = protocol.open(terms, SeededRandom(1)), Ideal().open(terms, SeededRandom(1))
    inputs_source = SeededRandom(2)
    dropouts = {} if stage is None else {"hungary": stage}
    for index in range(3):
        inputs = {silo: inputs_source.integers_below(37, 1 << 20) - (1 << 19) for silo in SILOS}
        round_terms = RoundTerms(index, 0, bytes([index]) * 32)
        got = real.sum_round(round_terms, inputs, dropouts)
        expected = oracle.sum_round(round_terms, inputs, dropouts)
        assert np.array_equal(got.total, expected.total)
        assert got.survivors == expected.survivors
        assert ("hungary" in got.survivors) == (stage is None or stage.keeps_input)


def test_everything_in_all_exists_and_is_sorted() -> None:
    assert sorted(secagg.__all__) == secagg.__all__
    assert all(hasattr(secagg, name) for name in secagg.__all__)
