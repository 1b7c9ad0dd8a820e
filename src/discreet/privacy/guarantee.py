"""A guarantee is a value: numbers, unit, relation, adversary, status and assumptions, never a bare ε."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import ConfigurationError
from discreet.privacy.adversary import Adversary
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.privacy.units import NeighboringRelation, Status, Unit


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """An (ε, δ) statement that names everything it depends on.

    Guarantee:
        The mechanism is (``epsilon``, ``delta``)-differentially private for each ``unit`` under
        ``neighboring`` in the view of ``adversary``, with the standing that ``status`` says, given
        ``assumptions``. ``epsilon`` may be infinite: then nothing is promised. Where ``silo`` is named, it
        holds for the units of that silo; else for every silo's.

    Raises:
        ConfigurationError: if ``epsilon`` is negative or NaN, ``delta`` is outside [0, 1], or a
            CONDITIONAL guarantee names no assumption.
    """

    epsilon: float
    delta: float
    unit: Unit
    neighboring: NeighboringRelation
    adversary: Adversary
    status: Status
    assumptions: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()
    silo: str | None = None

    def __post_init__(self) -> None:
        if not self.epsilon >= 0.0:
            raise ConfigurationError(f"epsilon must be >= 0; got {self.epsilon}.")
        if not 0.0 <= self.delta <= 1.0:
            raise ConfigurationError(f"delta must be in [0, 1]; got {self.delta}.")
        if self.status is Status.CONDITIONAL and not self.assumptions:
            raise ConfigurationError("a CONDITIONAL guarantee must name its assumptions; got none.")

    @property
    def is_vacuous(self) -> bool:
        """True when nothing is promised."""
        return math.isinf(self.epsilon) or self.delta >= 1.0

    def __repr__(self) -> str:
        return f"Guarantee({self})"

    @property
    def against(self) -> str:
        """Says in plain words against whom, and whose units it is about if not everybody's."""
        who = self.adversary.describe()
        if self.silo is None:
            return who
        return f"{who}: {'client' if self.unit is Unit.CLIENT else f'{self.unit.value}s of'} {self.silo}"

    def __str__(self) -> str:
        return (
            f"({epsilon_text(self.epsilon)}, {delta_text(self.delta)})-DP per {self.unit.value}, "
            f"{self.neighboring.value}, against {self.against}, {self.status.value}"
        )
