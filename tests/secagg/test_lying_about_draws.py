"""Sparse graphs against a server that lies about who drew whom, who shared, and which round it is.

docs/adr/0043 has the argument. The first attack opens the sum of a part of the survivors once the checks
against it are switched off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from discreet.errors import ProtocolAbort
from discreet.secagg import Agreement, Bell, RoundTerms, SemiMalicious, SumTerms, binding
from discreet.secagg.client import rounds
from discreet.secagg.client.memory import ClientMemory
from discreet.secagg.client.setup import Place
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.messages import (
    Choices,
    ConfirmSet,
    DeliveredShares,
    MaskedInput,
    RoundStart,
    SurvivorSet,
)
from discreet.secagg.packing import add_packed
from discreet.secagg.ring import reduce_words, to_total, word_type
from discreet.secagg.server.recovery import Released, recover_all
from tests.secagg.conftest import MakeWorld, World

CLIENTS, LOW, COLLUDING = 60, 56, 2
TERMS = {"min_survivors": LOW, "max_colluding": COLLUDING, "length": 5}
START = RoundTerms(0, 0, b"model".ljust(32, b"."))
EVERYONE = tuple(range(CLIENTS))


@pytest.fixture
def world(make_world: MakeWorld, terms_of: Callable[..., SumTerms]) -> World:
    protocol = Bell(SemiMalicious(), rounds_per_setup=1)
    threshold = protocol.sparsity(CLIENTS, LOW, COLLUDING).threshold
    return make_world(protocol, terms_of(CLIENTS, threshold=threshold, **TERMS))


@dataclass
class Liar:
    """A server that talks to every client by itself; a client that aborts is out of reach from then on."""

    world: World
    aborted: dict[int, str] = field(default_factory=dict)

    def say(self, index: int, message: Any) -> Any:
        """Returns the client's answer, or None."""
        client = self.world.clients[self.world.names[index]]
        if index in self.aborted:
            return None
        try:
            reply = client.receive(self.world.write(message))
        except ProtocolAbort as abort:
            self.aborted[index] = abort.code
            return None
        return None if reply is None else self.world.read(reply)

    def masked(self, index: int, start: RoundStart) -> Any:
        """Returns the client's masked input, or None."""
        self.say(index, start)
        if index in self.aborted:
            return None
        name = self.world.names[index]
        return self.world.read(self.world.clients[name].submit(self.world.inputs[name]))

    def draws(self) -> dict[int, tuple[int, ...]]:
        """Keys are listed honestly; returns the draws, which are sent in clear."""
        self.world.upload(self.world.advertise())
        told = self.world.deliver(self.world.server.close_stage())
        return {self.world.names.index(name): self.world.read(data).chosen for name, data in told.items()}

    def share(self, shown: dict[int, Choices]) -> dict[int, dict[int, bytes]]:
        """Shows each client draws of the server's own making; returns the boxes, by owner and holder."""
        answers = {index: self.say(index, choices) for index, choices in shown.items()}
        return {index: dict(sealed.boxes) for index, sealed in answers.items() if sealed is not None}

    def deliver(self, boxes: dict[int, dict[int, bytes]], sharers: tuple[int, ...]) -> None:
        for index in boxes:
            mine = tuple((owner, found[index]) for owner, found in sorted(boxes.items()) if index in found)
            known = tuple(box for box in mine if box[0] in sharers)
            self.say(index, DeliveredShares(sharers, known))


def core(draws: dict[int, tuple[int, ...]], threshold: int) -> set[int]:
    """A small set whose members all drew a threshold of each other, by greedy peeling."""
    best = inside = set(draws)
    while inside:
        best = inside
        inside = inside - {min(inside, key=lambda one: sum(one in draws[other] for other in inside))}
        while weak := {one for one in inside if len(inside.intersection(draws[one])) < threshold}:
            inside = inside - weak
    return best


