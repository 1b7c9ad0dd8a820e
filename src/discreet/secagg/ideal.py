"""The oracle: a trusted party adds up. What every protocol must equal, and no protection at all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.errors import NotEnoughSurvivors
from discreet.randomness import RandomSource
from discreet.secagg.codes import AbortCode
from discreet.secagg.invitations import NO_DROPOUTS, RoundOrder, check_invitations
from discreet.secagg.modes import TrustModel, check_survivors
from discreet.secagg.packing import packed_size
from discreet.secagg.ring import InputVector, to_ring, to_total, word_type
from discreet.secagg.terms import ClientId, RoundTerms, Stage, SumOutcome, SumTerms


@dataclass(frozen=True, slots=True)
class Ideal:
    """A trusted server sees every input and returns the sum of the survivors.

    Example:
        >>> from discreet.randomness import SeededRandom
        >>> terms = SumTerms(bytes(32), ("a", "b", "c"), 2, 2, 0, 16, 1, bytes(32))
        >>> run = Ideal().open(terms, SeededRandom(0))
        >>> run.sum_round(RoundTerms(0, 0, bytes(32)), {c: np.array([2]) for c in "abc"}).total
        array([6], dtype=uint64)
    """

    name: ClassVar[str] = "ideal"
    trust_model: ClassVar[TrustModel] = TrustModel(
        "nothing is hidden from the server", ("everyone trusts it with every input",)
    )

    def check(self, terms: SumTerms) -> None:
        """Refuses a floor that no protocol would accept, so that plans can switch protocols freely."""
        check_survivors(terms)

    def open(self, terms: SumTerms, randomness: RandomSource) -> IdealRun:  # noqa: ARG002 - nothing is random
        """Opens a session; see `SumProtocol`."""
        self.check(terms)
        return IdealRun(terms)


class IdealRun:
    """Adds in the clear, under the same rules on inputs, dropouts and the floor as every protocol."""

    def __init__(self, terms: SumTerms) -> None:
        self._terms = terms
        self._order = RoundOrder()

    def sum_round(
        self,
        round_terms: RoundTerms,
        inputs: Mapping[ClientId, InputVector],
        dropouts: Mapping[ClientId, Stage] = NO_DROPOUTS,
    ) -> SumOutcome:
        """Sums the survivors; see `SumRun.sum_round`."""
        terms = self._terms
        check_invitations(terms, inputs, dropouts)
        vectors = {client: to_ring(inputs[client], terms.bits, terms.length) for client in inputs}
        self._order.advance(round_terms)
        survivors = _survivors(terms, inputs, dropouts)
        if not len(survivors) >= terms.min_survivors:
            raise NotEnoughSurvivors(
                AbortCode.TOO_FEW,
                f"round {round_terms.round_index}: min_survivors={terms.min_survivors} inputs are needed; "
                f"got {len(survivors)}. Nothing was released.",
            )
        total = np.zeros(terms.length, dtype=word_type(terms.bits))
        for client in survivors:
            total += vectors[client]
        size = packed_size(terms.length, terms.bits)
        names = "\0".join(survivors).encode()
        return SumOutcome(
            total=to_total(total, terms.bits),
            survivors=survivors,
            transcript=hashlib.sha256(terms.digest + round_terms.body() + names).digest(),
            bytes_per_client=size,
        )


def _survivors(
    terms: SumTerms, inputs: Mapping[ClientId, InputVector], dropouts: Mapping[ClientId, Stage]
) -> tuple[ClientId, ...]:
    """Returns whose inputs count, in the order of the terms."""
    gone = {client for client, stage in dropouts.items() if not stage.keeps_input}
    return tuple(client for client in terms.clients if client in inputs and client not in gone)
