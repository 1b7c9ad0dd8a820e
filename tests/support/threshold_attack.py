"""The largest ε that threshold tests on noisy releases show, without sampling error."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from discreet.errors import ConfigurationError

Floats = npt.NDArray[np.float64]

_THRESHOLDS = 400
# Thresholds reach this many deviations beyond all releases; δ-sized tails lie well inside.
_REACH = 8.0


def threshold_attack(outside: Floats, inside: Floats, *, stddev: float, delta: float) -> float:
    r"""Returns the largest ε at ``delta`` that threshold tests on noisy releases show.

    Row j of both arguments is a release before noise, under the *same* coins j. A test says "in" when the
    projection of release plus N(0, ``stddev``² I) exceeds a threshold; its rates are averaged over the coins
    exactly. Tried are projections on the mean difference and on the largest single one, 400 thresholds each.

    Guarantee:
        If no pair of rows is further apart than Δ, the result is at most the ε at ``delta`` of the Gaussian
        mechanism with sensitivity Δ: every coin satisfies its trade-off curve, which is concave in the rates,
        so the averages do. There is no statistical error in this direction.

    Args:
        outside: without the unit, shape ``(coins, d)``.
        inside: with it, same shape.
        stddev: of the noise per coordinate.
        delta: in [0, 1).
    """
    if not (outside.shape == inside.shape and outside.ndim == 2 and stddev > 0.0):
        raise ConfigurationError(
            "a threshold attack needs two arrays of one shape (coins, d) and stddev > 0; "
            f"got {outside.shape}, {inside.shape} and {stddev}."
        )
    differences = inside - outside
    lengths = np.linalg.norm(differences, axis=1)
    if not float(lengths.max()) > 0.0:
        return 0.0
    directions = [differences.mean(axis=0), differences[int(np.argmax(lengths))]]
    return max(
        _best_threshold(outside @ unit, inside @ unit, stddev, delta)
        for unit in (direction / max(float(np.linalg.norm(direction)), 1e-300) for direction in directions)
    )


def _best_threshold(without: Floats, with_unit: Floats, stddev: float, delta: float) -> float:
    """Returns the largest ε over thresholds, in both directions of the relation."""
    both = np.concatenate([without, with_unit])
    reach = _REACH * stddev
    thresholds = np.linspace(both.min() - reach, both.max() + reach, _THRESHOLDS)[:, None]
    alarms, hits = (ndtr((world - thresholds) / stddev).mean(axis=1) for world in (without, with_unit))
    quiet, missed = (ndtr((thresholds - world) / stddev).mean(axis=1) for world in (without, with_unit))
    pairs = [(hits, alarms), (quiet, missed), (alarms, hits), (missed, quiet)]
    return max(0.0, *(_largest_log_ratio(high - delta, low) for high, low in pairs))


def _largest_log_ratio(numerators: Floats, denominators: Floats) -> float:
    """Returns the largest logarithm of a ratio whose parts are positive."""
    usable = (numerators > 0.0) & (denominators > 0.0)
    if not bool(usable.any()):
        return 0.0
    return float(np.log(numerators[usable] / denominators[usable]).max())
