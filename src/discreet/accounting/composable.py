"""What an event costs, in a form that other programs can add up: Rényi divergences, μ², and parts of δ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.accounting.bounds import Rdp
from discreet.accounting.losses import loss_parts
from discreet.accounting.renyi import renyi_analysis
from discreet.accounting.tally import tally
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import Event
from discreet.privacy.units import NeighboringRelation

ORDERS = tuple(float(order) for order in (*range(2, 33), 40, 48, 64, 96, 128, 192, 256, 512))
"""Integer orders, at which the analyses of all integer noise hold."""


@dataclass(frozen=True, slots=True)
class Composable:
    """The whole curve of an event; those of several events add up number by number, `mu` by squares.

    Guarantee:
        Laws that resemble the real ones up to a factor e^±``log_ratio`` and a total variation ``distance``,
        outside of an event of probability ``failure``, have Rényi divergences of at most ``renyi`` at
        ``orders``; and are ``mu``-GDP, where that is a number.

    Attributes:
        orders: of the Rényi divergences.
        renyi: one for each order; None where no analysis is known.
        mu: of the composed Gaussian releases, if every unit takes part in all of them; else None.
        log_ratio: of comparing integer with Gaussian noise.
        failure: probability that a bound fails; counts once in δ.
        distance: counts 1 + e^ε times in δ.
    """

    orders: tuple[float, ...]
    renyi: tuple[float | None, ...]
    mu: float | None
    log_ratio: float
    failure: float
    distance: float


def composable(event: Event, neighboring: NeighboringRelation) -> Composable:
    """Returns the curve of ``event``.

    Example:
        >>> from discreet.privacy.events import GaussianNoise, Release
        >>> found = composable(Release(GaussianNoise(4.0), 1.0, 10), NeighboringRelation.ADD_REMOVE)
        >>> found.mu, found.renyi[0] == 2.0 * 0.25**2 / 2.0
        (0.25, True)
    """
    spec = tally(event)
    try:
        analysis = renyi_analysis(spec.releases, neighboring, Rdp(orders=ORDERS))
        values = dict(zip(analysis.curve.orders.tolist(), analysis.curve.values.tolist(), strict=True))
        log_ratio = analysis.log_ratio
    except UnsupportedAnalysisError:
        values, log_ratio = {}, 0.0
    mu = None
    try:
        parts = loss_parts(spec.releases, neighboring, tail=0.0)
        if not parts.directed and parts.tail == 0.0:
            mu, log_ratio = math.sqrt(parts.square), max(log_ratio, parts.log_ratio)
    except UnsupportedAnalysisError:
        pass
    renyi = tuple(value if math.isfinite(value := values.get(order, math.inf)) else None for order in ORDERS)
    return Composable(ORDERS, renyi, mu, log_ratio, spec.failure, spec.distance)
