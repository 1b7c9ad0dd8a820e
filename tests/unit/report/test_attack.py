from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from discreet.privacy.tradeoff import GaussianTradeoff, PiecewiseTradeoff
from discreet.report.attack import QUOTED_RATES, attack_bound


def test_the_table_is_that_of_the_neyman_pearson_test() -> None:
    # Telling N(0, 1) from N(μ, 1): TPR = Φ(Φ⁻¹(FPR) + μ); advantage 2Φ(μ/2) − 1.
    bound = attack_bound(GaussianTradeoff(1.5))
    assert tuple(point.false_positive_rate for point in bound.table) == QUOTED_RATES
    for point in (*bound.table, *bound.curve[:-1]):
        expected = norm.cdf(norm.ppf(point.false_positive_rate) + 1.5)
        assert point.max_true_positive_rate == pytest.approx(expected, rel=1e-9)
    assert bound.max_advantage == pytest.approx(2 * norm.cdf(0.75) - 1, rel=1e-9)


@given(st.floats(0.01, 5.0))
def test_the_curve_rises_from_the_smallest_rate_to_one(mu: float) -> None:
    curve = attack_bound(GaussianTradeoff(mu)).curve
    assert curve[0].false_positive_rate == pytest.approx(0.001)
    assert curve[-1].false_positive_rate == 1.0
    assert curve[-1].max_true_positive_rate == pytest.approx(1.0)
    for before, after in pairwise(curve):
        assert after.false_positive_rate > before.false_positive_rate
        assert after.max_true_positive_rate >= before.max_true_positive_rate
    assert all(p.false_positive_rate - 1e-12 <= p.max_true_positive_rate <= 1.0 for p in curve)


def test_a_single_pair_gives_the_two_lines() -> None:
    bound = attack_bound(PiecewiseTradeoff(((1.0, 1e-5),)))
    assert bound.table[1].max_true_positive_rate == pytest.approx(2.718281828 * 0.01 + 1e-5)
