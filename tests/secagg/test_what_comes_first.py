"""Orders, wipes and checks that no sum shows: each line here has an attack that its absence would allow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from discreet.errors import LocalProtocolError, NotEnoughSurvivors, PeerProtocolError, ProtocolAbort
from discreet.randomness import SeededRandom
from discreet.secagg import (
    Agreement,
    AllowList,
    Bonawitz,
    ClientSession,
    MemoryJournal,
    Rejected,
    RoundTerms,
    SemiHonest,
    SemiMalicious,
    SumTerms,
    binding,
)
from discreet.secagg.client import rounds
from discreet.secagg.codec import encode
from discreet.secagg.codes import AbortCode
from discreet.secagg.draws import neighborhoods
from discreet.secagg.graph import ChosenGraph
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.journal import Deed
from discreet.secagg.messages import Choices, ConfirmSet, KeyList, RoundStart, UnmaskShares
from discreet.secagg.server import rounds as server_rounds
from discreet.secagg.server.recovery import recover_all
from discreet.secagg.transitions import ClientState
from tests.secagg.conftest import MakeWorld, World


def secrets_of(client: ClientSession) -> list[bytes]:
    memory = client._memory
    boxes = [memory.channel, memory.own_shares, *memory.channels.values()]
    boxes += [box for slot in memory.slots for box in (slot.mask_key, *slot.seeds)]
    boxes += [box for slot in memory.held for box in slot.values()]
    return [box.reveal() for box in boxes if len(box)]


class FullDisk(MemoryJournal):  # type: ignore[misc]  # a test's own disk
    """A journal whose disk is full when it comes to one deed."""

    def __init__(self, deed: Deed) -> None:
        super().__init__()
        self._full = deed

    def claim(self, session: bytes, deed: Deed, counter: int) -> None:
        if deed is self._full:
            raise OSError("no space left on device")
        super().claim(session, deed, counter)


@pytest.mark.parametrize("deed", list(Deed))
def test_what_cannot_be_written_down_is_not_done(make_world: MakeWorld, deed: Deed) -> None:
    """Each deed is claimed, nothing leaves if that fails, and the client is over."""
    world = make_world(journals={"client-0": FullDisk(deed)})
    with pytest.raises(OSError, match="no space"):
        play_with_a_dropout(world)
    assert world.clients["client-0"].state is ClientState.ABORTED
    assert secrets_of(world.clients["client-0"]) == []


def play_with_a_dropout(world: World) -> None:
    start = world.set_up().begin()
    world.gone.add("client-4")
    world.finish(start)


def test_an_interrupt_wipes_as_an_error_does(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows how far the secrets were used, so nobody may use them again."""

    def interrupted(*_given: Any, **_named: Any) -> None:
        raise KeyboardInterrupt

    world = make_world().set_up()
    client = world.clients["client-0"]
    client.receive(world.begin()["client-0"])
    monkeypatch.setattr(rounds, "mask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.submit(world.inputs["client-0"])
    assert client.state is ClientState.ABORTED
    assert secrets_of(client) == []


def test_the_channel_key_is_gone_before_the_first_box_exists(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server keeps every box; this key would open all of them to and from its client."""
    world = make_world()
    world.upload(world.advertise())
    outgoing = world.server.close_stage()
    client, left, seal = world.clients["client-0"], [], keyring.seal

    def spy(*given: Any) -> bytes:
        left.append(len(client._memory.channel))
        return seal(*given)

    monkeypatch.setattr(keyring, "seal", spy)
    client.receive(outgoing["client-0"])
    assert left == [0] * 4


def test_after_the_setup_nothing_opens_a_box_or_holds_a_share_twice(make_world: MakeWorld) -> None:
    client = make_world().set_up().clients["client-0"]
    assert len(client._memory.own_shares) == 0
    assert all(len(secret) == 0 for secret in client._memory.channels.values())


def test_a_slot_that_the_server_skips_is_wiped(make_world: MakeWorld) -> None:
    world = make_world().set_up()
    client, start = world.clients["client-0"], world.read(world.begin()["client-0"])
    client.receive(world.write(replace(start, slot=1)))
    first, second = client._memory.slots
    assert [len(secret) for secret in (first.mask_key, *first.seeds)] == [0, 0]
    assert not any(len(share) for share in client._memory.held[0].values())
    assert [len(secret) for secret in (second.mask_key, *second.seeds)] == [32, 32]
    assert all(len(share) for share in client._memory.held[1].values())


@pytest.mark.parametrize("change", [{"sharers": (0, 1, 2, 3, 9)}, {"sharers": (1, 2, 3, 4)}])
def test_sharers_are_members_of_the_setup_and_we_are_one(make_world: MakeWorld, change: Any) -> None:
    """A stranger among the sharers could be counted towards the floor of a round."""
    world = make_world()
    world.upload(world.advertise())
    told = world.read(world.step(world.server.close_stage())["client-0"])
    with pytest.raises(PeerProtocolError, match="sharers must include us") as caught:
        world.clients["client-0"].receive(world.write(replace(told, **change)))
    assert caught.value.code == "unknown-client"


def test_a_box_that_lacks_a_slot_is_refused_before_any_input_is_out(make_world: MakeWorld) -> None:
    """Sealed as it should be, by a client that colludes with the server: only its length is wrong."""
    world = make_world()
    world.upload(world.advertise())
    told = world.read(world.step(world.server.close_stage())["client-0"])
    thief = world.clients["client-1"]
    context = binding.share_context(thief._place().setup_digest, 1, 0)
    key = keyring.derive(thief._memory.channels[0], context, binding.CHANNEL_PURPOSE)
    short = keyring.seal(key, bytes(world.agreement.slot_bytes), context)
    boxes = tuple((sender, short if sender == 1 else box) for sender, box in told.boxes)
    with pytest.raises(PeerProtocolError, match="every secret of every round") as caught:
        world.clients["client-0"].receive(world.write(replace(told, boxes=boxes)))
    assert caught.value.code == "malformed"


def test_a_forged_offer_does_not_reserve_the_key_of_another(make_world: MakeWorld) -> None:
    """Else anybody could keep a client out by offering its key first, under no signature at all."""
    world = make_world()
    messages = world.advertise()
    victim, thief = (world.read(messages[name]) for name in ("client-0", "client-1"))
    forged = replace(thief, channel_key=victim.channel_key)
    assert world.server.receive("client-1", world.write(forged)).code == "bad-signature"
    world.upload({name: messages[name] for name in ("client-0", "client-1")})
    assert [world.rejected(name) for name in ("client-0", "client-1")] == [None, None]


def test_an_input_that_is_refused_is_not_in_the_sum(make_world: MakeWorld) -> None:
    """The accumulator cannot give an input back, so its signature is checked first."""
    world = make_world().set_up()
    replies = world.deliver(world.begin())
    replies["client-2"] = world.write(replace(world.read(replies["client-2"]), consent=bytes(64)))
    world.upload(replies)
    world.gone.add("client-2")
    total = world.finish(world.server.close_stage())
    assert np.array_equal(total, world.expected([name for name in world.names if name != "client-2"]))


def test_confirmations_are_counted_among_all_clients(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    """Of four survivors three are most; of six clients, with one colluding, it takes four."""
    world = make_world(terms=terms_of(6, threshold=4, min_survivors=4))
    start = world.set_up().begin()
    world.gone |= {"client-4", "client-5"}
    confirmed = world.read(world.step(world.step(start))["client-0"])
    assert isinstance(confirmed, ConfirmSet)
    with pytest.raises(NotEnoughSurvivors, match="confirmed by 4 clients; got 3"):
        world.clients["client-0"].receive(
            world.write(replace(confirmed, signatures=confirmed.signatures[:3]))
        )


def test_shares_of_who_was_not_invited_stay(make_world: MakeWorld, terms_of: Callable[..., SumTerms]) -> None:
    world = make_world(Bonawitz(SemiHonest()), terms_of(6, threshold=4, min_survivors=4))
    shown = world.step(world.set_up().begin(roster=world.names[:5]))
    released = world.read(world.clients["client-0"].receive(shown["client-0"]))
    assert [peer for peer, _ in released.shares] == [0, 1, 2, 3, 4]


def test_an_aborted_round_has_no_sum_least_of_all_the_last_one(make_world: MakeWorld) -> None:
    world = make_world().set_up()
    world.finish(world.begin(0))
    world.begin(1)
    with pytest.raises(ProtocolAbort):
        world.server.close_stage()
    with pytest.raises(LocalProtocolError, match="none is"):
        world.server.result()


def test_a_failed_unmasking_is_not_tried_again(make_world: MakeWorld) -> None:
    """A stage that failed is over: shares that come later are refused, unread."""
    world = make_world(Bonawitz(SemiHonest())).set_up()
    replies = world.deliver(world.step(world.begin()))
    late = replies.popitem()
    world.upload({name: replies[name] for name in list(replies)[:3]})
    with pytest.raises(NotEnoughSurvivors):
        world.server.close_stage()
    assert world.server.receive(*late).code == "out-of-order"
    with pytest.raises(LocalProtocolError, match="close stage"):
        world.server.close_stage()


def test_the_server_forgets_what_it_recovered(make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """With recorded inputs, the mask keys and seeds of a round are what a break-in would look for."""
    found: list[Any] = []

    def spy(released: Any, threshold: int) -> Any:
        recovered = recover_all(released, threshold)
        found.extend(recovered.secrets.values())
        return recovered

    monkeypatch.setattr(server_rounds, "recover_all", spy)
    play_with_a_dropout(make_world())
    assert [len(secret) for secret in found] == [0] * 5


def test_a_dealer_that_leaves_a_holder_out_loses_its_own_place_only(make_world: MakeWorld) -> None:
    """Passed on, the missing box would end the session of the holder."""
    world = make_world()
    world.upload(world.advertise())
    replies = world.deliver(world.server.close_stage())
    dealt = world.read(replies["client-4"])
    replies["client-4"] = world.write(replace(dealt, boxes=dealt.boxes[1:]))
    world.upload(replies)
    assert world.rejected("client-4") == "malformed"
    world.gone.add("client-4")
    world.deliver(world.server.close_stage())
    assert np.array_equal(world.finish(world.begin()), world.expected(world.names[:4]))


def test_a_wrong_confirmation_harms_its_sender_only(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    """Passed on, it would make every other client abort."""
    world = make_world(terms=terms_of(6, threshold=4, min_survivors=4))
    start = world.set_up().begin()
    world.gone.add("client-5")
    replies = world.deliver(world.step(start))
    replies["client-4"] = world.write(replace(world.read(replies["client-4"]), signature=bytes(64)))
    world.upload(replies)
    assert world.rejected("client-4") == "bad-signature"
    assert np.array_equal(world.finish(world.server.close_stage()), world.expected(world.names[:5]))


def test_too_few_confirmations_end_the_round_and_no_session(make_world: MakeWorld) -> None:
    """The server does not ask for shares that every client would refuse, and abort over."""
    world = make_world().set_up()
    start = world.begin(0)
    world.gone.add("client-4")
    replies = world.deliver(world.step(start))
    del replies["client-3"]
    world.upload(replies)
    with pytest.raises(NotEnoughSurvivors, match="confirmed by 4 clients; got 3") as caught:
        world.server.close_stage()
    assert caught.value.code == "not-confirmed"
    assert np.array_equal(world.finish(world.begin(1)), world.expected(world.names[:4]))


@pytest.mark.parametrize("change", [lambda share: share * 2, lambda share: share[:-1]])
def test_the_server_takes_one_kind_of_share_and_all_of_it(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms], change: Any
) -> None:
    """A client that gives more than the survivor set asks for is refused, and the round goes on."""
    world = make_world(Bonawitz(SemiHonest()), terms_of(threshold=3))
    replies = world.deliver(world.step(world.set_up().begin()))
    released = world.read(replies["client-0"])
    (owner, share), *others = released.shares
    replies["client-0"] = world.write(replace(released, shares=((owner, change(share)), *others)))
    world.upload(replies)
    assert world.rejected("client-0") == "bad-share"
    assert np.array_equal(world.finish(world.server.close_stage()), world.expected(world.names))


def test_shares_that_are_named_for_another_round_are_not_taken(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    """A reply that answers another request harms its sender only."""
    world = make_world(Bonawitz(SemiHonest()), terms_of(threshold=3))
    replies = world.deliver(world.step(world.set_up().begin()))
    released = world.read(replies["client-0"])
    replies["client-0"] = world.write(replace(released, round_digest=bytes(32)))
    world.upload(replies)
    assert world.rejected("client-0") is not None
    assert np.array_equal(world.finish(world.server.close_stage()), world.expected(world.names))


@pytest.mark.parametrize("roster", [(0, 1, 2, 3, 9), (1, 2, 3, 4)])
def test_a_roster_holds_sharers_only_and_us(make_world: MakeWorld, roster: Any) -> None:
    """A stranger would lift the count over the floor; without us there is nothing to mask for."""
    world = make_world()
    start = world.read(world.set_up().begin()["client-0"])
    with pytest.raises(PeerProtocolError, match="roster must include us") as caught:
        world.clients["client-0"].receive(world.write(replace(start, roster=roster)))
    assert caught.value.code == "unknown-client"


@pytest.mark.parametrize("parties", ["client", "server"])
def test_no_list_is_read_that_is_longer_than_the_number_of_clients(
    make_world: MakeWorld, parties: str
) -> None:
    """A message of 64 MiB holds 2^24 numbers, which take 700 MB."""
    world = make_world()
    if parties == "client":
        start = world.read(world.set_up().begin()["client-0"])
        with pytest.raises(PeerProtocolError, match="at most 5 entries; got 6"):
            world.clients["client-0"].receive(world.write(replace(start, roster=tuple(range(6)))))
        return
    world.upload(world.advertise())
    dealt = world.deliver(world.server.close_stage())
    sealed = replace(world.read(dealt["client-0"]), boxes=tuple((index, b"") for index in range(6)))
    verdict = world.server.receive("client-0", world.write(sealed))
    assert isinstance(verdict, Rejected)
    assert "at most 5 entries; got 6" in verdict.reason


def test_an_invitation_is_read_in_its_turn_only(make_world: MakeWorld) -> None:
    """A silo reads invitations before its session does, to check model and budget."""
    world = make_world()
    client, start = world.client("client-0"), RoundStart(RoundTerms(0, 0, bytes(32)), 0, (0, 1, 2, 3))
    client.start()
    cut = world.write(start)[:-1]
    assert client.invitation_in(cut) is None
    with pytest.raises(PeerProtocolError, match="RoundStart must be legal in state 'advertised'"):
        client.receive(cut)
    client = make_world().set_up().clients["client-0"]
    assert client.invitation_in(world.write(start)) == start
    with pytest.raises(PeerProtocolError, match="ends early"):
        client.invitation_in(cut)


@pytest.mark.parametrize("field", ["mask_keys", "commitments"])
def test_an_offer_is_for_every_slot(make_world: MakeWorld, field: str) -> None:
    """Signed by its owner, and yet refused at both ends: later steps find keys by their slot."""
    world = make_world()
    messages = world.advertise()
    offers = [world.read(data) for data in messages.values()]
    short = replace(offers[1], **{field: getattr(offers[1], field)[1:]})
    content = binding.advertised_content(world.agreement, world.epoch, short)
    short = replace(short, signature=world.identities["client-1"].sign(content))
    assert world.server.receive("client-1", world.write(short)).code == "malformed"
    with pytest.raises(PeerProtocolError, match="keys for 2 rounds") as caught:
        world.clients["client-0"].receive(world.write(KeyList((offers[0], short, *offers[2:]))))
    assert caught.value.code == "malformed"


def test_two_epochs_of_a_run_have_no_key_in_common(terms_of: Callable[..., SumTerms]) -> None:
    terms, offers = terms_of(), []
    run = Bonawitz(rounds_per_setup=1).open(terms, SeededRandom(0))
    for index in range(2):
        inputs = dict.fromkeys(terms.clients, np.zeros(terms.length, dtype=np.int64))
        run.sum_round(RoundTerms(index, 0, bytes(32)), inputs)
        offers += [session._memory.own_offer for session in run._sessions.values()]
    public = [key for offer in offers for key in (offer.channel_key, *offer.mask_keys, *offer.commitments)]
    assert len(set(public)) == len(public) == 2 * 5 * 3


def test_an_old_epoch_of_a_run_leaves_no_secret(terms_of: Callable[..., SumTerms]) -> None:
    terms = terms_of()
    run = Bonawitz(rounds_per_setup=2).open(terms, SeededRandom(0))
    inputs = dict.fromkeys(terms.clients, np.zeros(terms.length, dtype=np.int64))
    run.sum_round(RoundTerms(0, 0, bytes(32)), dict(list(inputs.items())[:4]))
    old = list(run._sessions.values())
    run.sum_round(RoundTerms(1, 0, bytes(32)), inputs)
    assert [secrets_of(session) for session in old] == [[]] * 4


def test_choosers_hold_no_shares() -> None:
    """Client 0 is drawn by all others, who could else be colluders with a threshold of its shares."""
    places = neighborhoods({0: (1, 2), 1: (0, 2), 2: (0, 1), 3: (0, 1), 4: (0, 1)})
    assert places[0].holders == {1, 2}
    assert places[0].owners == {1, 2, 3, 4}
    assert places[0].maskers == {1, 2, 3, 4}


@dataclass(frozen=True)
class Sparse:
    """Neighbours drawn by five clients, as no protocol would let them."""

    def agreement(self, terms: SumTerms, identities: AllowList) -> Agreement:
        return Agreement(replace(terms, threshold=2), SemiMalicious(), ChosenGraph(4, 9), 2, identities)


def test_a_signed_input_that_is_no_vector_harms_its_sender_only(make_world: MakeWorld) -> None:
    """Its signature stays out of the survivor set; passed on with it, every client would abort."""
    world = make_world(Sparse()).set_up()
    replies = world.deliver(world.begin())
    masked = world.read(replies["client-3"])
    replies["client-3"] = world.write(replace(masked, packed=masked.packed[:-1]))
    world.upload(replies)
    assert world.rejected("client-3") == "bad-vector"
    world.gone.add("client-3")
    total = world.finish(world.server.close_stage())
    assert np.array_equal(total, world.expected([name for name in world.names if name != "client-3"]))


def unreadable(world: World, kind: type[Choices] | type[UnmaskShares]) -> bytes:
    """A message whose header is right and whose body cannot be read."""
    empty = encode(Choices(()), world.agreement.digest, world.epoch)
    return empty[:4] + bytes([kind.TYPE]) + empty[5:-2] + b"\xff" * 64


def test_a_body_that_no_state_waits_for_is_never_read(make_world: MakeWorld) -> None:
    # A coordinator may send as much as a carrier lets through: 64 MiB of draws cost a silo 3 GB to read.
    world = make_world()
    with pytest.raises(PeerProtocolError) as caught:
        world.clients["client-0"].receive(unreadable(world, Choices))
    assert caught.value.code is AbortCode.OUT_OF_ORDER
    verdict = world.server.receive("client-0", unreadable(world, UnmaskShares))
    assert isinstance(verdict, Rejected)
    assert verdict.code is AbortCode.OUT_OF_ORDER
