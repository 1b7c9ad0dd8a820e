"""Accountants as values, and the bound that an accountant returns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from discreet.errors import ConfigurationError
from discreet.privacy.units import Status


class Conversion(Enum):
    """How Rényi DP of order α becomes (ε, δ).

    ``IMPROVED``: Canonne, Kamath, Steinke (2020), Proposition 12. ``MIRONOV``: Mironov (2017), Proposition 3.
    """

    IMPROVED = "improved"
    MIRONOV = "mironov"


DEFAULT_ORDERS: tuple[float, ...] = (
    *(1.0 + k / 20.0 for k in range(1, 20)),
    *(k / 10.0 for k in range(20, 110) if k % 10),
    *(float(k) for k in range(2, 129)),
    *(float(int(128 * 2 ** (k / 6))) for k in range(1, 25)),
)


@dataclass(frozen=True, slots=True)
class Pld:
    """Privacy loss distributions, discretised pessimistically by connecting the dots.

    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022). Every number returned is an upper bound.

    Attributes:
        interval: distance of the grid of losses; ``None`` chooses it by ``precision``.
        precision: about what discretisation may add to ε, relatively.
    """

    interval: float | None = None
    precision: float = 1e-5

    def __post_init__(self) -> None:
        if self.interval is not None and not (0.0 < self.interval <= 1.0):
            raise ConfigurationError(
                f"The 'interval' parameter of Pld must be in (0, 1]; got {self.interval}."
            )
        if not 1e-8 <= self.precision <= 0.1:
            raise ConfigurationError(
                f"The 'precision' parameter of Pld must be in [1e-8, 0.1]; got {self.precision}."
            )


@dataclass(frozen=True, slots=True)
class Rdp:
    """Rényi differential privacy, composed by addition, minimised over ``orders``.

    Attributes:
        orders: Rényi orders α > 1. Analyses that only hold for integers skip the others.
        conversion: how the composed curve becomes (ε, δ).
    """

    orders: tuple[float, ...] = field(default=DEFAULT_ORDERS, repr=False)
    conversion: Conversion = Conversion.IMPROVED

    def __post_init__(self) -> None:
        if not self.orders or not all(order > 1.0 and math.isfinite(order) for order in self.orders):
            raise ConfigurationError(
                "The 'orders' parameter of Rdp must be one or more finite numbers above 1; "
                f"got {self.orders[:4]}."
            )


Accountant = Pld | Rdp
BEST: Accountant = Pld()


@dataclass(frozen=True, slots=True)
class Bound:
    """An upper bound on what an event costs; `discreet.accounting.guarantee` adds unit and adversary.

    Guarantee:
        The event is (``epsilon``, ``delta``)-differentially private under the relation that was asked for,
        with the standing that ``status`` says.

    Attributes:
        epsilon: proven upper bound; infinite when nothing can be promised at this δ.
        delta: failure probability, all additive terms included.
        status: how well the bound is founded.
        assumptions: in words, what the status depends on.
        citations: the results that the bound uses.
        accountant: the accountant that gave the bound (the smaller one, where several were tried).
        order: Rényi order at the optimum; ``None`` for other accountants.
    """

    epsilon: float
    delta: float
    status: Status
    assumptions: tuple[str, ...]
    citations: tuple[str, ...]
    accountant: Accountant
    order: float | None = None
