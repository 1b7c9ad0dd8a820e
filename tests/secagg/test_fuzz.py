"""Check 20: whatever arrives, the only exception is a typed abort, and every message has one encoding."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from discreet.errors import PeerProtocolError, ProtocolAbort
from discreet.secagg import (
    Agreement,
    AllowList,
    Bell,
    Bonawitz,
    FileJournal,
    Malicious,
    SemiHonest,
    SemiMalicious,
    codec,
    messages,
)
from discreet.secagg.graph import ChosenGraph, HararyGraph
from discreet.secagg.journal import Deed
from discreet.secagg.packing import add_packed, pack
from discreet.secagg.ring import word_type
from discreet.secagg.terms import RoundTerms, SumTerms
from discreet.secagg.transitions import ClientState, ServerState
from tests.secagg.conftest import MakeWorld, World

DIGEST, EPOCH = bytes(range(32)), 7
relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

hashes = st.binary(min_size=32, max_size=32)
signatures = st.binary(min_size=64, max_size=64)
indices = st.lists(st.integers(0, 2**32 - 1), max_size=6, unique=True).map(lambda found: tuple(sorted(found)))
numbered = st.dictionaries(st.integers(0, 2**32 - 1), st.binary(max_size=80), max_size=5).map(
    lambda found: tuple(sorted(found.items()))
)
hash_lists = st.lists(hashes, max_size=3).map(tuple)
offers = st.builds(messages.Advertise, st.integers(0, 2**32 - 1), hashes, hash_lists, hash_lists, signatures)
round_terms = st.builds(RoundTerms, st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), hashes)
sender_of = attrgetter("offer.sender")
any_message = st.one_of(
    offers,
    st.lists(offers, max_size=3, unique_by=lambda offer: offer.sender).map(
        lambda found: messages.KeyList(tuple(sorted(found, key=lambda offer: offer.sender)))
    ),
    st.builds(
        messages.KeyPaths,
        indices,
        hashes,
        st.lists(st.builds(messages.Shown, offers, hash_lists), max_size=2, unique_by=sender_of).map(
            lambda found: tuple(sorted(found, key=sender_of))
        ),
    ),
    st.builds(messages.NeighborChoice, indices),
    st.dictionaries(st.integers(0, 2**32 - 1), indices, max_size=3).map(
        lambda found: messages.Choices(tuple(sorted(found.items())))
    ),
    st.builds(messages.SealedShares, numbered),
    st.builds(messages.DeliveredShares, indices, numbered),
    st.builds(messages.RoundStart, round_terms, st.integers(0, 2**32 - 1), indices),
    st.builds(messages.MaskedInput, hashes, st.binary(max_size=80), st.binary(max_size=80)),
    st.builds(messages.SurvivorSet, hashes, indices, numbered),
    st.builds(messages.Confirm, hashes, signatures),
    st.builds(messages.ConfirmSet, hashes, numbered),
    st.builds(messages.UnmaskShares, hashes, numbered),
)


@given(any_message)
@relaxed
def test_decoding_inverts_encoding(message: messages.Message) -> None:
    assert codec.decode(codec.encode(message, DIGEST, EPOCH), DIGEST, EPOCH) == message


@given(any_message, st.data())
@settings(relaxed, max_examples=400)
def test_mangled_bytes_are_refused_or_canonical(message: messages.Message, data: st.DataObject) -> None:
    """Whatever `decode` accepts encodes to the very same bytes, so nothing has two encodings."""
    encoded = bytearray(codec.encode(message, DIGEST, EPOCH))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(encoded) - 1))
        encoded[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(encoded)))
    mangled = bytes(encoded[: cut or None])
    try:
        decoded = codec.decode(mangled, DIGEST, EPOCH)
    except PeerProtocolError as error:
        if error.code not in {"malformed", "wrong-session"}:
            raise
    else:
        assert codec.encode(decoded, DIGEST, EPOCH) == mangled


def typed(error: type[ProtocolAbort], call: Callable[..., Any] | type[FileJournal], *arguments: Any) -> None:
    """Calls something that may refuse its arguments, but only by this error."""
    with contextlib.suppress(error):
        call(*arguments)


@given(st.binary(max_size=40), st.integers(8, 62), st.integers(1, 40))
@relaxed
def test_any_packed_vector_is_added_whole_or_not_at_all(packed: bytes, bits: int, length: int) -> None:
    total = np.zeros(length, dtype=word_type(bits))
    typed(PeerProtocolError, add_packed, total, packed, bits)
    assert pack(total, bits) == packed or not total.any()


@given(st.binary(max_size=200), st.integers(0, 3))
@relaxed
def test_any_journal(tmp_path_factory: pytest.TempPathFactory, tail: bytes, claims: int) -> None:
    """A file that a client cannot read in full stops it; it never takes a guess, nor another exception."""
    path = tmp_path_factory.mktemp("journals") / "j"
    journal = FileJournal(path)
    for counter in range(claims):
        journal.claim(DIGEST, Deed.SEND_MASKED, counter)
    path.write_bytes(path.read_bytes() + tail)
    typed(ProtocolAbort, FileJournal, path)


@given(st.binary(max_size=300))
@relaxed
def test_random_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(PeerProtocolError):
        codec.decode(data, DIGEST, EPOCH)


def test_sets_out_of_order_have_no_encoding_of_their_own() -> None:
    header = codec.encode(messages.NeighborChoice(()), DIGEST, EPOCH)[:-4]
    for pair in ((2, 1), (3, 3)):
        body = b"".join(index.to_bytes(4, "little") for index in (2, *pair))
        with pytest.raises(PeerProtocolError, match="strictly increase"):
            codec.decode(header + body, DIGEST, EPOCH)


def test_huge_counts_in_short_messages_cost_nothing() -> None:
    """A count of four billion items in a message of fifty bytes ends at once."""
    header = codec.encode(messages.MaskedInput(bytes(32), b"", b""), DIGEST, EPOCH)[:-4]
    with pytest.raises(PeerProtocolError, match="ends early"):
        codec.decode(header + b"\xff\xff\xff\xff", DIGEST, EPOCH)


@dataclass(frozen=True)
class Sparse:
    """Neighbours drawn by five clients, as no protocol would let them."""

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        return Agreement(replace(terms, threshold=2), SemiMalicious(), ChosenGraph(4, 9), 2, identities)


class Circle:
    """Neighbours on a circle of five clients, whose keys are shown under a root."""

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        return Agreement(replace(terms, threshold=2), SemiHonest(), HararyGraph(4), 2, identities)


STAGES = [Bonawitz(Malicious()), Bonawitz(SemiHonest()), Sparse(), Circle()]


def at_stage(
    make_world: Callable[..., Any], protocol: Bonawitz | Sparse | Circle, stage: int
) -> tuple[World, dict[str, bytes]]:
    """A world after some stages, client-4 gone from the round on, and what both sides say next."""
    world = make_world(protocol)
    replies = world.advertise()
    for number in range(stage):
        world.upload(replies)
        replies = world.deliver(world.server.close_stage())
        if world.server.state is ServerState.READY:
            replies = world.deliver(world.begin(number))
            world.gone.add("client-4")
            replies.pop("client-4", None)
    return world, replies


@given(st.tuples(st.sampled_from(STAGES), st.integers(0, 5)), any_message, any_message, st.data())
@settings(relaxed, suppress_health_check=list(HealthCheck), max_examples=60, phases=[Phase.generate])
def test_well_formed_lies_end_in_typed_aborts(
    make_world: MakeWorld, stage: tuple[Any, ...], lie: Any, other: Any, data: Any
) -> None:
    """At every stage: any message at all, and the true one with one field of another."""
    world, replies = at_stage(make_world, *stage)
    for name, reply in replies.items():
        world.server.receive(name, world.write(altered(world.read(reply), lie, data)))
        world.server.receive(name, world.write(other))
    world.upload(replies)
    outgoing: dict[str, bytes] = {}
    typed(ProtocolAbort, lambda: outgoing.update(world.server.close_stage()))
    for name, said in outgoing.items():
        typed(ProtocolAbort, world.clients[name].receive, world.write(altered(world.read(said), lie, data)))
        typed(ProtocolAbort, world.client(name).receive, world.write(other))


def altered(message: messages.Message, lie: messages.Message, data: st.DataObject) -> messages.Message:
    """Replaces one field by one of another message of the same kind, or lies altogether."""
    if type(message) is not type(lie):
        return lie if data.draw(st.booleans()) else message
    name = data.draw(st.sampled_from([field.name for field in fields(message)]))
    return replace(message, **{name: getattr(lie, name)})


def mangle(chance: random.Random, data: bytes) -> bytes:
    """Flips bits anywhere, also in what only the receiver can check."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed[: chance.choice([len(changed), chance.randrange(1, len(changed) + 1)])])


