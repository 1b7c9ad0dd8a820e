"""The one interface of every secure sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from discreet.randomness import RandomSource
from discreet.secagg.modes import TrustModel
from discreet.secagg.ring import InputVector
from discreet.secagg.terms import ClientId, RoundTerms, Stage, SumOutcome, SumTerms


class SumRun(Protocol):
    """An opened session, ready to sum round after round."""

    def sum_round(
        self,
        round_terms: RoundTerms,
        inputs: Mapping[ClientId, InputVector],
        dropouts: Mapping[ClientId, Stage] = ...,
    ) -> SumOutcome:
        """Sums the inputs of the survivors modulo ``2^bits``.

        Args:
            round_terms: ``(round_index, attempt)`` must grow from call to call.
            inputs: one vector a client that is invited; see `discreet.secagg.ring.to_ring`.
            dropouts: where an invited client disappears. One that drops out at ``MASK`` or before is not in
                the sum; one that drops out later is.

        Raises:
            NotEnoughSurvivors: if fewer than the floor or the threshold are left; nothing was unmasked.
            ProtocolAbort: for everything else that ends a round without a sum.
        """
        ...


class SumProtocol(Protocol):
    """A way to sum: a frozen value that both ends can compare."""

    @property
    def name(self) -> str:
        """The name in configurations and reports."""
        ...

    @property
    def trust_model(self) -> TrustModel:
        """Whom it trusts."""
        ...

    def check(self, terms: SumTerms) -> None:
        """Refuses terms under which the trust model would not hold."""
        ...

    def open(self, terms: SumTerms, randomness: RandomSource) -> SumRun:
        """Opens a session in this process, with a server and all clients."""
        ...


def validate_terms(protocol: SumProtocol, terms: SumTerms) -> None:
    """Refuses terms that ``protocol`` cannot keep its promises under.

    Raises:
        ConfigurationError: naming the parameter to change.
    """
    protocol.check(terms)
