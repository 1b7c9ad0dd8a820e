"""Linear regression from a noisy matrix of second moments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from discreet.arrays import Floats
from discreet.quality.intervals import Interval
from discreet.statistics.inversion import around, normal_quantile, within
from discreet.statistics.moments import Moments, spread
from discreet.statistics.rows import Row, interval_row, number_row

INTERCEPT = "intercept"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient, in the units of the response for one unit of the predictor.

    Attributes:
        name: the predictor's, or `INTERCEPT`.
        value: the estimate and its interval; infinite ends where they cannot be told.
        standard_error: noise and sampling, at the estimate; None where it cannot be told.
        p_value: of the hypothesis that the coefficient is 0.
    """

    name: str
    value: Interval
    standard_error: float | None
    p_value: float | None

    def rows(self) -> tuple[Row, ...]:
        """Returns the coefficient, its standard error and its p-value."""
        return (
            interval_row(self.name, self.value),
            number_row(f"{self.name}: standard error", self.standard_error),
            number_row(f"{self.name}: p-value", self.p_value),
        )


@dataclass(frozen=True, slots=True)
class Regression:
    """A linear regression by least squares.

    Attributes:
        coefficients: the intercept, then one for each predictor; none where nothing can be told.
        explained: R², the share of the response's variance; None where it cannot be told.
        ridge: what was added to the slopes' diagonal of the normal equations, for the estimates alone; 0
            where the matrix stood out from its noise.
    """

    coefficients: tuple[Coefficient, ...]
    explained: Interval | None
    ridge: float

    def rows(self) -> tuple[Row, ...]:
        """Returns the coefficients and R²."""
        if not self.coefficients:
            return (number_row("coefficients", None),)
        shrunk = f"shrunk by a ridge of {self.ridge:.3g}, since the noise hides part of the predictors"
        each = [
            row._replace(remark=shrunk) if self.ridge and row.name == one.name else row
            for one in self.coefficients
            for row in one.rows()
        ]
        return (
            *each,
            interval_row("R²", self.explained),
        )


@dataclass(frozen=True, slots=True)
class _Equations:
    """Normal equations A θ = b of the columns ``places``, the last of which is the response.

    Attributes:
        moments: where they are from.
        places: rows of the matrix: 0, the predictors', the response's.
        inverse: of A.
        identified: whether A has one; without noise, predictors may hang together.
        solution: θ, without a ridge.
        residual: variance of the response about θᵀx, at least 0.
    """

    moments: Moments
    places: list[int]
    inverse: Floats
    identified: bool
    solution: Floats
    residual: float


def regression(
    moments: Moments, response: str, predictors: Sequence[str], *, level: float = 0.95
) -> Regression:
    """Returns the regression of one column on others, with an intercept.

    With g = (−θ, 1) the noise of b − Aθ is that of Eg, where E is the noise of the matrix; its covariance
    w/2 (‖g‖²I + ggᵀ) and the sampling covariance nσ²A/n of homoskedastic errors make the one of A⁻¹(b − Aθ).
    An interval holds the values that this law does not reject, as Fieller's does for a quotient: it is wider
    where A is less certain, and infinite where the noise could have made A singular.

    Raises:
        ValueError: a column is not among the moments'.
    """
    names = [column.name for column in moments.columns]
    places = [0, *(names.index(name) + 1 for name in (*predictors, response))]
    equations = _equations(moments, places)
    if equations is None:
        return Regression((), None, 0.0)
    ridge = _ridge(moments, places[:-1])
    estimate = equations.solution if ridge == 0 else _solution_with_ridge(moments, places, ridge)
    reach, own = normal_quantile(level), _in_own_units(moments, places)
    coefficients = tuple(
        _coefficient(equations, name, (lever, offset), estimate, reach)
        for name, (lever, offset) in zip((INTERCEPT, *predictors), own, strict=True)
    )
    return Regression(coefficients, _explained(equations, reach), ridge)


def _equations(moments: Moments, places: list[int]) -> _Equations | None:
    if not moments.told:
        return None
    matrix = moments.matrix[np.ix_(places, places)]
    design = matrix[:-1, :-1]
    inverse = np.asarray(np.linalg.pinv(design, hermitian=True), dtype=np.float64)
    identified = int(np.linalg.matrix_rank(design, hermitian=True)) == len(design)
    solution = inverse @ matrix[:-1, -1]
    against = np.append(-solution, 1.0)
    residual = max(0.0, float(against @ matrix @ against) / moments.units)
    return _Equations(moments, places, inverse, identified, solution, residual)


