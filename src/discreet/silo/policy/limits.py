"""How much a data owner lets be spent, how trainings add up, and what of it may never change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from discreet.accounting.odometer import AdaptiveFilter, Composition
from discreet.errors import ConfigurationError
from discreet.privacy.notation import delta_text, epsilon_text, pair_text

Composing = Literal["sum", "renyi", "gaussian"]

MOST_RETRIES = 1000
"""Rounds beyond a plan that may be charged with it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much may be spent, and how trainings compose: ε and δ are added, or a filter decides.

    Attributes:
        epsilon: at most.
        delta: at most, or what ``epsilon`` is stated at.
        composition: ``sum``, or the name of a `discreet.accounting.odometer.Composition`.
    """

    epsilon: float
    delta: float
    composition: str = "sum"

    def __post_init__(self) -> None:
        if self.composition not in get_args(Composing):
            raise ConfigurationError(
                f"'composition' must be one of {', '.join(get_args(Composing))}; got {self.composition!r}."
            )

    @property
    def pair(self) -> tuple[float, float]:
        """ε and δ."""
        return self.epsilon, self.delta

    def spent_text(self, epsilon: float, delta: float) -> str:
        """Writes what was spent for people.

        Under a filter no part of δ is used up: all that is left of the budget is stated at the whole of it.
        """
        if self.composition == "sum" or epsilon == delta == 0.0:
            return pair_text(epsilon, delta)
        return f"ε {epsilon_text(epsilon)} at the budget's δ {delta_text(self.delta)}"

    @property
    def composed_text(self) -> str:
        """Says in one sentence how trainings add up, and under a filter why ε cannot be divided."""
        if self.composition == "sum":
            return (
                "ε and δ of all trainings are added, each as a whole from its first contribution on, since "
                "what it released may decide when it ends"
            )
        measure = {"renyi": "Rényi divergences", "gaussian": "Gaussian releases"}[self.composition]
        return (
            f"trainings compose by a filter of {measure}, whose ε is high after the first release and then "
            "grows slowly, so that it is not to be divided by the number of releases: go by the percentage, "
            "of which each release of a plan takes the same share"
        )

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g} at delta = {self.delta:g} by {self.composition}"


def filter_of(limits: Limits) -> AdaptiveFilter | None:
    """Returns the empty filter of some limits; None if ε and δ are added."""
    if limits.composition == "sum":
        return None
    return AdaptiveFilter(limits.epsilon, limits.delta, composition=Composition(limits.composition))


@dataclass(frozen=True, slots=True)
class Fixed:
    """What a budget rests on, written down before the first contribution: none of it may hang on results.

    A filter rests on all of it, a sum on its room for retries.

    Attributes:
        lifetime: limits of all trainings together.
        year: of a calendar year; None if there are none.
        max_colluding: how many others the owner assumes to conspire with the server.
        unit: whom the budget is about.
        person: the column that says whose a record is; None if nobody asks.
        most_silos: at how many silos one person may be.
        retries: rounds beyond each plan that are charged with it.
    """

    lifetime: Limits
    year: Limits | None
    max_colluding: int
    unit: str
    person: str | None
    most_silos: int
    retries: int = 0

    @property
    def adds(self) -> bool:
        """Whether ε and δ of trainings are added."""
        return self.lifetime.composition == "sum"

    def difference(self, other: Fixed) -> str:
        """Says in words what differs, empty if nothing does."""
        return "; ".join(
            f"{name} was {getattr(self, name)} and is {getattr(other, name)}"
            for name in self.__slots__
            if getattr(self, name) != getattr(other, name)
        )
