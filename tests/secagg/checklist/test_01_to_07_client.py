"""What a client must refuse, numbered as in the failure checklist of docs/threat-model.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from discreet.errors import LocalProtocolError, NotEnoughSurvivors, PeerProtocolError, ProtocolAbort
from discreet.randomness import SeededRandom
from discreet.secagg import (
    Agreement,
    AllowList,
    Bonawitz,
    ClientSession,
    Identity,
    Malicious,
    MemoryJournal,
    SemiHonest,
    SemiMalicious,
    ServerSession,
    SumTerms,
    binding,
)
from discreet.secagg.graph import ChosenGraph
from discreet.secagg.messages import Advertise, ConfirmSet, DeliveredShares, KeyList, RoundStart, SurvivorSet
from discreet.secagg.transitions import ClientState
from tests.secagg.conftest import MakeWorld, World

MODES = [Bonawitz(Malicious(), rounds_per_setup=2), Bonawitz(SemiHonest(), rounds_per_setup=2)]


@dataclass(frozen=True)
class Sparse:
    """Neighbours drawn by few clients, as no protocol would let them."""

    degree: int

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        return Agreement(terms, SemiMalicious(), ChosenGraph(self.degree, 99), 2, identities)


def masked(world: World) -> dict[str, bytes]:
    """A world in which client-4 dropped out before its masked input; returns the server's survivor sets."""
    start = world.set_up().begin()
    world.gone.add("client-4")
    return world.step(start)


def aborts(client: ClientSession, data: bytes, code: str) -> ProtocolAbort:
    with pytest.raises(ProtocolAbort) as caught:
        client.receive(data)
    assert caught.value.code == code
    assert client.state is ClientState.ABORTED
    return caught.value


@pytest.mark.parametrize("protocol", MODES)
def test_01_one_kind_of_share_for_every_peer_and_only_once(make_world: MakeWorld, protocol: Bonawitz) -> None:
    world = make_world(protocol)
    outgoing = masked(world)
    client = world.clients["client-0"]
    if protocol.mode.confirms:
        outgoing = world.step(outgoing)
    shown = outgoing["client-0"]
    released = world.read(client.receive(shown))
    sizes = {peer: len(share) for peer, share in released.shares}
    assert sizes == dict.fromkeys(range(5), 32), "a self seed or a mask key, never both"
    aborts(client, shown, "out-of-order")


def test_01_survivors_and_dropouts_cannot_overlap(make_world: MakeWorld) -> None:
    """A survivor set says who is alive; everyone else invited is gone: there is no second list."""
    world = make_world()
    shown = world.read(masked(world)["client-0"])
    assert shown.survivors == (0, 1, 2, 3)
    both = replace(shown, survivors=(0, 1, 2, 2, 3))
    aborts(world.clients["client-0"], world.write(both), "malformed")


