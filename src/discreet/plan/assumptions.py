"""What a guarantee takes for granted besides its proof: in words, row by row (docs/theory/rows.md)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from discreet.config import Config
from discreet.config.data_assumptions import data_assumptions
from discreet.kinds.float_error import ROWS_ALIKE
from discreet.kinds.model_facts import NORMALISES, names_own_code
from discreet.mechanisms import SAMPLER_ASSUMPTION
from discreet.plan.aggregation import sum_protocol
from discreet.plan.releases import RoundRelease, most_setups
from discreet.privacy.adversary import (
    AggregationServer,
    ServerWithColluders,
    WithoutSecureAggregation,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Status, Unit
from discreet.secagg import Bell, Ideal, Malicious, SemiMalicious
from discreet.secagg.modes import TrustModel, trust_model

STATELESS = (
    "the model that the plan names is a function of its weights and of the record alone: one that is not "
    "bundled keeps nothing from call to call, and has numbers for every record, whatever it holds"
)
OWN_MAP = (
    "the feature map that the plan names is a function of one record alone: it keeps nothing from call to "
    "call, and whatever it was fitted to is public"
)
PUBLIC_WEIGHTS = (
    "the public weights of {file} (SHA-256 {sha256}…) were made from public data alone, as their source "
    "says: {source}, {licence}"
)
OWN_LOSS = (
    "a loss of one's own that the plan names is a function of logits and label alone, convex in the logits, "
    "with the constants that the plan states"
)
PRESENCE = "which clients take part (answer) in the federation is public"
DROPPING_OUT = "no honest silo's dropping out depends on its records or its noise"
ONE_SET = "one survivor set a round is opened"
NO_CHOICE = "whether a round is tried again does not depend on what this adversary has seen"
NO_CHOSEN_END = "nobody ended the training because of what it had released"
NO_RETRY = "no round is tried again; each further attempt shows one more message"
NO_FURTHER_RETRY = "no round is tried again after {aborted} attempts; each further one shows one more message"

_RANDOM_BITS = "AES-256 in counter mode cannot be told from random bits"
_PRIMITIVES = "X25519, Ed25519, AES-256-GCM and HKDF-SHA-256 are not broken"
_ANYTHING = trust_model(Malicious()).server


def assuming(
    config: Config, release: RoundRelease, guarantee: Guarantee, *, rounds: int, aborted: int, over: bool
) -> Guarantee:
    """Adds to a guarantee everything that it takes for granted.

    Noise and masks are expanded by AES, so no guarantee is information-theoretic. The oracle ``ideal`` hides
    nothing from whoever computes the sum, so with it a guarantee against the server is CONDITIONAL on
    trusting that party.

    Args:
        config: what was asked for.
        release: what one round releases.
        guarantee: from the accountant.
        rounds: releases that it covers.
        aborted: attempts that released nothing, besides.
        over: True if there will be no further attempt.
    """
    # A kind that knows of batch norm says for itself what the model is a function of.
    stateless = names_own_code(config.model.name) and NORMALISES not in release.assumptions
    own_model = (STATELESS,) if stateless else ()
    own_loss = () if config.model.loss is None else (OWN_LOSS,)
    # A map that was fitted to clients' records would tell of them, whatever the unit is.
    own_map = (OWN_MAP,) if (config.data.transform or "").startswith(("map:", "network:")) else ()
    # Of a client all records are mapped, and no other's: what they do to each other stays its own.
    together = (ROWS_ALIKE,) if _maps_together(config) and guarantee.unit is not Unit.CLIENT else ()
    assumed = [DROPPING_OUT, _RANDOM_BITS, SAMPLER_ASSUMPTION]
    status = guarantee.status
    match guarantee.adversary:
        case AggregationServer() | ServerWithColluders():
            if config.aggregation.protocol == "ideal":
                status = Status.CONDITIONAL
            setups = most_setups(rounds + aborted)
            assumed += _against_server(config, release, guarantee.adversary, rounds=rounds, setups=setups)
        case WithoutSecureAggregation():
            # An observer that may end attempts chooses, by what it saw, how many messages there are.
            if aborted:
                assumed.append(NO_CHOICE)
            if not over:
                assumed.append(NO_FURTHER_RETRY.format(aborted=aborted) if aborted else NO_RETRY)
        case _:
            pass
    # A client is all that it holds: how its records were read makes no other pair of neighbours.
    of_data = (PRESENCE,) if guarantee.unit is Unit.CLIENT else data_assumptions(config.data)
    stated = (
        *guarantee.assumptions,
        *release.assumptions,
        *own_model,
        *own_loss,
        *own_map,
        *together,
        *public_weights(config),
        *of_data,
        *assumed,
    )
    # The same words may come from training and from data.
    return replace(guarantee, status=status, assumptions=tuple(dict.fromkeys(stated)))


def _maps_together(config: Config) -> bool:
    """Says whether features are made of many records at once, by kernels that must treat them alike."""
    transform = config.data.transform
    return transform is not None and not transform.startswith(("map:", "network:", "onnx:"))


def public_weights(config: Config) -> tuple[str, ...]:
    """Returns what is assumed of each file of public weights: no guarantee covers whom they tell of."""
    _, _, path = (config.data.transform or "").partition(":")
    stated = [one for one in (config.data.pretrained, config.model.pretrained) if one is not None]
    return tuple(
        PUBLIC_WEIGHTS.format(
            file=PurePath(one.file or path).name,
            sha256=one.sha256[:12],
            source=one.source,
            licence=one.licence,
        )
        for one in stated
    )


def _against_server(
    config: Config,
    release: RoundRelease,
    adversary: AggregationServer | ServerWithColluders,
    *,
    rounds: int,
    setups: int,
) -> list[str]:
    """Returns what keeps one message from the server, and the server to one sum a round."""
    trust = _trust(config, release)
    assumed = [_for_adversary(text, adversary) for text in trust.assumptions]
    if isinstance(sum_protocol(config), Ideal):
        return assumed
    assumed.append(_PRIMITIVES)
    if trust.server != _ANYTHING:
        assumed.append(trust.server)
    if config.aggregation.mode == "malicious":
        sums = "sum is" if rounds == 1 else "sums are"
        of_each = " of each silo's" if config.training.schedule else ""
        counted = "; a silo's own ledger counts those that it was in"
        assumed.append(f"at most {rounds} {sums} opened{of_each}{counted}")
    else:
        assumed.append(ONE_SET)
    if release.graph_failure_prob > 0.0:
        assumed.append(f"the sparse graph of masks is drawn at most {setups} times")
    return assumed


def _trust(config: Config, release: RoundRelease) -> TrustModel:
    """Returns the trust model of the mode that is carried out: Bell's complete graph is as Bonawitz'."""
    protocol = sum_protocol(config)
    complete = release.graph_failure_prob == 0.0
    if isinstance(protocol, Bell) and isinstance(protocol.mode, SemiMalicious) and complete:
        return trust_model(Malicious())
    return protocol.trust_model


def _for_adversary(assumption: str, adversary: AggregationServer | ServerWithColluders) -> str:
    """Puts the number of colluders that this row is about into a protocol's general assumption."""
    colluders = adversary.num_colluders if isinstance(adversary, ServerWithColluders) else 0
    who = {0: "no silo conspires", 1: "at most 1 silo conspires"}.get(colluders)
    return assumption.replace(
        "at most max_colluding clients conspire", who or f"at most {colluders} silos conspire"
    )
