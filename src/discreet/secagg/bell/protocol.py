"""Secure aggregation by Bell et al. (CCS 2020, eprint 2020/704): everyone masks with a few others."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from discreet.errors import ConfigurationError
from discreet.randomness import RandomSource
from discreet.secagg.agreement import Agreement
from discreet.secagg.bell.parameters import SECURITY_BITS, Sparsity, find_sparsity
from discreet.secagg.bonawitz import DEFAULT_ROUNDS_PER_SETUP
from discreet.secagg.graph import ChosenGraph, CompleteGraph, GraphRule, HararyGraph
from discreet.secagg.identity import AllowList
from discreet.secagg.modes import (
    Malicious,
    Mode,
    SemiHonest,
    SemiMalicious,
    TrustModel,
    check_complete_graph,
    check_quorum,
    check_survivors,
    confirm_quorum,
    trust_model,
)
from discreet.secagg.pairwise import Speed, open_in_process
from discreet.secagg.run import InProcessRun
from discreet.secagg.terms import SumTerms

COMPLETE_UP_TO = 50


def max_in_degree(degree: int) -> int:
    """Returns how many choosers a client accepts, so that a server cannot make it mask with everyone.

    Honest draws exceed this with probability below 2^-60: the number of choosers is binomial with mean
    ``degree`` (Chernoff). Choosers get no shares, so the cap bounds work, not secrecy.
    """
    return 4 * degree + 40


@dataclass(frozen=True, slots=True)
class Bell:
    """Pairwise masks on a sparse graph; on the complete graph for up to 50 clients, where it saves nothing.

    The threshold of the terms is the one among a client's neighbours; `sparsity` finds it with the degree.

    Attributes:
        mode: whom the clients trust. On the complete graph `SemiMalicious` is carried out as `Malicious`,
            which is stronger.
        rounds_per_setup: one-time key slots made by one setup.
        speed: threads.
        security_bits: a sparse graph hides too little with probability at most 2^-security_bits.
    """

    mode: SemiHonest | SemiMalicious = field(default_factory=SemiMalicious)
    rounds_per_setup: int = DEFAULT_ROUNDS_PER_SETUP
    speed: Speed = field(default_factory=Speed)
    security_bits: int = SECURITY_BITS
    name: ClassVar[str] = "bell"

    def __post_init__(self) -> None:
        if self.mode.confirms and not self.mode.chooses_neighbors:
            raise ConfigurationError(
                f"mode must be semi-honest or semi-malicious on sparse graphs; got {self.mode.name}. "
                "Use Bonawitz(mode=Malicious())."
            )

    @property
    def trust_model(self) -> TrustModel:
        """Whom it trusts."""
        return trust_model(self.mode)

    def sparsity(self, num_clients: int, min_survivors: int, max_colluding: int) -> Sparsity:
        """Returns the degree and the threshold for more than 50 clients.

        Raises:
            ConfigurationError: if only a complete graph would do.
        """
        dropouts, bits = num_clients - min_survivors, self.security_bits
        return find_sparsity(num_clients, max_colluding, dropouts, self.mode, security_bits=bits)

    def check(self, terms: SumTerms) -> None:
        """Refuses thresholds that break the bounds.

        Raises:
            ConfigurationError: naming the parameter to change.
        """
        if len(terms.clients) <= COMPLETE_UP_TO:
            check_complete_graph(self._mode(terms), terms)
            return
        check_survivors(terms)
        self._check_quorum(terms)
        found = self._sparsity(terms)
        if terms.threshold != found.threshold:
            raise ConfigurationError(
                f"threshold must be {found.threshold} on a graph of degree {found.degree} for "
                f"{len(terms.clients)} clients, min_survivors={terms.min_survivors} and "
                f"max_colluding={terms.max_colluding}; got {terms.threshold}."
            )

    def check_against(self, terms: SumTerms, max_colluding: int) -> None:
        """Refuses terms that do not withstand ``max_colluding`` clients, whatever the terms assume.

        A sparse graph must be the one that this number asks for.

        Raises:
            ConfigurationError: naming the parameter to change.
        """
        assumed = replace(terms, max_colluding=max_colluding)
        check_quorum(self.mode, terms, max_colluding)
        if len(terms.clients) <= COMPLETE_UP_TO:
            check_complete_graph(self._mode(terms), assumed)
            return
        asked, found = (self._sparsity(one) for one in (assumed, terms))
        if asked != found:
            raise ConfigurationError(
                f"a graph that withstands max_colluding={max_colluding} must have degree {asked.degree} and "
                f"threshold {asked.threshold}; got {found.degree} and {found.threshold}, for "
                f"max_colluding={terms.max_colluding}. Raise max_colluding."
            )

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        """Returns what client and server sessions of this protocol hold in common.

        Raises:
            ConfigurationError: as `check`, or for an identity that is missing.
        """
        self.check(terms)
        mode, graph = self._mode(terms), self._graph(terms)
        return Agreement(terms, mode, graph, self.rounds_per_setup, identities)

    def open(self, terms: SumTerms, randomness: RandomSource) -> InProcessRun:
        """Opens a session in this process; see `SumProtocol`."""
        return open_in_process(self, terms, randomness)

    def _sparsity(self, terms: SumTerms) -> Sparsity:
        """Returns the graph that the terms ask for."""
        return self.sparsity(len(terms.clients), terms.min_survivors, terms.max_colluding)

    def _mode(self, terms: SumTerms) -> Mode:
        """Returns the mode that is carried out."""
        complete = len(terms.clients) <= COMPLETE_UP_TO
        return Malicious() if complete and isinstance(self.mode, SemiMalicious) else self.mode

    def _graph(self, terms: SumTerms) -> GraphRule:
        """Returns the rule of the graph."""
        if len(terms.clients) <= COMPLETE_UP_TO:
            return CompleteGraph()
        degree = self._sparsity(terms).degree
        if isinstance(self.mode, SemiHonest):
            return HararyGraph(degree)
        return ChosenGraph(degree, max_in_degree(degree))

    def _check_quorum(self, terms: SumTerms) -> None:
        """Refuses a floor below the number of confirmations that a survivor set needs."""
        n, colluding = len(terms.clients), terms.max_colluding
        quorum = confirm_quorum(n, colluding)
        if self.mode.confirms and not terms.min_survivors >= quorum:
            raise ConfigurationError(
                f"min_survivors must be at least {quorum}, the confirmations that {n} clients with "
                f"max_colluding={colluding} need; got {terms.min_survivors}."
            )