def test_02_different_survivor_sets_for_different_clients(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    world = make_world(terms=terms_of(6, threshold=4, min_survivors=4))
    outgoing = world.step(world.set_up().begin())
    digest = world.read(outgoing["client-0"]).round_digest
    views = {name: tuple(range(5 if index < 3 else 6)) for index, name in enumerate(world.names)}
    signed = {}
    for index, name in enumerate(world.names):
        if index in views[name]:
            reply = world.clients[name].receive(world.write(SurvivorSet(digest, views[name])))
            signed[index] = world.read(reply).signature
    mixed = world.write(ConfirmSet(digest, tuple(sorted(signed.items()))))
    aborts(world.clients["client-5"], mixed, "bad-signature")
    matching = tuple((index, signed[index]) for index in (0, 1, 2))
    aborts(world.clients["client-0"], world.write(ConfirmSet(digest, matching)), "not-confirmed")


def test_02_only_survivors_confirm_a_survivor_set(make_world: MakeWorld) -> None:
    """A colluder that was declared gone signs as well; its signature is no confirmation."""
    world = make_world()
    shown = world.step(masked(world))
    confirmed = world.read(shown["client-0"])
    content = binding.confirmed_content(confirmed.round_digest, (0, 1, 2, 3))
    extra = (4, world.identities["client-4"].sign(content))
    forged = replace(confirmed, signatures=(*confirmed.signatures, extra))
    aborts(world.clients["client-0"], world.write(forged), "unknown-client")


@pytest.mark.parametrize("protocol", MODES)
@pytest.mark.parametrize(
    ("survivors", "code"),
    [
        ((1, 2, 3, 4), "self-dead"),
        ((0, 1, 2, 9), "unknown-client"),
        ((0, 1, 1, 2, 3), "malformed"),
    ],
)
def test_03_ourselves_dead_strangers_and_repeats_in_the_survivor_set(
    make_world: MakeWorld, protocol: Bonawitz, survivors: tuple[int, ...], code: str
) -> None:
    world = make_world(protocol)
    digest = world.read(masked(world)["client-0"]).round_digest
    aborts(world.clients["client-0"], world.write(SurvivorSet(digest, survivors)), code)


def test_03_a_dropout_of_this_roster_cannot_come_back_as_a_survivor(make_world: MakeWorld) -> None:
    world = make_world()
    start = world.set_up().begin(roster=world.names[:4])
    outgoing = world.step(start)
    digest = world.read(outgoing["client-0"]).round_digest
    aborts(world.clients["client-0"], world.write(SurvivorSet(digest, (0, 1, 2, 3, 4))), "unknown-client")


def high_floor(make_world: Callable[..., Any], terms_of: Callable[..., Any]) -> World:
    """A world whose floor of four lies above its threshold of two, so that only the floor refuses three."""
    return make_world(Bonawitz(SemiHonest()), terms_of(threshold=2, min_survivors=4))


def test_04_too_few_keys(make_world: MakeWorld, terms_of: Callable[..., SumTerms]) -> None:
    world = high_floor(make_world, terms_of)
    offers = [world.read(data) for data in world.advertise().values()]
    aborts(world.clients["client-0"], world.write(KeyList(tuple(offers[:3]))), "too-few")


def test_04_too_few_sharers(make_world: MakeWorld, terms_of: Callable[..., SumTerms]) -> None:
    world = high_floor(make_world, terms_of)
    world.upload(world.advertise())
    outgoing = world.step(world.server.close_stage())
    delivered = world.read(outgoing["client-0"])
    fewer = DeliveredShares((0, 1, 2), tuple(box for box in delivered.boxes if box[0] < 3))
    aborts(world.clients["client-0"], world.write(fewer), "too-few")


def test_04_too_few_of_our_holders_shared(make_world: MakeWorld, terms_of: Callable[..., SumTerms]) -> None:
    """Enough sharers for the floor, but of the two that a client drew as holders only one is among them."""
    world = make_world(Sparse(degree=2), terms_of(8, threshold=2, min_survivors=6))
    world.upload(world.advertise())
    world.upload(world.deliver(world.server.close_stage()))
    world.upload(world.deliver(world.server.close_stage()))
    told = world.read(world.server.close_stage()["client-0"])
    holder = min(world.clients["client-0"]._memory.graph.holders)
    fewer = DeliveredShares(
        tuple(one for one in told.sharers if one != holder),
        tuple(box for box in told.boxes if box[0] != holder),
    )
    error = aborts(world.clients["client-0"], world.write(fewer), "too-few")
    assert "threshold=2 holders; got 1" in str(error)


@pytest.mark.parametrize("protocol", MODES)
def test_04_too_few_survivors_even_if_the_server_asks(make_world: MakeWorld, protocol: Bonawitz) -> None:
    """The noise floor is enforced by the clients: no share leaves them for a sum of too few."""
    world = make_world(protocol)
    digest = world.read(masked(world)["client-0"]).round_digest
    abort = aborts(world.clients["client-0"], world.write(SurvivorSet(digest, (0, 1, 2))), "too-few")
    assert isinstance(abort, NotEnoughSurvivors)


def test_04_a_roster_below_the_floor(make_world: MakeWorld) -> None:
    world = make_world()
    start = world.read(world.set_up().begin()["client-0"])
    aborts(world.clients["client-0"], world.write(replace(start, roster=(0, 1, 2))), "too-few")


def key_list(world: World) -> list[Any]:
    return [world.read(data) for data in world.advertise().values()]


def test_05_our_own_key_missing_or_altered(make_world: MakeWorld) -> None:
    for altered in (False, True):
        world = make_world()
        own, *others = key_list(world)
        shown = [replace(own, channel_key=bytes(range(32)))] if altered else []
        aborts(world.clients["client-0"], world.write(KeyList((*shown, *others))), "own-key")


def test_05_the_same_key_twice(make_world: MakeWorld) -> None:
    world = make_world()
    offers = key_list(world)
    thief = replace(offers[1], channel_key=offers[2].channel_key)
    signed = resigned(world, "client-1", thief)
    shown = world.write(KeyList((offers[0], signed, *offers[2:])))
    aborts(world.clients["client-0"], shown, "duplicate-key")


@pytest.mark.parametrize("other", [lambda key: key | 1 << 255, lambda key: key + 2**255 - 19])
def test_05_another_writing_of_a_key(make_world: MakeWorld, other: Callable[..., Any]) -> None:
    """X25519 ignores the highest bit and reduces, so a thief's key could be a victim's in other bytes."""
    for field in ("channel_key", "mask_keys"):
        world = make_world()
        offers = key_list(world)
        victim = int.from_bytes(offers[2].channel_key, "little")
        key = other(victim).to_bytes(32, "little")
        forged = key if field == "channel_key" else (offers[1].mask_keys[0], key)
        thief = resigned(world, "client-1", replace(offers[1], **{field: forged}))
        shown = world.write(KeyList((offers[0], thief, *offers[2:])))
        aborts(world.clients["client-0"], shown, "weak-key")
        assert make_world().server.receive("client-1", world.write(thief)).code == "weak-key"


def test_05_a_point_of_low_order(make_world: MakeWorld) -> None:
    world = make_world()
    offers = key_list(world)
    weak = resigned(world, "client-1", replace(offers[1], channel_key=bytes(32)))
    aborts(world.clients["client-0"], world.write(KeyList((offers[0], weak, *offers[2:]))), "weak-key")


def test_05_a_key_that_its_owner_did_not_sign(make_world: MakeWorld) -> None:
    """A server in the middle: it replaces a client's key by its own."""
    world = make_world()
    offers = key_list(world)
    swapped = replace(offers[1], mask_keys=(bytes(range(32)), bytes(range(1, 33))))
    aborts(
        world.clients["client-0"], world.write(KeyList((offers[0], swapped, *offers[2:]))), "bad-signature"
    )


def test_05_an_identity_that_is_not_enrolled(make_world: MakeWorld) -> None:
    world = make_world()
    offers = key_list(world)
    stranger = replace(offers[1], sender=7)
    shown = world.write(KeyList((offers[0], *offers[2:], stranger)))
    aborts(world.clients["client-0"], shown, "unknown-client")
    world.identities["client-1"] = Identity.generate(SeededRandom(5))
    with pytest.raises(LocalProtocolError, match="enrolled"):
        world.client("client-1")


def test_05_a_signature_does_not_carry_over_to_another_epoch(make_world: MakeWorld) -> None:
    old, new = make_world(epoch=1), make_world(epoch=2)
    stale = key_list(old)
    own, _, *others = key_list(new)
    mixed = KeyList((own, stale[1], *others))
    aborts(new.clients["client-0"], new.write(mixed), "bad-signature")


def resigned(world: World, name: str, offer: Advertise) -> Advertise:
    content = binding.advertised_content(world.agreement, world.epoch, offer)
    return replace(offer, signature=world.identities[name].sign(content))


def test_06_an_epoch_is_offered_once(make_world: MakeWorld) -> None:
    journals = {f"client-{index}": MemoryJournal() for index in range(5)}
    make_world(journals=journals).advertise()
    again = make_world(journals=journals)
    with pytest.raises(PeerProtocolError, match="offer-keys") as caught:
        again.clients["client-0"].start()
    assert caught.value.code == "replayed"


@pytest.mark.parametrize(
    "epoch", [-1, 1 << 32, 10**5000, 1.0, True], ids=["below", "above", "huge", "real", "yes"]
)
def test_06_an_epoch_that_cannot_be_written(make_world: MakeWorld, epoch: Any) -> None:
    agreement, name = make_world().agreement, "client-0"
    own: dict[str, Any] = {
        "identity": make_world().identities[name],
        "randomness": SeededRandom(0),
        "journal": MemoryJournal(),
    }
    for make in (  # each names its own kind of session
        lambda: ServerSession(agreement, epoch),
        lambda: ClientSession(agreement, name, epoch, **own),
    ):
        with pytest.raises(LocalProtocolError, match="an epoch must be") as caught:
            make()
        assert caught.value.code == "malformed"


def test_06_a_message_of_another_session_or_epoch(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    world = make_world()
    world.advertise()
    other = make_world(terms=terms_of(session=b"other".ljust(32, b".")))
    aborts(world.clients["client-0"], other.write(KeyList(tuple(key_list(other)))), "wrong-session")
    later = make_world(epoch=2)
    aborts(world.clients["client-1"], later.write(KeyList(tuple(key_list(later)))), "wrong-session")


def test_06_a_slot_a_round_or_an_attempt_is_used_once(make_world: MakeWorld) -> None:
    world = make_world()
    start = world.set_up().begin(index=3)
    world.finish(start)
    replayed = world.read(start["client-0"])
    aborts(world.clients["client-0"], world.write(replayed), "replayed")
    fresh_slot = world.clients["client-1"]
    fresh_slot.receive(world.write(replace(replayed, slot=1)))
    with pytest.raises(PeerProtocolError, match="send-masked") as caught:
        fresh_slot.submit(world.inputs["client-1"])
    assert caught.value.code == "replayed"


def test_06_a_second_masked_input_in_one_round(make_world: MakeWorld) -> None:
    world = make_world()
    start = world.set_up().begin()
    client = world.clients["client-0"]
    client.receive(start["client-0"])
    client.submit(world.inputs["client-0"])
    with pytest.raises(LocalProtocolError) as caught:
        client.submit(world.inputs["client-1"])
    assert caught.value.code == "out-of-order"


def test_06_a_survivor_set_of_another_round(make_world: MakeWorld) -> None:
    world = make_world()
    world.gone.add("client-4")
    world.set_up()
    old = world.step(world.begin(0))
    world.finish(old)
    world.step(world.begin(1))
    aborts(world.clients["client-0"], old["client-0"], "wrong-round")


def delivered_boxes(world: World) -> tuple[Any, ...]:
    world.upload(world.advertise())
    outgoing = world.step(world.server.close_stage())
    return outgoing, world.read(outgoing["client-0"])


def test_07_a_box_for_someone_else(make_world: MakeWorld) -> None:
    world = make_world()
    outgoing, mine = delivered_boxes(world)
    theirs = world.read(outgoing["client-1"])
    swapped = tuple(
        (sender, dict(theirs.boxes).get(sender, box) if sender == 2 else box) for sender, box in mine.boxes
    )
    aborts(world.clients["client-0"], world.write(replace(mine, boxes=swapped)), "bad-ciphertext")


def test_07_two_senders_swapped(make_world: MakeWorld) -> None:
    world = make_world()
    _, mine = delivered_boxes(world)
    boxes = dict(mine.boxes)
    boxes[1], boxes[2] = boxes[2], boxes[1]
    aborts(
        world.clients["client-0"], world.write(replace(mine, boxes=tuple(boxes.items()))), "bad-ciphertext"
    )


@pytest.mark.parametrize("position", [0, 17, -1])
def test_07_a_flipped_bit(make_world: MakeWorld, position: int) -> None:
    world = make_world()
    _, mine = delivered_boxes(world)
    (sender, box), *others = mine.boxes
    flipped = bytearray(box)
    flipped[position] ^= 1
    changed = replace(mine, boxes=((sender, bytes(flipped)), *others))
    aborts(world.clients["client-0"], world.write(changed), "bad-ciphertext")


def test_07_a_box_of_another_epoch(make_world: MakeWorld) -> None:
    """The context of a box holds the digest of the epoch's keys, so an old box does not open later."""
    old, new = make_world(epoch=1, seed=1), make_world(epoch=2, seed=1)
    _, stale = delivered_boxes(old)
    _, mine = delivered_boxes(new)
    mixed = replace(mine, boxes=(stale.boxes[0], *mine.boxes[1:]))
    aborts(new.clients["client-0"], new.write(mixed), "bad-ciphertext")


def test_07_a_missing_or_an_extra_box(make_world: MakeWorld) -> None:
    for change in (lambda boxes: boxes[1:], lambda boxes: (*boxes, (9, bytes(80)))):
        world = make_world()
        _, mine = delivered_boxes(world)
        aborts(
            world.clients["client-0"], world.write(replace(mine, boxes=change(mine.boxes))), "unknown-client"
        )


def test_a_round_start_with_a_slot_that_was_never_made(make_world: MakeWorld) -> None:
    world = make_world()
    start = world.read(world.set_up().begin()["client-0"])
    assert isinstance(start, RoundStart)
    aborts(world.clients["client-0"], world.write(replace(start, slot=2)), "replayed")
