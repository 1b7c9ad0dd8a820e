r"""The closed forms of DP-Fed (Liang, Wang, Gu, Osher, Yao): very loose, kept for comparison.

Client unit; an update is kept within G, N(0, ν²) is added to the sum of those drawn. The theorems are Rényi
bounds with sensitivity 2G, simplified by numerical constants, and hold only under the conditions checked
here; proven at integer orders only (`real_orders`). Legend: q the sampling rate τ, T rounds, λ ∈ (0, 1) free
(optimised), α = log(1/δ)/((1−λ)ε) + 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ConfigurationError, UnsupportedAnalysisError


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """The two constants in which the theorems differ.

    Attributes:
        factor: 14 for uniform drawing without replacement, 8 for Poisson sampling.
        min_ratio: ν²/(4G²) must be at least this.
    """

    factor: float
    min_ratio: float


UNIFORM = ClosedForm(14.0, 0.67)
POISSON = ClosedForm(8.0, 0.53)


@dataclass(frozen=True, slots=True)
class Federation:
    """What the theorems ask about: rate, rounds, norm bound of an update, δ."""

    sampling_prob: float
    rounds: int
    update_norm: float
    delta: float

    def __post_init__(self) -> None:
        positive = self.rounds >= 1 and self.update_norm > 0.0
        if not (0.0 < self.sampling_prob <= 1.0 and positive and 0.0 < self.delta < 1.0):
            raise ConfigurationError(
                "closed forms need sampling_prob in (0, 1], rounds >= 1, update_norm > 0, delta in (0, 1); "
                f"got {self.sampling_prob}, {self.rounds}, {self.update_norm}, {self.delta}."
            )


def closed_form_stddev(form: ClosedForm, federation: Federation, epsilon: float) -> float:
    r"""Returns the smallest ν that a theorem certifies for (ε, δ), over all λ whose conditions hold.

    ν ≥ (qG/ε) √(factor·T/λ · (log(1/δ)/(1−λ) + ε)), with ν²/(4G²) ≥ min_ratio and
    α − 1 ≤ ν²/(6G²) · log(1/(qα(1 + ν²/(4G²)))).

    Raises:
        ConfigurationError: if ε is not positive.
        UnsupportedAnalysisError: if no λ satisfies the conditions.

    Example:
        >>> form = closed_form_stddev(UNIFORM, Federation(0.05, 30, 0.3, 1000**-1.1), 6.0)
        >>> round(form, 3)
        0.808
    """
    return certified_stddev(form, federation, epsilon, best_share(form, federation, epsilon))


def best_share(form: ClosedForm, federation: Federation, epsilon: float) -> float:
    """Returns the λ at which a theorem certifies the least noise; errors as of `closed_form_stddev`."""
    if not epsilon > 0.0:
        raise ConfigurationError(f"epsilon must be positive; got {epsilon}.")

    def certified(share: float) -> float:
        return certified_stddev(form, federation, epsilon, share)

    best = min((k / 400.0 for k in range(1, 400)), key=certified)
    if math.isinf(certified(best)):
        raise UnsupportedAnalysisError(
            "the closed form's condition on its Rényi order must hold for some λ in (0, 1); it does for none "
            f"at epsilon={epsilon:g}. Use discreet.accounting.calibrate, which has no such condition."
        )
    return min((best + k / 40_000.0 for k in range(-99, 100)), key=certified)


def certified_stddev(form: ClosedForm, federation: Federation, epsilon: float, share: float) -> float:
    """Returns the ν of λ = ``share``, raised to ν²/(4G²) = min_ratio if need be; ∞ if a condition fails."""
    stddev = max(
        formula_stddev(form, federation, epsilon, share),
        2.0 * federation.update_norm * math.sqrt(form.min_ratio),
    )
    return stddev if order_is_allowed(federation, order(federation, epsilon, share), stddev) else math.inf


def order(federation: Federation, epsilon: float, share: float) -> float:
    """Returns the theorems' Rényi order α, hardly ever an integer (`real_orders`)."""
    return -math.log(federation.delta) / ((1.0 - share) * epsilon) + 1.0


def formula_stddev(form: ClosedForm, federation: Federation, epsilon: float, share: float) -> float:
    """Returns the right-hand side of the theorem at λ = ``share``."""
    log_inverse = -math.log(federation.delta)
    inner = form.factor * federation.rounds / share * (log_inverse / (1.0 - share) + epsilon)
    return federation.sampling_prob * federation.update_norm / epsilon * math.sqrt(inner)


def order_is_allowed(federation: Federation, order: float, stddev: float) -> bool:
    """Says whether α − 1 ≤ ν²/(6G²) · log(1/(qα(1 + ν²/(4G²)))) at the order α."""
    square = (stddev / federation.update_norm) ** 2
    argument = federation.sampling_prob * order * (1.0 + square / 4.0)
    return order - 1.0 <= square / 6.0 * -math.log(argument)
