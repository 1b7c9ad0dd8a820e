"""Reading a trade-off curve where people look: a plot, the rates that are quoted, the advantage."""

from __future__ import annotations

import math
from collections.abc import Iterable

from discreet.privacy.tradeoff import TradeoffCurve
from discreet.report.content import AttackBound, AttackPoint

QUOTED_RATES = (0.001, 0.01, 0.1)

_SMALLEST_RATE = 1e-3
_POINTS_PER_DECADE = 16


def attack_bound(curve: TradeoffCurve) -> AttackBound:
    """Returns the curve from a false-positive rate of 0.1 % to 1, the quoted rates and the advantage.

    Example:
        >>> from discreet.privacy.tradeoff import GaussianTradeoff
        >>> point = attack_bound(GaussianTradeoff(1.0)).table[-1]
        >>> point.false_positive_rate, round(point.max_true_positive_rate, 4)
        (0.1, 0.3891)
    """
    decades = -math.log10(_SMALLEST_RATE)
    steps = round(decades * _POINTS_PER_DECADE)
    rates = [10.0 ** (-decades * (1 - step / steps)) for step in range(steps + 1)]
    return AttackBound(
        curve=tuple(_point(curve, rate) for rate in rates),
        table=tuple(_point(curve, rate) for rate in QUOTED_RATES),
        max_advantage=curve.advantage,
    )


def either(bounds: Iterable[AttackBound]) -> AttackBound:
    """Returns what is left to an attacker of a unit that is in one of several, where nobody says in which."""
    first, *others = bounds
    for one in others:
        first = AttackBound(
            curve=tuple(map(_larger, first.curve, one.curve)),
            table=tuple(map(_larger, first.table, one.table)),
            max_advantage=max(first.max_advantage, one.max_advantage),
        )
    return first


def _larger(one: AttackPoint, other: AttackPoint) -> AttackPoint:
    return max(one, other, key=lambda point: point.max_true_positive_rate)


def _point(curve: TradeoffCurve, rate: float) -> AttackPoint:
    return AttackPoint(rate, min(1.0, curve.max_true_positive_rate(rate)))