@pytest.mark.parametrize(
    "protocol", [Bonawitz(Malicious()), Bonawitz(SemiHonest()), Bell(), Sparse()], ids=repr
)
@pytest.mark.parametrize("seed", range(12))
def test_mangled_messages_of_the_server_end_in_typed_aborts(
    make_world: MakeWorld, protocol: Bell | Bonawitz | Sparse, seed: int
) -> None:
    """Every client gets a mangled message at a random point; it aborts, or goes on as if nothing was."""
    chance = random.Random(seed)
    world = make_world(protocol, seed=seed)
    world.upload(world.advertise())
    outgoing = world.server.close_stage()
    while world.gone != set(world.names) and outgoing:
        for name in list(outgoing):
            if name not in world.gone and chance.random() < 0.25:
                abort_on(world, name, mangle(chance, outgoing[name]))
        if len(world.names) - len(world.gone) < world.agreement.floor:
            break
        replies = world.deliver(outgoing)
        world.upload(replies)
        outgoing = world.begin() if world.server.state is ServerState.READY else world.server.close_stage()


def abort_on(world: World, name: str, data: bytes) -> None:
    """Feeds a mangled message; the client is finished afterwards, however it took it."""
    world.gone.add(name)
    try:
        world.clients[name].receive(data)
    except ProtocolAbort:
        assert world.clients[name].state is ClientState.ABORTED


@pytest.mark.parametrize("seed", range(12))
def test_mangled_messages_of_clients_end_in_verdicts(make_world: MakeWorld, seed: int) -> None:
    """The server never raises on bytes; a sum that still comes out is one of what it accepted."""
    chance = random.Random(seed)
    world = make_world(seed=seed)
    replies = world.advertise()
    try:
        while replies:
            for name, data in replies.items():
                for _ in range(3):
                    world.server.receive(name, mangle(chance, data))
                world.server.receive(name, data)
            outgoing = world.server.close_stage()
            if world.server.state is ServerState.READY and outgoing:
                world.deliver(outgoing)
                outgoing = world.begin()
            replies = world.deliver(outgoing)
    except ProtocolAbort as abort:
        if abort.code not in {"bad-ciphertext", "bad-share", "too-few", "not-confirmed"}:
            raise
