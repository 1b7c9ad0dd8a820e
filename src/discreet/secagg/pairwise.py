"""How the protocols with pairwise masks open a session in one process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource
from discreet.secagg.agreement import Agreement
from discreet.secagg.identity import AllowList, Identity
from discreet.secagg.run import InProcessRun
from discreet.secagg.terms import SumTerms


@dataclass(frozen=True, slots=True)
class Speed:
    """What changes how long a sum takes, and nothing else.

    Attributes:
        threads: masks that are made at once.
    """

    threads: int = 1

    def __post_init__(self) -> None:
        if not self.threads >= 1:
            raise ConfigurationError(f"threads must be at least 1; got {self.threads}.")


class PairwiseProtocol(Protocol):
    """A protocol whose sessions are `ClientSession` and `ServerSession`."""

    @property
    def speed(self) -> Speed:
        """Threads."""
        ...

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        """Returns what client and server sessions hold in common."""
        ...


def open_in_process(protocol: PairwiseProtocol, terms: SumTerms, randomness: RandomSource) -> InProcessRun:
    """Enrols a fresh identity for every client and opens a run."""
    identities = {
        client: Identity.generate(randomness.derive("identity", client)) for client in terms.clients
    }
    allow_list = AllowList({client: identity.public_key for client, identity in identities.items()})
    agreement = protocol.agreement(terms, allow_list)
    return InProcessRun(agreement, identities, randomness, protocol.speed.threads)
