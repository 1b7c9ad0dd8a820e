"""Which secure aggregation a config names, with which thresholds, and how surely it hides."""

from __future__ import annotations

import math

from discreet.config import Config
from discreet.errors import ConfigurationError, HowTo
from discreet.plan.failures import rare
from discreet.plan.releases import Thresholds, most_setups
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
from discreet.secagg.bell.parameters import SECURITY_BITS
from discreet.secagg.bell.protocol import COMPLETE_UP_TO
from discreet.secagg.terms import MIN_CLIENTS


def sum_protocol(config: Config) -> SumProtocol:
    """Returns the protocol that ``config.aggregation`` names."""
    looking = SemiHonest(one_phase=config.aggregation.mode == "one-phase")
    lying = config.aggregation.mode == "malicious"
    match config.aggregation.protocol:
        case "ideal" | "none":
            return Ideal()  # whoever adds up sees every contribution
        case "bonawitz":
            return Bonawitz(Malicious() if lying else looking)
        case "bell":
            return Bell(SemiMalicious() if lying else looking, security_bits=_security_bits(config))


def graph_failure_prob(config: Config, num_silos: int) -> float:
    """Bounds the probability that a sparse graph of masks hides too little; 0 for a complete graph."""
    protocol = sum_protocol(config)
    if not (isinstance(protocol, Bell) and num_silos > COMPLETE_UP_TO):
        return 0.0
    return float(2.0**-protocol.security_bits)


def _security_bits(config: Config) -> int:
    """Returns how sure one sparse graph must be, so that all of a training are rare against its δ."""
    failing = rare(config, most_setups(config.training.planned_rounds), most=2.0**-SECURITY_BITS)
    return math.ceil(-math.log2(failing))


def plan_thresholds(config: Config, num_silos: int) -> Thresholds:
    """Returns survivors, colluders and shares; by default every silo must survive.

    Raises:
        ConfigurationError: if there are too few silos, fewer than two honest survivors are certain, or no
            number of shares satisfies the mode.
    """
    aggregation = config.aggregation
    if aggregation.protocol == "none":
        return Thresholds(num_silos, 1, 0, 1, against_members=False)
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
    return Thresholds(
        num_silos, survivors, colluding, threshold, against_members=config.privacy.against == "members"
    )


def _share_threshold(protocol: SumProtocol, num_silos: int, survivors: int, colluding: int) -> int:
    """Returns how many shares unmask: the fewest that the protocol's mode allows."""
    match protocol:
        case Bell() if num_silos > COMPLETE_UP_TO:
            return protocol.sparsity(num_silos, survivors, colluding).threshold
        case Bonawitz(mode=mode) | Bell(mode=mode):
            return default_threshold(num_silos, survivors, colluding, mode)
        case _:
            return default_threshold(num_silos, survivors, colluding, SemiHonest())
