"""Parameters and counts that just meet a budget; what is returned is itself certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from discreet.accounting.analysis import epsilon as epsilon_of
from discreet.accounting.bounds import BEST, Accountant, Pld, Rdp
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import Event
from discreet.privacy.notation import epsilon_text
from discreet.privacy.units import NeighboringRelation

_RELATIVE = 1e-4
_STEPS = 60


def calibrate(
    make_event: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float,
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE,
    lower: float,
    upper: float,
    accountant: Accountant = BEST,
) -> float:
    """Returns the smallest parameter in [lower, upper] at which the event is (ε, δ)-DP.

    Guarantee:
        The event of the returned value meets (``epsilon``, ``delta``) by ``accountant``: it was evaluated. It
        is within 1e-4, relatively, of the smallest such value if ε falls as the parameter grows.

    Args:
        make_event: parameter (usually a noise scale) → event.
        epsilon: target.
        delta: target.
        neighboring: the relation.
        lower: smallest parameter to try, positive.
        upper: largest parameter to try.
        accountant: who certifies.

    Raises:
        ConfigurationError: if the bracket is malformed, or even ``upper`` misses the target.

    Example:
        >>> from discreet.privacy.events import GaussianNoise, Release
        >>> make = lambda z: Release(GaussianNoise(z), 1.0, dimension=1)
        >>> round(calibrate(make, epsilon=1.0, delta=1e-5, lower=0.1, upper=100.0), 2)
        3.73
    """
    if not 0.0 < lower < upper < math.inf:
        raise ConfigurationError(f"calibration needs 0 < lower < upper < inf; got [{lower}, {upper}].")
    if not (epsilon > 0.0 and 0.0 < delta < 1.0):
        raise ConfigurationError(
            f"targets must satisfy epsilon > 0 and 0 < delta < 1; got epsilon={epsilon}, delta={delta}."
        )

    def cost(value: float, by: Accountant) -> float:
        """Returns log(ε/target) at ``value``: at most 0 where the target is met."""
        found = epsilon_of(make_event(value), delta=delta, neighboring=neighboring, accountant=by).epsilon
        return math.log(max(found, 1e-12) / epsilon) if math.isfinite(found) else math.inf

    start = _rough(lambda value: cost(value, Rdp()), lower, upper)
    found = _bracketed(lambda value: cost(value, _quick(accountant)), lower, upper, start, epsilon)
    while cost(found, accountant) > 0.0 and found < upper:
        found = min(upper, found * (1.0 + 0.1 * _RELATIVE))
    return found


def _quick(accountant: Accountant) -> Accountant:
    """Returns an accountant for the search: as sound as the given one, a little less precise."""
    if isinstance(accountant, Pld) and accountant.interval is None:
        return replace(accountant, precision=max(accountant.precision, 0.3 * _RELATIVE))
    return accountant


def _rough(cost: Callable[[float], float], lower: float, upper: float) -> float:
    """Returns about where the quick accountant meets the target; only a place to start from."""
    try:
        low, high = math.log(lower), math.log(upper)
        while high - low > 0.02:
            middle = (low + high) / 2.0
            low, high = (middle, high) if cost(math.exp(middle)) > 0.0 else (low, middle)
    except UnsupportedAnalysisError:
        return upper
    return math.exp(high)


def _bracketed(
    cost: Callable[[float], float], lower: float, upper: float, start: float, target: float
) -> float:
    """Brackets the root around ``start`` and narrows it."""
    good, good_cost = min(start, upper), cost(min(start, upper))
    bad, bad_cost = math.nan, math.inf
    while good_cost > 0.0:
        if good == upper:
            least = epsilon_text(target * math.exp(min(good_cost, 600.0)))
            raise ConfigurationError(
                f"epsilon must be at most {target:g} somewhere in the bracket; got {least} at its upper end "
                f"{upper:g}. Raise upper, epsilon or delta, or lower the number of releases."
            )
        bad, bad_cost, good = good, good_cost, min(upper, good * 1.25)
        good_cost = cost(good)
    step = 0.9
    while math.isnan(bad):
        if good == lower:
            return lower
        trial = max(lower, good * step)
        trial_cost = cost(trial)
        if trial_cost > 0.0:
            bad, bad_cost = trial, trial_cost
        else:
            good, good_cost, step = trial, trial_cost, step**2
    return _narrow(cost, (bad, bad_cost), (good, good_cost))


def _narrow(cost: Callable[[float], float], bad: tuple[float, float], good: tuple[float, float]) -> float:
    """Returns a value that meets the target, within `_RELATIVE` of one that does not.

    Interpolates in log-log coordinates and aims alternately just above and just below the root, so that
    both ends close in; every fourth step bisects, in case the curve is not smooth.
    """
    for count in range(_STEPS):
        (low, low_cost), (high, high_cost) = bad, good
        if high <= low * (1.0 + _RELATIVE):
            break
        span = math.log(high / low)
        share = 0.5 if math.isinf(low_cost) or count % 4 == 3 else low_cost / (low_cost - high_cost)
        aim = share * span + 0.3 * _RELATIVE * (1.0 if count % 2 == 0 else -1.0)
        middle = low * math.exp(min(max(aim, 0.1 * _RELATIVE), span - 0.1 * _RELATIVE))
        value = cost(middle)
        bad, good = ((middle, value), good) if value > 0.0 else (bad, (middle, value))
    return good[0]