def pruned(draws: dict[int, tuple[int, ...]], inside: set[int]) -> Choices:
    """The draws as if nobody outside had drawn."""
    return Choices(tuple((index, draws[index]) for index in sorted(inside)))


def opened(
    world: World,
    masked: dict[int, MaskedInput],
    boxes: dict[int, dict[int, bytes]],
    held: dict[int, dict[int, bytes]],
    digest: bytes,
) -> np.ndarray:
    """Adds masked inputs up and takes the self masks off, with the server's own tools."""
    terms = world.agreement.terms
    released = [Released(one, tuple(sorted(boxes[one])), held[one], lambda _: True) for one in held]
    found = recover_all(released, terms.threshold)
    total = np.zeros(terms.length, dtype=word_type(terms.bits))
    for one in masked.values():
        add_packed(total, one.packed, terms.bits)
    seeds = {owner: Secret(secret.reveal()[:32]) for owner, secret in found.secrets.items()}
    add_masks(total, [], [keyring.derive(seed, digest, binding.self_purpose(i)) for i, seed in seeds.items()])
    return to_total(reduce_words(total, terms.bits), terms.bits)


def open_part(world: World) -> tuple[Liar, bool]:
    """A part masks with itself only, everybody signs all sixty, and the part's masks come off.

    The part is told that the others never drew; the others, that nobody of the part drew one of them.

    Returns:
        The server, and whether it has the sum of the part alone.
    """
    liar, terms = Liar(world), world.agreement.terms
    draws = liar.draws()
    part = core(draws, terms.threshold)
    assert len(part) < LOW - COLLUDING, "the attack is about fewer clients than the floor"
    within = {index: tuple(sorted(part - {index})[: len(draws[index])]) for index in part}
    told = {index: Choices(tuple(sorted((draws | within).items()))) for index in EVERYONE}
    boxes = liar.share(told | dict.fromkeys(part, pruned(draws, part)))
    for index in EVERYONE:
        owners = part if index in part else set(EVERYONE) - part
        mine = tuple((one, boxes[one][index]) for one in sorted(owners) if index in boxes.get(one, ()))
        liar.say(index, DeliveredShares(EVERYONE, mine))
    start = RoundStart(START, 0, EVERYONE)
    masked = {index: liar.masked(index, start) for index in EVERYONE}
    signed_inputs = {index: one.consent for index, one in masked.items() if one is not None}
    attested = tuple(sorted(signed_inputs.items()))
    signed: dict[int, bytes] = {}
    for index in signed_inputs:
        reply = liar.say(index, SurvivorSet(masked[index].round_digest, EVERYONE, attested))
        if reply is not None:
            signed[index] = reply.signature
    held: dict[int, dict[int, bytes]] = {}
    digest = next((masked[index].round_digest for index in sorted(part) if index in signed), b"")
    agreeing = {i: signature for i, signature in signed.items() if masked[i].round_digest == digest}
    for index in agreeing:
        released = liar.say(index, ConfirmSet(digest, tuple(sorted(agreeing.items()))))
        for owner, share in () if released is None else released.shares:
            held.setdefault(owner, {})[index] = share
    if not all(len(held.get(index, ())) >= terms.threshold for index in part):
        return liar, False
    total = opened(world, {i: masked[i] for i in part}, boxes, {i: held[i] for i in part}, digest)
    return liar, np.array_equal(total, world.expected([world.names[index] for index in part]))


def no_floor_on_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Agreement.require_floor
    monkeypatch.setattr(
        Agreement, "require_floor", lambda own, n, deed: deed == "drawn neighbours" or check(own, n, deed)
    )


def sharers_need_not_have_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    place = ClientMemory.place

    def anybody(memory: ClientMemory, me: int) -> Place:
        found = place(memory, me)
        return replace(found, members=tuple(found.offers))

    monkeypatch.setattr(ClientMemory, "place", anybody)


def draws_in_no_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "graph_digest", lambda digest, _choices: digest)


def no_signed_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "check_survivors", lambda *_: None)


