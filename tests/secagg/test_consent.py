"""Consent to the whole roster, given with the masked input: what it saves, and what a lying server gains.

docs/adr/0042 has the argument; here a server that shows one half of the clients everybody's consent and the
other half a confirmed smaller set gathers whatever it can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import ConfigurationError, NotEnoughSurvivors, PeerProtocolError, ProtocolAbort
from discreet.secagg import (
    Agreement,
    AllowList,
    Bonawitz,
    Identity,
    Malicious,
    SemiHonest,
    SemiMalicious,
    SumTerms,
    binding,
)
from discreet.secagg.graph import ChosenGraph, CompleteGraph
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import ConfirmSet, RoundStart, SurvivorSet
from discreet.secagg.modes import confirm_quorum
from discreet.secagg.packing import add_packed
from discreet.secagg.ring import reduce_words, to_ring, word_type
from discreet.secagg.server.recovery import Released, recover_all
from discreet.secagg.transitions import ClientState
from tests.secagg.conftest import MakeWorld, World

SELF, MASK_KEY = "self seed", "mask key"


@pytest.fixture
def make_unchecked(
    make_session: Callable[[Agreement, int], World],
    terms_of: Callable[..., SumTerms],
    identities_of: Callable[[Iterable[str]], dict[str, Identity]],
) -> Callable[..., Any]:
    """Worlds whose terms nobody has checked: attacks also need bad ones."""

    def make(n: int, mode: Malicious | SemiHonest | SemiMalicious, **terms: Any) -> World:
        chosen = terms_of(n, **terms)
        identities = identities_of(chosen.clients)
        allow_list = AllowList({name: one.public_key for name, one in identities.items()})
        graph = ChosenGraph(n - 1, n) if mode.chooses_neighbors else CompleteGraph()
        return make_session(Agreement(chosen, mode, graph, 2, allow_list), 0)

    return make


def exchanges(world: World, outgoing: dict[str, bytes]) -> int:
    count = 0
    while outgoing:
        outgoing = world.step(outgoing)
        count += 1
    return count


@pytest.mark.parametrize(
    ("mode", "healthy", "dropout"),
    [
        (Malicious(), 2, 3),
        (SemiMalicious(), 3, 3),
        (SemiHonest(), 2, 2),
        (SemiHonest(one_phase=True), 1, 2),
    ],
    ids=repr,
)
def test_exchanges_of_a_round(
    make_unchecked: Callable[..., Any],
    mode: Malicious | SemiHonest | SemiMalicious,
    healthy: int,
    dropout: int,
) -> None:
    world = make_unchecked(5, mode, threshold=3).set_up()
    assert exchanges(world, world.begin(0)) == healthy
    assert np.array_equal(world.server.result().total, world.expected(world.names))
    world.gone.add("client-4")
    assert exchanges(world, world.begin(1)) == dropout
    assert np.array_equal(world.server.result().total, world.expected(world.names[:4]))


@pytest.mark.parametrize("forged", [b"", bytes(64)])
def test_an_input_without_consent_is_no_input(make_world: MakeWorld, forged: bytes) -> None:
    world = make_world().set_up()
    replies = world.deliver(world.begin())
    replies["client-2"] = world.write(replace(world.read(replies["client-2"]), consent=forged))
    world.upload(replies)
    assert world.rejected("client-2") == "bad-signature"
    world.gone.add("client-2")
    world.finish(world.server.close_stage())
    assert world.server.result().survivors == (0, 1, 3, 4)


def test_consent_of_another_round_is_none(make_world: MakeWorld) -> None:
    world = make_world().set_up()
    earlier = world.deliver(world.begin(0))
    world.upload(earlier)
    world.finish(world.server.close_stage())
    replies = world.deliver(world.begin(1))
    old = world.read(earlier["client-2"]).consent
    world.upload({"client-2": world.write(replace(world.read(replies["client-2"]), consent=old))})
    assert world.rejected("client-2") == "bad-signature"


def consents_of(world: World, replies: dict[str, bytes]) -> ConfirmSet:
    messages = {world.names.index(name): world.read(data) for name, data in replies.items()}
    digest = next(iter(messages.values())).round_digest
    return ConfirmSet(digest, tuple((index, messages[index].consent) for index in sorted(messages)))


def test_too_few_consents_release_nothing(make_world: MakeWorld) -> None:
    """The server cannot pass a set of its own for everybody's: consents are counted and verified."""
    world = make_world().set_up()
    shown = consents_of(world, world.deliver(world.begin()))
    few = replace(shown, signatures=shown.signatures[:3])
    with pytest.raises(NotEnoughSurvivors, match="confirmed by 4"):
        world.clients["client-0"].receive(world.write(few))
    swapped = replace(shown, signatures=((0, shown.signatures[1][1]), *shown.signatures[1:]))
    with pytest.raises(PeerProtocolError, match="signature is wrong"):
        world.clients["client-1"].receive(world.write(swapped))
    assert {world.clients[name].state for name in ("client-0", "client-1")} == {ClientState.ABORTED}


