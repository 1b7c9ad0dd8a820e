"""Secure aggregation by Bonawitz et al. (CCS 2017, eprint 2017/281): everyone masks with everyone."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from discreet.randomness import RandomSource
from discreet.secagg.agreement import Agreement
from discreet.secagg.graph import CompleteGraph
from discreet.secagg.identity import AllowList
from discreet.secagg.modes import (
    Malicious,
    SemiHonest,
    TrustModel,
    check_complete_graph,
    check_quorum,
    trust_model,
)
from discreet.secagg.pairwise import Speed, open_in_process
from discreet.secagg.run import InProcessRun
from discreet.secagg.terms import SumTerms

DEFAULT_ROUNDS_PER_SETUP = 8


@dataclass(frozen=True, slots=True)
class Bonawitz:
    """Pairwise masks on the complete graph.

    Attributes:
        mode: whom the clients trust; `Malicious` adds a round in which they confirm the survivors.
        rounds_per_setup: one-time key slots made by one setup. More slots mean fewer setups and larger ones;
            a client whose machine is seized exposes the rounds of its open setup only.
        speed: threads.

    Example:
        >>> import numpy as np
        >>> from discreet.randomness import SeededRandom
        >>> from discreet.secagg.terms import RoundTerms
        >>> terms = SumTerms(bytes(32), ("a", "b", "c"), 2, 2, 0, 16, 1, bytes(32))
        >>> run = Bonawitz().open(terms, SeededRandom(0))
        >>> run.sum_round(RoundTerms(0, 0, bytes(32)), {c: np.array([2]) for c in "abc"}).total
        array([6], dtype=uint64)
    """

    mode: SemiHonest | Malicious = field(default_factory=Malicious)
    rounds_per_setup: int = DEFAULT_ROUNDS_PER_SETUP
    speed: Speed = field(default_factory=Speed)
    name: ClassVar[str] = "bonawitz"

    @property
    def trust_model(self) -> TrustModel:
        """Whom it trusts."""
        return trust_model(self.mode)

    def check(self, terms: SumTerms) -> None:
        """Refuses thresholds that break the mode's inequality.

        Raises:
            ConfigurationError: naming the parameter to change.
        """
        check_complete_graph(self.mode, terms)

    def check_against(self, terms: SumTerms, max_colluding: int) -> None:
        """Refuses terms that do not withstand ``max_colluding`` clients, whatever the terms assume.

        Raises:
            ConfigurationError: naming the parameter to change.
        """
        check_complete_graph(self.mode, replace(terms, max_colluding=max_colluding))
        check_quorum(self.mode, terms, max_colluding)

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        """Returns what client and server sessions of this protocol hold in common.

        Raises:
            ConfigurationError: as `check`, or for an identity that is missing.
        """
        self.check(terms)
        return Agreement(terms, self.mode, CompleteGraph(), self.rounds_per_setup, identities)

    def open(self, terms: SumTerms, randomness: RandomSource) -> InProcessRun:
        """Opens a session in this process; see `SumProtocol`."""
        return open_in_process(self, terms, randomness)
