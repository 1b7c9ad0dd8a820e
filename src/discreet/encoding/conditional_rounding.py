r"""Rounding record by record, for coarse grids: a norm bound that always holds.

Where the grid is so coarse that d/4 is not small against the squared sensitivity, dithering the sum
(`rounding`) inflates the sensitivity by a bound that may fail with probability β, added to δ. Rounding every
record's clipped gradient stochastically *conditioned on* the norm bound has no failure probability:
Kairouz, Liu, Steinke (2021), arXiv:2102.06387, Theorem 1 and Section 4.1. The price: per-record
gradients must exist, and conditioning makes the rounding very slightly biased.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from discreet.encoding.rounding import UNIT_ROUNDOFF, rounded_l2_bound
from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.randomness import RandomSource

_MAX_DRAWS = 64
# Rounding of the scaled norm in float64, for up to 2^30 coordinates.
_NORM_TOLERANCE = 2.0**-20


def conditional_l2_bound(l2_clip_norm: float, dimension: int, beta: float) -> float:
    """Norm, in grid units, that no record rounded by `round_records` exceeds.

    Args:
        l2_clip_norm: norm bound before rounding, in grid units.
        dimension: number of coordinates.
        beta: at most this fraction of draws is rejected; larger is tighter and more biased; in (0, 1).

    Raises:
        ConfigurationError: if an argument is out of range.

    Example:
        >>> conditional_l2_bound(10.0, dimension=4, beta=math.exp(-0.5)) < 12.0
        True
    """
    if not 0.0 < beta < 1.0:
        raise ConfigurationError(f"beta must be in (0, 1); got {beta}.")
    return rounded_l2_bound(l2_clip_norm * (1.0 + _NORM_TOLERANCE), dimension, beta).bound


def round_records(
    records: npt.NDArray[np.float64], l2_clip_norm: float, beta: float, randomness: RandomSource
) -> npt.NDArray[np.int64]:
    """Rounds each row stochastically until its norm is within `conditional_l2_bound`.

    A row that is still over after 64 draws, an event of probability at most β^64, is rounded towards zero:
    within the bound for certain.

    Args:
        records: grid units, shape ``(num_records, dimension)``, every row of norm at most ``l2_clip_norm``.
        l2_clip_norm: grid units.
        beta: as in `conditional_l2_bound`.
        randomness: secret and fresh.

    Returns:
        Integers of the same shape.

    Raises:
        PrivacyViolation: if a row is not finite or longer than ``l2_clip_norm``.
    """
    dimension = records.shape[1]
    limit = math.floor(conditional_l2_bound(l2_clip_norm, dimension, beta) ** 2)
    norms = np.linalg.norm(records, axis=1)
    if not np.all(norms <= l2_clip_norm * (1.0 + _NORM_TOLERANCE)):
        raise PrivacyViolation(
            f"every record must have a finite L2 norm of at most {l2_clip_norm} grid units before rounding; "
            "one has not. Clip the records first."
        )
    out = np.trunc(records).astype(np.int64)
    pending = np.arange(len(records))
    for _ in range(_MAX_DRAWS):
        if not len(pending):
            break
        whole = np.floor(records[pending])
        fraction = records[pending] - whole
        dither = randomness.uniform(fraction.size).reshape(fraction.shape)
        drawn = (whole + (dither < fraction)).astype(np.int64)
        accepted = np.einsum("ij,ij->i", drawn, drawn) <= limit
        out[pending[accepted]] = drawn[accepted]
        pending = pending[~accepted]
    return out


def summation_error(num_records: int, l2_clip_norm: float) -> float:
    r"""Bounds ‖computed − exact‖₂ of a float64 sum of ``num_records`` vectors of norm at most the clip norm.

    Any order of summation: γ_{n−1}·Σ‖g_j‖ with γ_n = nu/(1 − nu), u = 2^-53 (Higham 2002, §4.2). Give the
    result to `GridRequest.float_error`; sums of integers, as here, have none.
    """
    if not num_records >= 1:
        raise ConfigurationError(f"num_records must be >= 1; got {num_records}.")
    steps = (num_records - 1) * UNIT_ROUNDOFF
    return steps / (1.0 - steps) * num_records * l2_clip_norm