def test_who_signed_a_smaller_set_releases_for_no_other(make_world: MakeWorld) -> None:
    world = make_world().set_up()
    shown = consents_of(world, world.deliver(world.begin()))
    world.clients["client-0"].receive(world.write(SurvivorSet(shown.round_digest, (0, 1, 2, 3))))
    with pytest.raises(PeerProtocolError, match="signature is wrong"):
        world.clients["client-0"].receive(world.write(replace(shown, signatures=shown.signatures[:4])))


def test_consent_binds_the_roster_that_was_shown(make_world: MakeWorld) -> None:
    """Two rosters under one slot: neither half's consents count for the other, and one of them is too few."""
    world = make_world().set_up()
    start = world.read(world.begin()["client-0"])
    smaller = RoundStart(start.terms, start.slot, (0, 1, 2, 3))
    consents = {}
    for name, shown in zip(world.names[:4], (start, start, smaller, smaller), strict=True):
        world.clients[name].receive(world.write(shown))
        consents[name] = world.clients[name].submit(world.inputs[name])
    with pytest.raises(PeerProtocolError, match="signature is wrong"):
        world.clients["client-0"].receive(world.write(consents_of(world, consents)))


@dataclass(frozen=True)
class Loot:
    """Shares of the victim's two secrets that a lying server gathered, by holder, and its masked input."""

    seeds: dict[int, bytes]
    keys: dict[int, bytes]
    masked: bytes


def split_view(world: World, *, shown_all: int, num_colluding: int) -> Loot:
    """Plays the attack on the last client.

    ``shown_all`` honest clients, the victim among them, see everybody's consents; the other honest ones see
    a set without the victim, which they and the colluders sign. Colluders hand out both kinds of share.
    """
    names, victim = world.names, len(world.names) - 1
    colluders = set(range(num_colluding))
    replies = world.deliver(world.begin())
    consents = consents_of(world, replies)
    smaller = SurvivorSet(consents.round_digest, tuple(range(victim)))
    honest = [index for index in range(len(names)) if index not in colluders]
    deceived, others = honest[len(honest) - shown_all :], honest[: len(honest) - shown_all]
    content = binding.confirmed_content(consents.round_digest, smaller.survivors)
    signed = {index: world.identities[names[index]].sign(content) for index in colluders}
    for index in others:
        signed[index] = world.read(world.clients[names[index]].receive(world.write(smaller))).signature
    confirmed = ConfirmSet(consents.round_digest, tuple(sorted(signed.items())))
    loot = Loot({}, {}, replies[names[victim]])
    for index in colluders:
        share = world.clients[names[index]]._memory.held[0][victim].reveal()
        loot.keys[index], loot.seeds[index] = share[:32], share[32:64]
    for group, message, kind in ((deceived, consents, loot.seeds), (others, confirmed, loot.keys)):
        for index in group:
            try:
                released = world.read(world.clients[names[index]].receive(world.write(message)))
            except ProtocolAbort:
                continue
            kind[index] = dict(released.shares)[victim]
    return loot


