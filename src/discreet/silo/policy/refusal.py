"""Why a silo says no: stable codes that a server may show, and nothing about the silo's records."""

from __future__ import annotations

from enum import StrEnum

from discreet.errors import HowTo, PrivacyRefusal


class RefusalCode(StrEnum):
    """Why a silo refused. Values travel between machines and never change meaning."""

    PLAN = "plan"
    """The plan cannot be read, was altered, or does not follow from its own config."""
    EXPIRED = "expired"
    """The policy's last day is over."""
    NOT_ALLOWED = "not-allowed"
    """The plan asks for a unit, protocol, model, feature or floor that the policy does not allow."""
    APPROVAL = "approval"
    """A person at the silo must approve this plan first."""
    BUDGET = "budget"
    """The plan, or one more release under it, costs more than the policy has left."""
    IDENTITY = "identity"
    """The allow-list is not signed by the consortium, is outdated, or does not hold this silo's key."""
    DATA = "data"
    """The silo's records do not fit the plan."""
    PROPOSALS = "proposals"
    """More plans were proposed than the policy takes in a day, or than may wait for a person."""
    PROTOCOL = "protocol"
    """The server broke the secure-aggregation protocol."""
    NO_SILO = "no-silo"
    """A SuperNode says that no silo answers it."""
    INTERNAL = "internal"
    """The silo failed; its own log says why."""


class PolicyRefusal(PrivacyRefusal):
    """A silo does not take part. ``code`` is stable; the message is safe to show to the server."""

    see = HowTo.FOUR_MACHINES

    def __init__(self, code: RefusalCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def refused_in_person(digest: str, silo: str) -> PolicyRefusal:
    """Returns the refusal of a plan that a person refused."""
    return PolicyRefusal(
        RefusalCode.NOT_ALLOWED,
        f"plan {digest[:16]} was refused by a person at {silo}. Only an approval there can let it in.",
    )
