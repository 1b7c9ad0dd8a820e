"""How far a regression's predictions are off, beside always naming one number; with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

import numpy as np
from pydantic import Field

from discreet.arrays import Floats
from discreet.errors import DataError
from discreet.quality.groups import members
from discreet.quality.intervals import Interval
from discreet.quality.owners import NOBODYS, Owners
from discreet.quality.quality import MOST_GROUPS
from discreet.quality.sureness import STRICT

_Short = Annotated[str, Field(max_length=2000)]

_MOST_RESAMPLES, _FEWEST_RESAMPLES = 1000, 200
# Records drawn at most, over all resamples, before there are fewer of these.
_DRAWS = 50_000_000
_ENDS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class NumberGroup:
    """The records that have one thing in common, such as the silo.

    Attributes:
        by: what divides the records, such as ``silo``.
        name: what these have.
        records: how many.
        mae: mean absolute error.
        rmse: root mean square error.
        constant_mae: mean absolute error of always naming the median of all the records measured.
    """

    __pydantic_config__ = STRICT

    by: _Short
    name: _Short
    records: int
    mae: Interval
    rmse: Interval
    constant_mae: float


@dataclass(frozen=True, slots=True)
class NumberQuality:
    """A regression on n records with labels, in the label's own unit. Not private: exact functions of these.

    Attributes:
        records: n.
        mae: mean absolute error.
        rmse: root mean square error.
        r2: 1 - (rmse / constant_rmse)²; None if all labels are equal.
        constant_mae: mean absolute error of the best constant for it, the median of these very labels.
        constant_rmse: root mean square error of the best constant for it, their mean.
        gain: by how much ``mae`` is below ``constant_mae``, record by record.
        groups: the same by silo and by public columns.
        persons: whose the records are, where several may be one person's; intervals count these then.
    """

    __pydantic_config__ = STRICT

    records: int
    mae: Interval
    rmse: Interval
    r2: Interval | None
    constant_mae: float
    constant_rmse: float
    gain: Interval
    groups: Annotated[tuple[NumberGroup, ...], Field(max_length=MOST_GROUPS)]
    persons: int | None = None

    @property
    def warning(self) -> str:
        """One sentence if the error is no smaller than that of the best constant; else nothing."""
        if self.gain.low > 0.0:
            return ""
        said = "is above" if self.gain.high < 0.0 else "cannot be told from"
        return (
            f"The mean absolute error, {self.mae.value:.4g} on {self.records} records, {said} that of always "
            f"naming their median, {self.constant_mae:.4g}. Do not use the model as it is."
        )


def assess_numbers(
    predictions: Floats,
    labels: Floats,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    owners: Owners = NOBODYS,
) -> NumberQuality:
    """Measures a regression's answers.

    Intervals are between percentiles of resamples (Efron 1979) of records, or of persons with all of theirs,
    drawn by fixed coins.

    Guarantee:
        The order of the records does not matter. Nothing is private.

    Args:
        predictions: shape ``(n,)``, n at least 1.
        labels: shape ``(n,)``, in the same unit.
        groups: title, such as ``silo``, to one text for each record; records of an empty text are in none.
        owners: whose the records are.

    Raises:
        DataError: if shapes do not fit, there is no record, or a number is not finite.

    Example:
        >>> found = assess_numbers(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]))
        >>> round(found.mae.value, 3), round(found.constant_mae, 3), found.r2.value
        (0.333, 0.667, 0.5)
    """
    if not (predictions.ndim == 1 and predictions.shape == labels.shape):
        raise DataError(
            "predictions and labels must be two rows of as many numbers; "
            f"got shapes {predictions.shape} and {labels.shape}."
        )
    if not len(labels):
        raise DataError("A measurement needs at least one record; got none. Raise the test fraction.")
    if not (np.isfinite(predictions).all() and np.isfinite(labels).all()):
        raise DataError("predictions must be finite; the model gives NaN or Inf for some records.")
    off, median = np.abs(predictions - labels), float(np.median(labels))
    always, centred = np.abs(labels - median), labels - float(np.sort(labels).mean())
    rows = np.stack([off, off**2, always, centred, centred**2], axis=1)
    found = _resampled(rows, owners)
    return NumberQuality(
        records=len(labels),
        mae=_interval(found[:, 0]),
        rmse=_interval(np.sqrt(found[:, 1])),
        r2=_interval(_explained(found)) if float(np.ptp(labels)) > 0.0 else None,
        constant_mae=float(found[0, 2]),
        constant_rmse=float(np.sqrt(found[0, 4])),
        gain=_interval(found[:, 2] - found[:, 0]),
        groups=tuple(
            _group(title, name, rows[own], owners.among(own))
            for title, name, own in islice(members(groups or {}, len(rows)), MOST_GROUPS)
        ),
        persons=owners.count,
    )


def _resampled(rows: Floats, owners: Owners) -> Floats:
    """Returns means of the columns: of all rows first, then of each resample."""
    order = np.lexsort(rows.T)
    summed = np.column_stack([np.ones(len(rows)), rows[order]])
    if owners.persons is not None:
        _, places = np.unique(owners.persons[order], return_inverse=True)
        whole = np.zeros((places.max() + 1, summed.shape[1]))
        np.add.at(whole, places, summed)
        summed = whole[np.lexsort(whole.T)]
    count = len(summed)
    coins = np.random.default_rng(0)
    resamples = max(_FEWEST_RESAMPLES, min(_MOST_RESAMPLES, _DRAWS // count))
    sums = [summed.sum(axis=0)]
    sums += [summed[coins.integers(0, count, count)].sum(axis=0) for _ in range(resamples)]
    found = np.stack(sums)
    return np.asarray(found[:, 1:] / found[:, :1])


def _explained(means: Floats) -> Floats:
    """Returns R² of each resample; one whose labels are all equal tells nothing, and is left out."""
    spread = means[:, 4] - means[:, 3] ** 2
    usable = spread > 0.0
    return np.asarray(1.0 - means[usable, 1] / spread[usable])


def _interval(values: Floats) -> Interval:
    """Returns the first value between the percentiles of the others."""
    value = float(values[0])
    low, high = np.quantile(values[1:], _ENDS) if len(values) > 1 else (value, value)
    return Interval(value, min(value, float(low)), max(value, float(high)))


def _group(title: str, name: str, rows: Floats, owners: Owners) -> NumberGroup:
    found = _resampled(rows, owners)
    return NumberGroup(
        by=title,
        name=name,
        records=len(rows),
        mae=_interval(found[:, 0]),
        rmse=_interval(np.sqrt(found[:, 1])),
        constant_mae=float(found[0, 2]),
    )
