"""Whatever a noisy sum holds, an answer comes, and what it cannot tell it says."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import statistics
from discreet.arrays import Floats
from discreet.statistics import Axis, Column, Row
from discreet.statistics.equations import Link

VARIANCES = st.sampled_from([0.0, 1e-6, 1.0, 100.0, 1e6])
ENTRIES = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 1000.0, 1e-9]), st.floats(-1e5, 1e5, allow_nan=False, width=32)
)
EDGES = [0.0, 1.0, 2.0, math.inf]
CLOSED = [0.0, 1.0, 2.0, 3.0]
LINKS: tuple[Link, ...] = ("cloglog", "logit")
COVARIATES = [statistics.Covariate("x", ("p", "q")), statistics.Covariate("y", ("1", "2", "3"))]
COLUMNS = [Column.ranged("a", 0, 10), Column.indicator("b"), Column.ranged("c", -1, 1)]


def sums(length: int) -> st.SearchStrategy[Floats]:
    some = st.lists(ENTRIES, min_size=length, max_size=length)
    one_cell = st.builds(
        lambda place, entry: np.eye(length)[place] * entry, st.integers(0, length - 1), ENTRIES
    )
    return st.one_of(some.map(np.array), one_cell, st.just(np.zeros(length)))


class _Answered(Protocol):
    def rows(self) -> tuple[Row, ...]: ...


def answers(numbers: Floats, variance: float) -> list[tuple[Row, ...]]:
    """Every answer that 12 numbers can be read as."""
    rng = np.random.default_rng(0)
    moments = statistics.read_moments(numbers[:10], variance, COLUMNS, squared_radius=4.0)
    axes = [Axis("s", ("x", "y")), Axis("t", ("1", "2", "3"))]
    found: list[_Answered] = [
        statistics.count(numbers[:1], variance),
        statistics.table(numbers[:6], variance, axes),
        statistics.independence(numbers[:6], variance, (2, 3), rng=rng, draws=19),
        statistics.summary(moments),
        statistics.regression(moments, "c", ["a", "b"]),
        statistics.regression(moments, "a", []),
        statistics.components(moments, rng=rng, draws=19),
        statistics.components(moments, of="covariance", rng=rng, draws=19),
        statistics.quantiles(numbers, variance, list(range(13)), [0.01, 0.5, 0.99]),
        *(
            statistics.hazards(numbers, variance, edges, [statistics.Covariate("x", ("p", "q"))], link=link)
            for edges in (EDGES, CLOSED)
            for link in LINKS
        ),
        statistics.logistic_regression(numbers, variance, COVARIATES),
        *(statistics.survival(numbers, variance, edges, ["p", "q"]) for edges in (EDGES, CLOSED)),
        *(
            statistics.logrank(numbers, variance, edges, ["p", "q"], rng=rng, draws=19)
            for edges in (EDGES, CLOSED)
        ),
    ]
    return [answer.rows() for answer in found]


@settings(max_examples=200, deadline=None)
@given(numbers=sums(12), variance=VARIANCES)
def test_no_sum_breaks_an_answer_and_what_is_missing_has_a_remark(numbers: Floats, variance: float) -> None:
    for rows in answers(numbers, variance):
        for row in rows:
            parts = (row.value, row.low, row.high)
            assert all(part is None or math.isfinite(part) for part in parts), row
            if row.value is None:
                assert row.remark, row
            if row.value is not None and row.low is not None:
                assert row.low <= row.value, row
            if row.value is not None and row.high is not None:
                assert row.value <= row.high, row


@pytest.mark.parametrize("size", [0.0, 1.0, 10.0])
def test_almost_nobody_under_much_noise_tells_next_to_nothing(size: float) -> None:
    for rows in answers(np.full(12, size), 1e6):
        told = [row for row in rows if row.value is not None and not row.remark]
        assert all("count" in row.name or "total" in row.name or "at risk" in row.name for row in told)