@pytest.mark.parametrize(
    ("missing", "code"),
    [
        ((), "too-few"),
        ((no_floor_on_draws,), "unknown-client"),
        ((no_floor_on_draws, sharers_need_not_have_drawn), "bad-signature"),
        ((no_floor_on_draws, sharers_need_not_have_drawn, draws_in_no_digest), None),
        ((no_floor_on_draws, sharers_need_not_have_drawn, no_signed_inputs), None),
    ],
)
def test_a_part_that_masks_with_itself_only_is_not_opened(
    world: World, monkeypatch: pytest.MonkeyPatch, missing: tuple[Any, ...], code: str | None
) -> None:
    """Three checks each stop it; without the three, the sum of fewer than the floor opens."""
    for check in missing:
        check(monkeypatch)
    liar, has_opened = open_part(world)
    assert has_opened == (code is None)
    assert (code in liar.aborted.values()) == (code is not None)


def test_clients_that_saw_other_draws_open_no_box_of_each_other(world: World) -> None:
    """Two views above the floor: half the clients is told that four others never drew."""
    liar = Liar(world)
    draws = liar.draws()
    whole, fewer = Choices(tuple(sorted(draws.items()))), pruned(draws, set(EVERYONE[4:]))
    boxes = liar.share({index: fewer if 4 <= index < 30 else whole for index in EVERYONE})
    liar.deliver(boxes, EVERYONE)
    assert set(liar.aborted) == set(EVERYONE)
    assert {liar.aborted[index] for index in range(4, 30)} == {"unknown-client"}, "a stranger among sharers"
    assert {liar.aborted[index] for index in (*range(4), *range(30, 60))} <= {
        "bad-ciphertext",
        "unknown-client",
    }


def test_a_sharer_whose_draw_was_not_shown_is_a_stranger(world: World) -> None:
    """Or nobody would mask with a client that is a survivor later."""
    liar = Liar(world)
    draws = liar.draws()
    boxes = liar.share(dict.fromkeys(EVERYONE[1:], pruned(draws, set(EVERYONE[1:]))))
    liar.deliver(boxes, EVERYONE)
    assert set(liar.aborted.values()) == {"unknown-client"}


def test_nobody_signs_survivors_that_masked_for_another_roster(world: World) -> None:
    """Some are invited to a smaller roster, and so mask with fewer: their signatures are on another round."""
    liar = Liar(world)
    boxes = liar.share(dict.fromkeys(EVERYONE, Choices(tuple(sorted(liar.draws().items())))))
    liar.deliver(boxes, EVERYONE)
    smaller = RoundStart(START, 0, EVERYONE[:LOW])
    some = set(range(20))
    masked = {i: liar.masked(i, smaller if i in some else RoundStart(START, 0, EVERYONE)) for i in EVERYONE}
    attested = tuple((index, masked[index].consent) for index in EVERYONE)
    for index in EVERYONE:
        liar.say(index, SurvivorSet(masked[index].round_digest, EVERYONE, attested))
    assert liar.aborted == dict.fromkeys(EVERYONE, "bad-signature") | dict.fromkeys(some, "unknown-client")


@pytest.mark.parametrize("leave_out", [1, CLIENTS])
def test_survivors_without_their_signatures_are_not_signed(world: World, leave_out: int) -> None:
    world.set_up()
    shown = world.read(world.step(world.begin())["client-3"])
    liar = Liar(world)
    liar.say(3, replace(shown, attested=shown.attested[leave_out:]))
    assert liar.aborted == {3: "not-confirmed"}


def test_the_server_takes_no_input_that_is_not_signed(world: World) -> None:
    replies = world.set_up().deliver(world.begin())
    masked = world.read(replies["client-2"])
    world.upload(replies | {"client-2": world.write(replace(masked, consent=bytes(64)))})
    assert world.rejected("client-2") == "bad-signature"
    world.gone.add("client-2")
    total = world.finish(world.server.close_stage())
    assert np.array_equal(total, world.expected([name for name in world.names if name != "client-2"]))
