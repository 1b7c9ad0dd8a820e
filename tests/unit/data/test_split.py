import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.split import test_rows as held_out_rows
from discreet.errors import DataError


@given(st.integers(0, 200), st.integers(0, 50), st.integers(0, 2**32))
def test_adding_records_moves_no_other_record(count: int, more: int, seed: int) -> None:
    before = held_out_rows(count, test_fraction=0.25, split_seed=seed, silo="a")
    after = held_out_rows(count + more, test_fraction=0.25, split_seed=seed, silo="a")
    assert np.array_equal(after[:count], before)


def test_seed_and_silo_change_the_split() -> None:
    splits = {
        held_out_rows(64, test_fraction=0.5, split_seed=seed, silo=silo).tobytes()
        for seed in (0, 1)
        for silo in ("a", "b")
    }
    assert len(splits) == 4


@pytest.mark.statistical
def test_the_fraction_is_met() -> None:
    # Binomial(40000, 0.25): six standard deviations, false alarm 2e-9.
    held_out = held_out_rows(40_000, test_fraction=0.25, split_seed=3, silo="a").sum()
    assert abs(held_out - 10_000) <= 6 * np.sqrt(40_000 * 0.25 * 0.75)


def test_limits_of_the_fraction() -> None:
    assert not held_out_rows(100, test_fraction=0.0, split_seed=0, silo="a").any()
    for bad in (-0.1, 1.0, float("nan")):
        with pytest.raises(DataError, match="test_fraction"):
            held_out_rows(1, test_fraction=bad, split_seed=0, silo="a")
