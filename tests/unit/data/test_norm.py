import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from discreet.data import scale_to_norm, with_constant
from discreet.errors import DataError

rows = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 9)),
    elements=st.floats(-1e300, 1e300, allow_nan=False),
)


def exact_square(row: npt.NDArray[np.float32]) -> Fraction:
    return sum((Fraction(float(x)) ** 2 for x in row), Fraction(0))


@given(rows, st.floats(1e-3, 1e3))
def test_the_exact_norm_of_every_float32_row_is_just_below_the_bound(
    features: npt.NDArray[np.float64], bound: float
) -> None:
    scaled = scale_to_norm(with_constant(features), bound)
    low = Fraction(bound) * (1 - Fraction(1, 2**21))
    for row in scaled:
        assert low**2 <= exact_square(row) <= Fraction(bound) ** 2


@given(rows)
def test_a_row_does_not_depend_on_the_others(features: npt.NDArray[np.float64]) -> None:
    together = scale_to_norm(with_constant(features), 1.0)
    for number in range(len(features)):
        alone = scale_to_norm(with_constant(features[number : number + 1]), 1.0)
        assert np.array_equal(alone[0], together[number])


def test_direction_is_kept() -> None:
    scaled = scale_to_norm(np.array([[3.0, -4.0], [30.0, -40.0]]), 10.0)
    assert np.allclose(scaled, [[6.0, -8.0]] * 2, rtol=1e-6)


def test_zero_rows_and_bad_bounds_are_refused() -> None:
    with pytest.raises(DataError, match="1 of 2 records are not"):
        scale_to_norm(np.array([[0.0, 0.0], [1.0, 0.0]]), 1.0)
    with pytest.raises(DataError, match="1 of 1 records are not"):
        scale_to_norm(np.array([[math.nan, 1.0]]), 1.0)
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(DataError, match="norm bound must be from"):
            scale_to_norm(np.ones((1, 2)), bad)


def test_the_constant_is_the_last_feature_of_a_flat_record() -> None:
    assert with_constant(np.zeros((2, 3, 3))).tolist() == [[0.0] * 9 + [1.0]] * 2
