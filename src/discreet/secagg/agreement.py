"""Everything that client and server must hold in common before the first key: one value, one digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from discreet.errors import ConfigurationError, NotEnoughSurvivors
from discreet.secagg.codes import AbortCode
from discreet.secagg.graph import ChosenGraph, GraphRule, HararyGraph
from discreet.secagg.hazmat.field import GROUP_ORDER
from discreet.secagg.identity import AllowList
from discreet.secagg.modes import Mode
from discreet.secagg.terms import ClientId, SumTerms
from discreet.secagg.wire import counted, uint

SECRET_BYTES = 32
MAX_ROUNDS_PER_SETUP = 4096
MAX_HOLDERS = GROUP_ORDER
"""Points of the sharing field besides that of the secret."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The terms, and how they are carried out.

    Attributes:
        terms: what is summed, and the floors.
        mode: whom the parties trust.
        graph: who shares with whom.
        rounds_per_setup: how many one-time slots of mask keys a setup prepares; a round uses one up.
        identities: the signing keys of the clients.
        digest: hash of all of the above.
    """

    terms: SumTerms
    mode: Mode
    graph: GraphRule
    rounds_per_setup: int
    identities: AllowList
    digest: bytes = field(init=False)

    def __post_init__(self) -> None:
        if not 1 <= self.rounds_per_setup <= MAX_ROUNDS_PER_SETUP:
            raise ConfigurationError(
                f"rounds_per_setup must be in [1, {MAX_ROUNDS_PER_SETUP}]; got {self.rounds_per_setup}."
            )
        if self.mode.chooses_neighbors != isinstance(self.graph, ChosenGraph):
            raise ConfigurationError(
                "graph must be chosen by the clients in exactly the semi-malicious mode."
            )
        # On a circle clients are shown a root, under which a server that lies can name members that offered
        # nothing (ADR 45).
        if self.mode.confirms and self.shows_paths:
            raise ConfigurationError(
                f"graph must be complete or chosen by the clients in {self.mode.name} mode; got a circle."
            )
        holders = self.graph.most_holders(len(self.terms.clients))
        if not holders <= MAX_HOLDERS:
            raise ConfigurationError(
                f"at most {MAX_HOLDERS} clients can hold shares of one; got {holders}. "
                "Use a sparse graph (bell), or fewer clients."
            )
        if not set(self.terms.clients) <= set(self.identities.keys):
            raise ConfigurationError("identities must list every client of the terms; one is missing.")
        # Both semi-honest modes have one name. Who masks twice must not meet who masks once.
        mode = self.mode.name.encode() + uint(self.mode.double_masks, 1)
        # The empty part once named noise that can be taken off again; without it, digests would be others.
        parts = (mode, self.graph.describe(), uint(self.rounds_per_setup, 4), b"")
        body = self.terms.digest + self.identities.digest + b"".join(counted(part) for part in parts)
        object.__setattr__(self, "digest", hashlib.sha256(b"discreet/secagg/v1/agreement" + body).digest())

    @property
    def floor(self) -> int:
        """The fewest clients with which any stage may go on."""
        # Below the threshold nobody can unmask; below min_survivors the sum holds too little noise.
        return max(self.terms.threshold, self.terms.min_survivors)

    @property
    def shows_paths(self) -> bool:
        """Says whether a client is shown the keys of its neighbours, under a root, and no others (ADR 45)."""
        return isinstance(self.graph, HararyGraph)

    @property
    def num_seeds(self) -> int:
        """Seeds of a slot besides its mask key: that of the self mask, in modes that mask twice."""
        return 1 if self.mode.double_masks else 0

    @property
    def slot_bytes(self) -> int:
        """Bytes of the secrets, and of the shares, of one slot."""
        return SECRET_BYTES * (1 + self.num_seeds)

    def name(self, index: int) -> ClientId:
        """Returns the client with this number."""
        return self.terms.clients[index]

    def require_floor(self, present: int, deed: str) -> None:
        """Refuses to go on with fewer clients than the threshold and the floor.

        Raises:
            NotEnoughSurvivors: saying how many clients have done what.
        """
        if not present >= self.floor:
            raise NotEnoughSurvivors(
                AbortCode.TOO_FEW,
                f"at least {self.floor} clients must have {deed} (threshold={self.terms.threshold}, "
                f"min_survivors={self.terms.min_survivors}); got {present}. Nothing was unmasked.",
            )
