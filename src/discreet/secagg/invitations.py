"""What a call of `sum_round` must look like, whatever the protocol behind it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from discreet.errors import ConfigurationError, LocalProtocolError
from discreet.secagg.codes import AbortCode
from discreet.secagg.ring import InputVector
from discreet.secagg.terms import ClientId, RoundTerms, Stage, SumTerms

NO_DROPOUTS: Mapping[ClientId, Stage] = MappingProxyType({})


def check_invitations(
    terms: SumTerms, inputs: Mapping[ClientId, InputVector], dropouts: Mapping[ClientId, Stage]
) -> None:
    """Refuses inputs of clients outside the terms and dropouts of clients without an input.

    Raises:
        ConfigurationError: naming the client.
    """
    strangers = sorted(set(inputs) - set(terms.clients))
    if strangers:
        raise ConfigurationError(f"inputs must come from clients of the terms; got {strangers[0]!r}.")
    absent = sorted(set(dropouts) - set(inputs))
    if absent:
        raise ConfigurationError(f"dropouts must be clients with an input; got {absent[0]!r}.")


class RoundOrder:
    """Remembers the last round and attempt, so that none is summed twice under one name."""

    def __init__(self) -> None:
        self._last = (-1, -1)

    def advance(self, round_terms: RoundTerms) -> None:
        """Moves on to a later round or attempt.

        Raises:
            LocalProtocolError: if it is not later than the last one.
        """
        now = (round_terms.round_index, round_terms.attempt)
        if not now > self._last:
            raise LocalProtocolError(
                AbortCode.REPLAYED,
                f"(round_index, attempt) must grow; got {now} after {self._last}. "
                "Raise attempt to try a round again.",
            )
        self._last = now
