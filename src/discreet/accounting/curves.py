"""The whole trade-off curve of an event, for reports and attack bounds."""

from __future__ import annotations

import math

from discreet.accounting.analysis import event_curve
from discreet.accounting.bounds import BEST, Accountant, Rdp
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import Event
from discreet.privacy.tradeoff import PiecewiseTradeoff, TradeoffCurve
from discreet.privacy.units import NeighboringRelation

# Curves precise around each of these δ; the smallest of their bounds is a bound.
_ANCHORS = (0.3, 1e-3, 1e-6, 1e-10)
_NUM_POINTS = 64


def tradeoff(
    event: Event,
    *,
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE,
    accountant: Accountant = BEST,
) -> TradeoffCurve:
    """Returns a lower bound on the trade-off function of ``event``, for both directions of the relation.

    Args:
        event: what is released.
        neighboring: the relation.
        accountant: `Pld` falls back to `Rdp` as in `discreet.accounting.epsilon`.

    Example:
        >>> from discreet.privacy.events import GaussianNoise, Release
        >>> curve = tradeoff(Release(GaussianNoise(1.0), 1.0, dimension=1))
        >>> round(curve.max_true_positive_rate(0.1), 2)
        0.39
    """
    curves = []
    for anchor in _ANCHORS:
        try:
            curves.append(event_curve(event, delta=anchor, neighboring=neighboring, accountant=accountant))
        except UnsupportedAnalysisError:
            curves.append(event_curve(event, delta=anchor, neighboring=neighboring, accountant=Rdp()))
    reach = next((e for e in (c.epsilon_at(1e-10) for c in reversed(curves)) if math.isfinite(e)), 40.0)
    grid = [max(reach, 1e-6) * (k / (_NUM_POINTS - 1)) ** 2 for k in range(_NUM_POINTS)]
    points, lowest = [], 1.0
    for epsilon in grid:
        lowest = min(lowest, *(curve.delta_at(epsilon) for curve in curves))
        points.append((epsilon, lowest))
    return PiecewiseTradeoff(tuple(points))