def _ridge(moments: Moments, places: list[int]) -> float:
    """Returns what lifts the slopes' matrix above its noise; 0 if it is above.

    AdaSSP (Wang 2018) with the law of the noise for its high-probability bound: 2 √(p·w/2) is the edge of the
    spectrum of a p × p matrix of noise alone.
    """
    slopes = [moments.centered(place)[places] for place in places[1:]]
    if not slopes:
        return 0.0
    basis = np.array(slopes)
    centered = basis @ moments.matrix[np.ix_(places, places)] @ basis.T
    edge = 2 * math.sqrt(len(slopes) * moments.variance / 2)
    return max(0.0, edge - float(np.linalg.eigvalsh(centered)[0]))


def _solution_with_ridge(moments: Moments, places: list[int], ridge: float) -> Floats:
    matrix = moments.matrix[np.ix_(places, places)]
    added = np.diag(np.append(0.0, np.full(len(matrix) - 2, ridge)))
    return np.asarray(np.linalg.lstsq(matrix[:-1, :-1] + added, matrix[:-1, -1])[0], dtype=np.float64)


def _in_own_units(moments: Moments, places: list[int]) -> list[tuple[Floats, float]]:
    """Returns the lever l and the offset of each coefficient in own units: offset + lᵀθ."""
    columns = [moments.columns[place - 1] for place in places[1:]]
    response = columns.pop()
    slopes = np.diag([response.half / column.half for column in columns]).reshape(len(columns), len(columns))
    intercept = np.append(response.half, [-slope @ [c.center for c in columns] for slope in slopes])
    return [(intercept, response.center), *((np.append(0.0, slope), 0.0) for slope in slopes)]


def _coefficient(
    equations: _Equations, name: str, own: tuple[Floats, float], estimate: Floats, reach: float
) -> Coefficient:
    """Returns offset + lᵀθ, its interval around the solution without a ridge, widened to the estimate.

    Let lᵀθ move by x from the solution; the other coefficients follow as their covariance says. Then the
    variance is a2 x² + a1 x + a0, and those x are kept for which x² ≤ reach²·variance(x).
    """
    lever, offset = own
    value = offset + float(lever @ estimate)
    unbounded = Coefficient(name, Interval(value, -math.inf, math.inf), None, None)
    a2, a1, a0 = _variance(equations, lever)
    solved, square = offset + float(lever @ equations.solution), reach * reach
    if not (equations.identified and square * a2 < 1):
        return unbounded
    middle = square * a1 / 2 / (1 - square * a2)
    half = math.sqrt(middle * middle + square * a0 / (1 - square * a2))
    at_zero = a2 * solved**2 - a1 * solved + a0
    p_value = (
        2 * float(scipy.special.ndtr(-abs(solved) / math.sqrt(at_zero)))
        if at_zero > 0
        else float(solved == 0)
    )
    return Coefficient(
        name, around(value, solved + middle - half, solved + middle + half), math.sqrt(a0), p_value
    )


def _variance(equations: _Equations, lever: Floats) -> tuple[float, float, float]:
    """Returns a2, a1, a0 of the variance of lᵀθ where it lies x from the solution."""
    moments, places = equations.moments, equations.places
    design = moments.matrix[np.ix_(places[:-1], places[:-1])]
    against = np.append(-equations.solution, 1.0)
    noise = (
        moments.variance
        / 2
        * (against @ against * np.eye(len(design)) + np.outer(against, against)[:-1, :-1])
    )
    covariance = equations.inverse @ (equations.residual * design + noise) @ equations.inverse.T
    pulled = equations.inverse.T @ lever
    a0 = max(0.0, float(lever @ covariance @ lever))
    follows = np.append(-covariance @ lever / a0, 0.0) if a0 > 0 else np.zeros(len(against))
    along, moved = float(pulled @ against[:-1]), float(pulled @ follows[:-1])
    length = float(pulled @ pulled)
    a2 = moments.variance / 2 * (float(follows @ follows) * length + moved**2)
    a1 = moments.variance * (float(against @ follows) * length + along * moved)
    return a2, a1, a0


def _explained(equations: _Equations, reach: float) -> Interval | None:
    """Returns R² = 1 − gᵀSg / aᵀSa, its error to first order: ⟨M, noise⟩ and 4R²(1 − R²)²/n.

    M = ggᵀ − (1 − R²) aaᵀ over aᵀSa, with a the centred response.
    """
    moments, places = equations.moments, equations.places
    centered = moments.centered(places[-1])
    whole = spread(moments, centered)
    if whole <= 2 * math.sqrt(moments.variance) * float(centered @ centered) / moments.units or whole == 0:
        return None
    value = min(max(0.0, 1 - equations.residual / whole), 1.0)
    against = np.zeros(len(centered))
    against[places] = np.append(-equations.solution, 1.0)
    lever = np.outer(against, against) - (1 - value) * np.outer(centered, centered)
    noise = moments.variance * float((lever**2).sum()) / (whole * moments.units) ** 2
    half = reach * math.sqrt(noise + 4 * value * (1 - value) ** 2 / moments.units)
    return within(around(value, value - half, value + half), 0.0, 1.0)
