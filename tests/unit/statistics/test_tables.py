"""Counts, tables and the test of independence: closed forms without noise, and what noise does to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from discreet.quality.intervals import proportion
from discreet.statistics import Axis, count, independence, table
from discreet.statistics.inversion import not_rejected

SEX = Axis("sex", ("f", "m"))
STAGE = Axis("stage", ("1", "2", "other or missing"))
EXACT = np.array([10.0, 20.0, 30.0, 5.0, 25.0, 10.0])


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_a_count_reaches_196_deviations_to_each_side() -> None:
    found = count(np.array([1000.0]), 25.0).number
    assert found.value == 1000
    assert [found.low, found.high] == pytest.approx([1000 - 5 * 1.959964, 1000 + 5 * 1.959964])


def test_a_level_is_kept() -> None:
    found = count(np.array([1000.0]), 25.0, level=0.9).number
    assert found.high - 1000 == pytest.approx(5 * 1.644854)


def test_a_count_below_zero_is_zero_with_an_interval() -> None:
    found = count(np.array([-50.0]), 25.0).number
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(5 * 1.959964)


def test_a_level_must_be_a_probability() -> None:
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        count(np.array([1.0]), 1.0, level=95)


def test_without_noise_cells_are_exact_and_shares_are_wilsons() -> None:
    found = table(EXACT, 0.0, [SEX, STAGE])
    assert [cell.count.value for cell in found.cells] == EXACT.tolist()
    assert [cell.count.high for cell in found.cells] == EXACT.tolist()
    for cell, expected in zip(found.cells, EXACT, strict=True):
        assert cell.share is not None
        assert list(cell.share) == pytest.approx(list(proportion(expected, 100)))


def test_margins_and_total_sum_the_cells_and_their_noise() -> None:
    found = table(EXACT, 4.0, [SEX, STAGE])
    assert [cell.count.value for cell in found.margins[0]] == [60, 40]
    assert [cell.count.value for cell in found.margins[1]] == [15, 45, 40]
    half = 1.959964 * 2
    assert found.margins[0][0].count.high == pytest.approx(60 + half * math.sqrt(3))
    assert found.margins[1][0].count.high == pytest.approx(15 + half * math.sqrt(2))
    assert found.total.high == pytest.approx(100 + half * math.sqrt(6))


def test_one_axis_has_no_margins() -> None:
    assert table(np.array([3.0, 4.0]), 1.0, [SEX]).margins == ()


def test_rows_name_cells_by_their_labels() -> None:
    rows = {row.name: row for row in table(EXACT, 4.0, [SEX, STAGE]).rows()}
    assert rows["sex=f, stage=2: count"].value == 20
    assert rows["stage=other or missing: share"].value == pytest.approx(0.4)
    assert rows["total"].value == 100


def test_the_interval_of_a_share_has_the_noise_of_cell_and_total() -> None:
    """The ends are the shares p at which cell − p·total lies 1.96 standard errors from 0, noise included."""
    noisy = np.array([300.0, 500.0, 200.0])
    share = table(noisy, 100.0, [STAGE]).cells[0].share
    assert share is not None
    for end in (share.low, share.high):
        variance = 1000 * end * (1 - end) + 100 * ((1 - end) ** 2 + 2 * end**2)
        assert (300 - end * 1000) ** 2 == pytest.approx(1.959964**2 * variance, rel=1e-5)


def test_shares_of_a_hidden_total_cannot_be_told() -> None:
    found = table(np.array([3.0, -2.0, 5.0]), 100.0, [STAGE])
    assert {cell.share for cell in found.cells} == {None}
    assert "cannot be told" in found.rows()[2].remark


def test_fieller_is_unbounded_where_the_bottom_may_be_zero() -> None:
    assert not_rejected(1.0, 1.9, 1.96, curvature=(1.0, 0.0, 1.0)) is None
    assert not_rejected(1.0, 2.0, 1.96, curvature=(1.0, 0.0, 1.0)) is not None


def test_without_noise_cramers_v_and_the_p_value_are_pearsons() -> None:
    exact = EXACT.reshape(2, 3).astype(int)
    found = independence(EXACT, 0.0, (2, 3), rng=seeded(), draws=20_000)
    assert found.cramers_v == pytest.approx(scipy.stats.contingency.association(exact))
    expected = scipy.stats.chi2_contingency(exact, correction=False).pvalue
    assert found.p_value == pytest.approx(expected, abs=0.0015)


def test_the_same_seed_gives_the_same_p_value() -> None:
    assert independence(EXACT, 9.0, (2, 3), rng=seeded(5)) == independence(EXACT, 9.0, (2, 3), rng=seeded(5))


def test_noise_is_part_of_the_null_hypothesis() -> None:
    """Noise alone makes Pearson's statistic large; a test that forgets it rejects nearly always."""
    rejected, naive = 0, 0
    for seed in range(200):
        rng = seeded(seed)
        drawn = rng.multinomial(1000, np.outer([0.5, 0.5], [0.6, 0.3, 0.1]).ravel()) + rng.normal(0, 25, 6)
        p_value = independence(drawn, 625.0, (2, 3), rng=rng, draws=199).p_value
        blind = independence(drawn, 1e-9, (2, 3), rng=rng, draws=199).p_value
        assert p_value is not None
        assert blind is not None
        rejected, naive = rejected + (p_value <= 0.05), naive + (blind <= 0.05)
    # 22 of Bin(200, 0.05) are exceeded with probability 2e-4.
    assert rejected <= 22
    assert naive > 100


def test_an_association_is_found_through_noise() -> None:
    noisy = np.array([400.0, 100.0, 100.0, 400.0]) + seeded(1).normal(0, 10, 4)
    found = independence(noisy, 100.0, (2, 2), rng=seeded())
    assert found.p_value == 1 / 2000
    assert found.cramers_v == pytest.approx(0.6, abs=0.06)


def test_cramers_v_has_the_noise_taken_off() -> None:
    shares = np.outer([0.5, 0.5], [0.4, 0.3, 0.3]).ravel()
    squares = []
    for seed in range(400):
        noisy = 10_000 * shares + seeded(seed).normal(0, 50, 6)
        found = independence(noisy, 2500.0, (2, 3), rng=seeded(seed), draws=1).cramers_v
        assert found is not None
        squares.append(found**2)
    # Of the noise alone it would be 2 degrees · 2500 · about 6/10,000, over n; half of it is clipped at 0.
    assert np.mean(squares) < 0.5 * 2 * 2500 * 6 / 10_000 / 10_000


@pytest.mark.parametrize("shape", [(1, 6), (6, 1)])
def test_one_category_has_nothing_to_be_independent_of(shape: tuple[int, int]) -> None:
    found = independence(EXACT, 1.0, shape, rng=seeded())
    assert (found.p_value, found.cramers_v) == (None, None)
    assert all("cannot be told" in row.remark for row in found.rows())
