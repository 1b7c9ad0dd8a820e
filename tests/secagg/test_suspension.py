"""Sessions that are suspended between any two messages, and what resuming an old memory cannot do."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg import Bell, Bonawitz, Malicious, SemiHonest, SemiMalicious
from discreet.secagg.client.memory import decode_memory
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import SurvivorSet
from discreet.secagg.transitions import ClientState, ServerState

KEY = Secret(b"k" * 32)


def revive(world) -> None:
    """Every client's process ends and a new one takes over from its sealed memory."""
    for name, old in list(world.clients.items()):
        suspended = old.suspend(KEY)
        old.close()
        world.clients[name] = world.client(name)
        world.clients[name].resume(KEY, suspended)


def stepwise(world, outgoing):
    """Like ``World.deliver``, with all clients revived before and between receiving and submitting."""
    replies = {}
    for name, data in outgoing.items():
        if name in world.gone:
            continue
        revive(world)
        reply = world.clients[name].receive(data)
        revive(world)
        if world.clients[name].state is ClientState.INVITED:
            reply = world.clients[name].submit(world.inputs[name])
        if reply is not None:
            replies[name] = reply
    return replies


@pytest.mark.parametrize(
    "protocol",
    [Bonawitz(Malicious()), Bonawitz(SemiHonest()), Bonawitz(SemiHonest(one_phase=True))],
    ids=repr,
)
def test_a_session_of_processes_that_live_for_one_message(make_world, protocol) -> None:
    world = make_world(protocol)
    world.upload(world.advertise())
    outgoing = world.server.close_stage()
    while world.server.state is not ServerState.READY:
        world.upload(stepwise(world, outgoing))
        outgoing = world.server.close_stage()
    stepwise(world, outgoing)
    for index in range(2):
        world.gone = {"client-4"} if index else set()
        outgoing = world.begin(index)
        while outgoing:
            world.upload(stepwise(world, outgoing))
            outgoing = world.server.close_stage()
        survivors = [name for name in world.names if name not in world.gone]
        assert np.array_equal(world.server.result().total, world.expected(survivors))


def test_memory_has_one_encoding_in_every_state(make_world, terms_of) -> None:
    protocol = Bell(SemiMalicious(), rounds_per_setup=2)
    terms = terms_of(60, threshold=protocol.sparsity(60, 50, 3).threshold, min_survivors=50, max_colluding=3)
    world = make_world(protocol, terms)
    client = world.clients["client-7"]

    def check() -> None:
        encoded = client._memory.encode()
        assert decode_memory(world.agreement, encoded).encode() == encoded

    check()
    world.upload(world.advertise())
    outgoing = world.server.close_stage()
    while world.server.state is not ServerState.READY:
        outgoing = world.step(outgoing)
        check()
    world.deliver(outgoing)
    outgoing = world.begin()
    while outgoing:
        check()
        outgoing = world.step(outgoing)
    check()


def test_a_suspended_memory_is_sealed(make_world) -> None:
    world = make_world().set_up()
    client = world.clients["client-0"]
    suspended = client.suspend(KEY)
    secrets = [slot.mask_key.reveal() for slot in client._memory.slots]
    assert all(secret not in suspended for secret in secrets)
    fresh = make_world(epoch=2)
    flipped = suspended[:-1] + bytes([suspended[-1] ^ 1])
    for other, key, data in (
        ("client-0", Secret(b"x" * 32), suspended),
        ("client-0", KEY, flipped),
        ("client-0", KEY, b""),
        ("client-1", KEY, suspended),
    ):
        with pytest.raises(PeerProtocolError) as caught:
            fresh.clients[other].resume(key, data)
        assert caught.value.code == "bad-ciphertext"
    with pytest.raises(LocalProtocolError, match="fresh session"):
        client.resume(KEY, suspended)


def test_equal_memories_seal_equally_and_others_under_other_keys(make_world) -> None:
    world = make_world()
    client = world.clients["client-0"]
    before = client.suspend(KEY)
    assert before == client.suspend(KEY)
    client.start()
    assert client.suspend(KEY)[:32] != before[:32], "another one-time key"


def resumed(world, name: str, suspended: bytes):
    client = world.client(name)
    client.resume(KEY, suspended)
    return client


def test_an_old_memory_cannot_mask_confirm_or_release_again(make_world) -> None:
    """Rolling a client back is an attack: the journal is ahead of the memory and refuses."""
    world = make_world().set_up()
    name = "client-0"
    start = world.begin()
    world.gone.add("client-4")
    world.clients[name].receive(start[name])
    invited = world.clients[name].suspend(KEY)
    replies = {name: world.clients[name].submit(world.inputs[name])}
    before_confirming = world.clients[name].suspend(KEY)
    replies |= world.deliver({other: data for other, data in start.items() if other != name})
    world.upload(replies)
    shown = world.server.close_stage()
    replies = world.deliver(shown)
    before_releasing = world.clients[name].suspend(KEY)
    world.upload(replies)
    confirmed = world.server.close_stage()
    world.upload(world.deliver(confirmed))

    with pytest.raises(PeerProtocolError, match="send-masked"):
        resumed(world, name, invited).submit(-world.inputs[name])
    other_set = SurvivorSet(world.read(shown[name]).round_digest, (0, 1, 2, 3, 4))
    with pytest.raises(PeerProtocolError, match="confirm-survivors"):
        resumed(world, name, before_confirming).receive(world.write(other_set))
    with pytest.raises(PeerProtocolError, match="release-shares"):
        resumed(world, name, before_releasing).receive(confirmed[name])


def test_an_old_memory_cannot_share_its_secrets_again(make_world) -> None:
    world = make_world()
    world.upload(world.advertise())
    advertised = world.clients["client-0"].suspend(KEY)
    outgoing = world.server.close_stage()
    world.deliver(outgoing)
    with pytest.raises(PeerProtocolError, match="share-secrets"):
        resumed(world, "client-0", advertised).receive(outgoing["client-0"])
