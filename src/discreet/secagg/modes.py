"""Whom a protocol trusts, as values, and the inequalities that the thresholds of each mode must satisfy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import ConfigurationError
from discreet.secagg.terms import SumTerms


@dataclass(frozen=True, slots=True)
class SemiHonest:
    """The server and up to ``max_colluding`` clients follow the protocol but pool all that they see.

    With ``one_phase`` a round in which everyone answers ends with the masked inputs: there is no self mask to
    take off. The price: when someone drops out, the survivors reveal the masks that they shared with it, and
    a server that still reads its late message learns its input. The assumption grows to "a server that has
    declared a client gone discards, unread, whatever still arrives from it".
    """

    one_phase: bool = False
    name: ClassVar[str] = "semi-honest"
    confirms: ClassVar[bool] = False
    consents: ClassVar[bool] = False
    attests: ClassVar[bool] = False
    chooses_neighbors: ClassVar[bool] = False

    @property
    def double_masks(self) -> bool:
        """Says whether a self mask covers every input besides the pairwise masks."""
        return not self.one_phase


@dataclass(frozen=True, slots=True)
class Malicious:
    """The server and up to ``max_colluding`` clients do whatever they like, together.

    Inputs of honest clients stay hidden but for one sum of at least ``min_survivors`` inputs a round. The sum
    may be wrong or missing. With its masked input a client signs that the sum of everybody invited may be
    unmasked (``consents``), so that only a round in which someone drops out needs a survivor set confirmed.
    """

    name: ClassVar[str] = "malicious"
    confirms: ClassVar[bool] = True
    consents: ClassVar[bool] = True
    attests: ClassVar[bool] = False
    chooses_neighbors: ClassVar[bool] = False
    double_masks: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class SemiMalicious:
    """As malicious, but the server is honest until it has committed to the list of keys (Bell et al. 2020).

    Every client draws its own neighbours, so the server cannot surround it with colluders afterwards, and
    sees all draws. With its masked input it signs the round that it masked for (``attests``); nobody unmasks
    the input of a survivor that did not sign the same round.
    """

    name: ClassVar[str] = "semi-malicious"
    confirms: ClassVar[bool] = True
    consents: ClassVar[bool] = False
    attests: ClassVar[bool] = True
    chooses_neighbors: ClassVar[bool] = True
    double_masks: ClassVar[bool] = True


Mode = SemiHonest | Malicious | SemiMalicious


@dataclass(frozen=True, slots=True)
class TrustModel:
    """What a protocol stops and what it takes for granted, in words for a report.

    Attributes:
        server: what the server may do without learning a single input.
        assumptions: what must be true besides.
    """

    server: str
    assumptions: tuple[str, ...]


_COLLUSION = "at most max_colluding clients conspire with the server"
_TRUST = {
    SemiHonest(): TrustModel("the server follows the protocol but keeps all that it sees", (_COLLUSION,)),
    SemiHonest(one_phase=True): TrustModel(
        "the server follows the protocol but keeps all that it sees",
        (_COLLUSION, "the server discards unread what arrives from a client that it has declared gone"),
    ),
    Malicious(): TrustModel(
        "the server may do anything",
        (_COLLUSION, "identities were enrolled honestly"),
    ),
    SemiMalicious(): TrustModel(
        "the server may do anything once it has committed to the key list",
        (_COLLUSION, "identities were enrolled honestly"),
    ),
}


def trust_model(mode: Mode) -> TrustModel:
    """Returns what ``mode`` stops and assumes."""
    return _TRUST[mode]


def confirm_quorum(num_clients: int, max_colluding: int) -> int:
    """Returns the fewest signatures of which two sets always share an honest signer: 2q > n + T."""
    return (num_clients + max_colluding) // 2 + 1


def default_threshold(num_clients: int, min_survivors: int, max_colluding: int, mode: Mode) -> int:
    """Chooses the share threshold on a complete graph: the smallest majority that the mode allows.

    Guarantee:
        ``max_colluding + 1 <= t <= min_survivors``, and ``2 t > num_clients + max_colluding`` where the
        survivor set is confirmed (Bonawitz et al. 2017, section 6, theorem 6.5).

    Raises:
        ConfigurationError: if no threshold satisfies the mode.

    Example:
        >>> default_threshold(4, min_survivors=3, max_colluding=1, mode=Malicious())
        3
    """
    majority = confirm_quorum(num_clients, max_colluding)
    if not mode.confirms:
        majority = min(majority, min_survivors)
    # A threshold of one would make every share the secret itself.
    threshold = max(2, max_colluding + 1, majority)
    if not threshold <= min_survivors:
        raise ConfigurationError(
            f"min_survivors must be at least {threshold} for {num_clients} silos, max_colluding="
            f"{max_colluding} in {mode.name} mode; got {min_survivors}. Raise min_survivors or lower "
            "max_colluding."
        )
    return threshold


def check_complete_graph(mode: Mode, terms: SumTerms) -> None:
    """Refuses terms that break an inequality of the mode when everyone shares with everyone.

    Raises:
        ConfigurationError: naming the parameter to change.
    """
    n, t, low, colluding = len(terms.clients), terms.threshold, terms.min_survivors, terms.max_colluding
    check_survivors(terms)
    if not colluding + 1 <= t:
        raise ConfigurationError(
            f"threshold must exceed max_colluding={colluding}, or colluders recover secrets alone; got {t}."
        )
    if not t <= low:
        raise ConfigurationError(
            f"threshold must be at most min_survivors={low}, or the fewest survivors cannot unmask; got {t}."
        )
    # An honest holder answers for one set, a colluder for both. Both kinds of share of one client take a + T
    # >= t and b + T >= t with a + b <= n - T (Bonawitz et al. 2017, theorem 6.5; ADR 42).
    if mode.confirms and not 2 * t > n + colluding:
        raise ConfigurationError(
            f"threshold must satisfy 2 * threshold > clients + max_colluding = {n + colluding} in "
            f"{mode.name} mode; got {t}. Raise threshold (and min_survivors) or lower max_colluding."
        )


def check_quorum(mode: Mode, terms: SumTerms, max_colluding: int) -> None:
    """Refuses confirmations that this many colluders could give for two survivor sets.

    Clients count the confirmations that the terms ask for, whoever assumes more colluders than they do.

    Raises:
        ConfigurationError: naming the parameter to change.
    """
    n = len(terms.clients)
    quorum = confirm_quorum(n, terms.max_colluding)
    if mode.confirms and not 2 * quorum > n + max_colluding:
        raise ConfigurationError(
            f"max_colluding of the terms must be {max_colluding}, or {quorum} confirmations of {n} clients "
            f"allow two survivor sets; got {terms.max_colluding}."
        )


def check_survivors(terms: SumTerms) -> None:
    """Refuses a floor under which a sum may hold the input of one honest client only."""
    if not terms.min_survivors - terms.max_colluding >= 2:
        raise ConfigurationError(
            "min_survivors must be at least max_colluding + 2, so that a sum hides two honest inputs in each "
            f"other; got {terms.min_survivors} and max_colluding={terms.max_colluding}."
        )
