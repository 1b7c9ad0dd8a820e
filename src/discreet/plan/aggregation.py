"""Which secure aggregation a config names, and what a guarantee against the server takes for granted."""

from __future__ import annotations

from dataclasses import replace

from discreet.config import Config
from discreet.errors import ConfigurationError, HowTo
from discreet.plan.releases import Thresholds
from discreet.privacy.adversary import AggregationServer, ServerWithColluders
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Status
from discreet.secagg import (
    Bell,
    Bonawitz,
    Ideal,
    Malicious,
    SemiHonest,
    SemiMalicious,
    SumProtocol,
    default_threshold,
)
from discreet.secagg.bell.protocol import COMPLETE_UP_TO
from discreet.secagg.terms import MIN_CLIENTS

_RANDOM_BITS = "AES-256 in counter mode cannot be told from random bits"
_PRIMITIVES = "X25519, Ed25519, AES-256-GCM and HKDF-SHA-256 are not broken"


def sum_protocol(config: Config) -> SumProtocol:
    """Returns the protocol that ``config.aggregation`` names."""
    looking = SemiHonest(one_phase=config.aggregation.mode == "one-phase")
    lying = config.aggregation.mode == "malicious"
    match config.aggregation.protocol:
        case "ideal":
            return Ideal()
        case "bonawitz":
            return Bonawitz(Malicious() if lying else looking)
        case "bell":
            return Bell(SemiMalicious() if lying else looking)


def plan_thresholds(config: Config, num_silos: int) -> Thresholds:
    """Returns survivors, colluders and shares; by default every silo must survive.

    Raises:
        ConfigurationError: if there are too few silos, fewer than two honest survivors are certain, or no
            number of shares satisfies the mode.
    """
    aggregation = config.aggregation
    survivors = num_silos if aggregation.min_survivors is None else aggregation.min_survivors
    colluding = aggregation.max_colluding
    if num_silos < MIN_CLIENTS:
        raise ConfigurationError(
            f"at least {MIN_CLIENTS} silos are needed, or the sum of two shows one silo's update to the "
            f"other; got {num_silos}."
        )
    if survivors > num_silos:
        raise ConfigurationError(
            f"'aggregation.min_survivors' must be at most the number of silos, {num_silos}; got {survivors}.",
            see=HowTo.DROPOUTS,
        )
    if survivors - colluding < 2:
        raise ConfigurationError(
            "'aggregation.min_survivors' minus 'aggregation.max_colluding' must be at least 2, or the sum "
            f"shows a single honest silo; got {survivors} - {colluding}. "
            "Raise min_survivors or lower max_colluding.",
            see=HowTo.DROPOUTS,
        )
    threshold = _share_threshold(sum_protocol(config), num_silos, survivors, colluding)
    return Thresholds(num_silos, survivors, colluding, threshold)


def _share_threshold(protocol: SumProtocol, num_silos: int, survivors: int, colluding: int) -> int:
    """Returns how many shares unmask: the fewest that the protocol's mode allows."""
    match protocol:
        case Bell() if num_silos > COMPLETE_UP_TO:
            return protocol.sparsity(num_silos, survivors, colluding).threshold
        case Bonawitz(mode=mode) | Bell(mode=mode):
            return default_threshold(num_silos, survivors, colluding, mode)
        case _:
            return default_threshold(num_silos, survivors, colluding, SemiHonest())


def under_aggregation(config: Config, guarantee: Guarantee) -> Guarantee:
    """Adds to a guarantee what cryptography it rests on and, against the server, what the protocol assumes.

    Noise and masks are expanded by AES, so no guarantee is information-theoretic. The oracle ``ideal`` hides
    nothing from whoever computes the sum, so with it a guarantee against the server is CONDITIONAL on
    trusting that party.
    """
    guarantee = replace(guarantee, assumptions=(*guarantee.assumptions, _RANDOM_BITS))
    if not isinstance(guarantee.adversary, AggregationServer | ServerWithColluders):
        return guarantee
    protocol = sum_protocol(config)
    status = Status.CONDITIONAL if isinstance(protocol, Ideal) else guarantee.status
    assumed = [_for_adversary(text, guarantee.adversary) for text in protocol.trust_model.assumptions]
    if not isinstance(protocol, Ideal):
        assumed.append(_PRIMITIVES)
    if config.aggregation.mode != "malicious":
        assumed.append(protocol.trust_model.server)
    return replace(guarantee, status=status, assumptions=(*guarantee.assumptions, *assumed))


def _for_adversary(assumption: str, adversary: AggregationServer | ServerWithColluders) -> str:
    """Puts the number of colluders that this row is about into a protocol's general assumption."""
    colluders = adversary.num_colluders if isinstance(adversary, ServerWithColluders) else 0
    who = {0: "no silo conspires", 1: "at most 1 silo conspires"}.get(colluders)
    return assumption.replace(
        "at most max_colluding clients conspire", who or f"at most {colluders} silos conspire"
    )
