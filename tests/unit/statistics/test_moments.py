"""Means, deviations, correlations, components and regressions against numpy and scipy on the records."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from discreet.arrays import Floats
from discreet.statistics import Column, Moments, components, read_moments, regression, summary

COLUMNS = [Column.ranged("age", 20, 80), Column.indicator("smokes"), Column.ranged("dose", -5, 15)]
OWN = np.random.default_rng(3)
AGE = OWN.uniform(20, 80, 400)
SMOKES = (OWN.random(400) < 0.3).astype(float)
DOSE = np.clip(0.1 * AGE - 2 * SMOKES + OWN.normal(0, 1, 400), -5, 15)
RECORDS = np.column_stack([AGE, SMOKES, DOSE])
RADIUS = 4.0


def block(records: Floats = RECORDS) -> Floats:
    """The exact block of records in own units."""
    scaled = (records - [column.center for column in COLUMNS]) / [column.half for column in COLUMNS]
    x = np.column_stack([np.ones(len(records)), scaled])
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    parts = [*(x[:, i] ** 2 for i in range(4)), *(math.sqrt(2) * x[:, i] * x[:, j] for i, j in pairs)]
    return np.array([part.sum() for part in parts]) / RADIUS


def exact(variance: float = 0.0) -> Moments:
    return read_moments(block(), variance, COLUMNS, squared_radius=RADIUS)


def test_a_blocks_norm_is_that_of_x_squared() -> None:
    one = block(RECORDS[:1]) * RADIUS
    scaled = (RECORDS[0] - [column.center for column in COLUMNS]) / [column.half for column in COLUMNS]
    assert np.linalg.norm(one) == pytest.approx(1 + scaled @ scaled)


def test_without_noise_moments_are_those_of_the_records() -> None:
    found = summary(exact())
    assert list(found.units) == [400, 400, 400]
    assert [mean.value for mean in found.means if mean] == pytest.approx(RECORDS.mean(axis=0))
    assert [one.value for one in found.deviations if one] == pytest.approx(RECORDS.std(axis=0))
    correlation = found.correlations["age", "dose"]
    assert correlation is not None
    assert correlation.value == pytest.approx(np.corrcoef(AGE, DOSE)[0, 1])


def test_a_deviation_of_zero_says_that_noise_hides_the_spread() -> None:
    sums = block()
    sums[2] = sums[0] * 1e-3  # the noise of a square brought the variance below 0
    rows = {row.name: row for row in summary(read_moments(sums, 1e-6, COLUMNS, squared_radius=RADIUS)).rows()}
    told = {name: row.remark for name, row in rows.items() if name.endswith("deviation")}
    assert sum(row.value == 0.0 for row in rows.values()) == 1
    hidden = "no spread stands out from the noise"
    assert {name for name, words in told.items() if words == hidden} == {
        name for name in told if rows[name].value == 0.0
    }


def test_without_noise_the_interval_of_a_mean_is_the_normal_one() -> None:
    mean = summary(exact()).means[0]
    assert mean is not None
    assert mean.high - mean.value == pytest.approx(1.959964 * AGE.std() / 20)
    assert mean.value - mean.low == pytest.approx(1.959964 * AGE.std() / 20)


def test_the_law_of_the_noise_of_a_mean_is_that_of_the_layout() -> None:
    """At an end, S_0j − μ·n lies 1.96 deviations from 0, the noise of both entries included."""
    moments = exact(variance=4.0)
    assert moments.variance == 4.0 * RADIUS**2
    mean = summary(moments).means[0]
    assert mean is not None
    t = (AGE - 50) / 30
    for end in ((mean.low - 50) / 30, (mean.high - 50) / 30):
        variance = 400 * t.var() + RADIUS**2 * 4 * (0.5 + end**2)
        assert (t.sum() - end * 400) ** 2 == pytest.approx(1.959964**2 * variance, rel=1e-5)


def test_noise_of_blocks_has_the_law_that_the_formulas_use() -> None:
    rng = np.random.default_rng(0)
    drawn = [
        read_moments(rng.normal(0, 3, 10), 9.0, COLUMNS, squared_radius=RADIUS).matrix for _ in range(4000)
    ]
    spreads = np.var(drawn, axis=0)
    expected = np.where(np.eye(4) == 1, 9 * RADIUS**2, 9 * RADIUS**2 / 2)
    # The relative standard error of a variance of 4,000 is 2.2 %.
    assert spreads == pytest.approx(expected, rel=0.1)


@pytest.fixture(scope="module")
def fitted() -> tuple[Floats, Floats, float]:
    """Coefficients, standard errors and R² of the records, by the textbook, errors divided by n."""
    x = np.column_stack([np.ones(400), AGE, SMOKES])
    theta = np.linalg.solve(x.T @ x, x.T @ DOSE)
    residuals = DOSE - x @ theta
    errors = np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * (residuals @ residuals) / 400)
    return theta, errors, float(1 - residuals.var() / DOSE.var())


def test_without_noise_a_regression_is_least_squares(fitted: tuple[Floats, Floats, float]) -> None:
    theta, errors, explained = fitted
    found = regression(exact(), "dose", ["age", "smokes"])
    assert [one.name for one in found.coefficients] == ["intercept", "age", "smokes"]
    assert [one.value.value for one in found.coefficients] == pytest.approx(theta)
    assert [one.standard_error for one in found.coefficients] == pytest.approx(errors)
    assert [one.value.high for one in found.coefficients] == pytest.approx(theta + 1.959964 * errors)
    p_values = 2 * scipy.stats.norm.sf(np.abs(theta / errors))
    assert [one.p_value for one in found.coefficients] == pytest.approx(p_values)
    assert found.explained is not None
    assert found.explained.value == pytest.approx(explained)
    assert found.ridge == 0


def test_standard_errors_hold_the_noise() -> None:
    """They agree with the spread of the coefficients over releases of the same records."""
    sigma, drawn, rng = 0.6, [], np.random.default_rng(7)
    for _ in range(2000):
        noisy = block() + rng.normal(0, sigma, 10)
        moments = read_moments(noisy, sigma**2, COLUMNS, squared_radius=RADIUS)
        drawn.append([one.value.value for one in regression(moments, "dose", ["age", "smokes"]).coefficients])
    whole = [
        one.standard_error for one in regression(exact(sigma**2), "dose", ["age", "smokes"]).coefficients
    ]
    sampling = [one.standard_error for one in regression(exact(), "dose", ["age", "smokes"]).coefficients]
    noise = [
        math.sqrt((one or 0) ** 2 - (other or 0) ** 2) for one, other in zip(whole, sampling, strict=True)
    ]
    assert noise == pytest.approx(np.std(drawn, axis=0), rel=0.08)


def test_a_regression_on_nothing_is_the_mean() -> None:
    moments = exact(variance=4.0)
    (intercept,) = regression(moments, "age", []).coefficients
    mean = summary(moments).means[0]
    assert mean is not None
    assert list(intercept.value) == pytest.approx(list(mean))


def test_predictors_that_hang_together_are_not_told_apart() -> None:
    doubled = RECORDS.copy()
    doubled[:, 2] = (AGE - 50) / 30 * 10 + 5
    moments = read_moments(block(doubled), 0.0, COLUMNS, squared_radius=RADIUS)
    found = regression(moments, "smokes", ["age", "dose"])
    assert all(math.isinf(one.value.high) and one.p_value is None for one in found.coefficients)
    assert any("cannot be told" in row.remark for row in found.rows())


def test_where_noise_hides_the_predictors_a_ridge_is_used_and_said() -> None:
    rng = np.random.default_rng(1)
    moments = read_moments(block() + rng.normal(0, 40, 10), 1600.0, COLUMNS, squared_radius=RADIUS)
    hidden = Moments(moments.columns, moments.matrix + np.diag([1000.0, 0, 0, 0]), moments.variance)
    found = regression(hidden, "dose", ["age", "smokes"])
    assert found.ridge > 0
    told = {row.name: row.remark for row in found.rows()}
    assert "ridge" not in told
    assert all(f"shrunk by a ridge of {found.ridge:.3g}" in told[one.name] for one in found.coefficients)
    assert all(math.isfinite(one.value.value) for one in found.coefficients)


def test_an_unknown_column_is_an_error() -> None:
    with pytest.raises(ValueError, match="height"):
        regression(exact(), "height", ["age"])


def test_without_noise_components_are_those_of_the_correlations() -> None:
    found = components(exact(), rng=np.random.default_rng(0))
    values, vectors = np.linalg.eigh(np.corrcoef(RECORDS.T))
    assert [one.explained.value for one in found.components] == pytest.approx(values[::-1] / 3)
    for one, vector in zip(found.components, vectors.T[::-1], strict=True):
        assert abs(np.dot(one.loadings, vector)) == pytest.approx(1)
        assert max(one.loadings, key=abs) > 0


def test_components_of_covariances_are_in_own_units() -> None:
    found = components(exact(), of="covariance", rng=np.random.default_rng(0))
    values = np.linalg.eigvalsh(np.cov(RECORDS.T, bias=True))[::-1]
    assert [one.explained.value for one in found.components] == pytest.approx(values / values.sum())


def test_noise_widens_the_intervals_of_components() -> None:
    widths = []
    for variance in (0.0, 1.0, 4.0):
        first = components(exact(variance), rng=np.random.default_rng(0)).components[0].explained
        widths.append(first.high - first.low)
    assert widths == sorted(widths)
    assert widths[2] > 1.2 * widths[0]