def opened(world: World, loot: Loot) -> dict[str, Secret]:
    """The victim's secrets that the shares recover, with the server's own tools."""
    victim, threshold = len(world.names) - 1, world.agreement.terms.threshold
    found = {}
    for kind, shares in ((SELF, loot.seeds), (MASK_KEY, loot.keys)):
        try:
            everyone = tuple(range(len(world.names)))
            recovered = recover_all([Released(victim, everyone, shares, lambda _: True)], threshold)
        except NotEnoughSurvivors:
            continue
        found[kind] = recovered.secrets[victim]
    return found


@st.composite
def attacks(draw: Callable[..., Any]) -> tuple[int, ...]:
    """Terms that the malicious mode allows, tight or not, and a way to split that needs one client less."""
    n = draw(st.integers(4, 8))
    colluding = draw(st.integers(0, n - 4))
    threshold = draw(st.integers(max(confirm_quorum(n, colluding), colluding + 2), n - 1))
    return n, colluding, threshold, draw(st.integers(1, n - colluding))


@given(attacks())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_split_view_never_opens_both_secrets_of_anybody(
    make_unchecked: Callable[..., Any], attack: tuple[int, ...]
) -> None:
    n, colluding, threshold, shown_all = attack
    terms = {"threshold": threshold, "min_survivors": threshold, "max_colluding": colluding, "length": 3}
    world = make_unchecked(n, Malicious(), **terms)
    Bonawitz().check(world.agreement.terms)
    loot = split_view(world.set_up(), shown_all=shown_all, num_colluding=colluding)
    assert len(opened(world, loot)) <= 1


def test_with_a_threshold_too_low_the_same_attack_opens_an_input(make_unchecked: Callable[..., Any]) -> None:
    """The attack has teeth: n = 6, T = 1, t = 3 breaks 2 t > n + T, which `Bonawitz.check` refuses."""
    world = make_unchecked(6, Malicious(), threshold=3, min_survivors=4, length=50).set_up()
    with pytest.raises(ConfigurationError, match="2 \\* threshold > clients"):
        Bonawitz().check(world.agreement.terms)
    loot = split_view(world, shown_all=2, num_colluding=1)
    secrets = opened(world, loot)
    assert set(secrets) == {SELF, MASK_KEY}
    victim, current = 5, world.server._round
    vector = np.zeros(50, dtype=word_type(20))
    add_packed(vector, world.read(loot.masked).packed, 20)
    offers = current.setup.offers
    peers = {peer: offers[peer].mask_keys[0] for peer in range(victim)}
    pairs = keyring.agree(secrets[MASK_KEY], peers)
    subtracted = [
        keyring.derive(pairs[peer], current.digest, binding.pair_purpose(victim, peer)) for peer in peers
    ]
    added = [keyring.derive(secrets[SELF], current.digest, binding.self_purpose(victim))]
    add_masks(vector, subtracted, added)
    assert np.array_equal(reduce_words(vector, 20), to_ring(world.inputs["client-5"], 20, 50))


@pytest.mark.parametrize("n", range(3, 40))
def test_the_threshold_s_inequality_is_what_excludes_both(n: int) -> None:
    """Honest holders answer once, colluders twice: a + T >= t and b + T >= t need 2 t <= n + T."""
    for colluding in range(n):
        honest = n - colluding
        for threshold in range(colluding + 1, n + 1):
            both = any(
                all_shown + colluding >= threshold and honest - all_shown + colluding >= threshold
                for all_shown in range(honest + 1)
            )
            assert both == (2 * threshold <= n + colluding)
