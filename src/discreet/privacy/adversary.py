"""Who might look: the adversaries that every guarantee names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReleasedModels:
    """Anyone who sees every released model, and nothing else."""

    def describe(self) -> str:
        """Says in plain words who this is."""
        return "anyone who sees the released models"


@dataclass(frozen=True, slots=True)
class ReleasedAnswers(ReleasedModels):
    """The same, of a plan that asks questions and trains no model."""

    def describe(self) -> str:
        """Says in plain words who this is."""
        return "anyone who sees the released answers"


@dataclass(frozen=True, slots=True)
class Member:
    """Another member of the federation: it sees every released model, and knows its own noise and coins.

    Attributes:
        party: what the plan's members are: "silo", or "client" where a member is the unit.
    """

    party: str = "silo"

    def describe(self) -> str:
        """Says in plain words who this is."""
        return f"another participating {self.party}, which knows its own noise"


@dataclass(frozen=True, slots=True)
class AggregationServer:
    """The server: it sees every secure sum and who took part, but no single contribution."""

    def describe(self) -> str:
        """Says in plain words who this is."""
        return "the aggregation server"


@dataclass(frozen=True, slots=True)
class ServerWithColluders:
    """The server together with ``num_colluders`` silos that reveal their data, noise and masks to it."""

    num_colluders: int

    def describe(self) -> str:
        """Says in plain words who this is."""
        plural = "silo" if self.num_colluders == 1 else "silos"
        return f"the server and {self.num_colluders} colluding {plural}"


@dataclass(frozen=True, slots=True)
class WithoutSecureAggregation:
    """Whoever would see silo ``silo``'s own contribution, were secure aggregation absent or broken."""

    silo: str

    def describe(self) -> str:
        """Says in plain words who this is."""
        return f"whoever sees {self.silo}'s own message, were secure aggregation absent"


@dataclass(frozen=True, slots=True)
class SiloMessages:
    """Whoever sees all that ``silo`` sends, where nothing is summed in secret: everybody, to be sure."""

    silo: str

    def describe(self) -> str:
        """Says in plain words who this is."""
        return f"anyone who sees {self.silo}'s messages"


Adversary = (
    ReleasedModels
    | Member
    | AggregationServer
    | ServerWithColluders
    | WithoutSecureAggregation
    | SiloMessages
)
