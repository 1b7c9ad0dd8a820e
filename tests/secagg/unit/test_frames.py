"""Frames: any message through any frame size, and nothing but one bounded message in memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg import Agreement, AllowList, SemiMalicious
from discreet.secagg.codec import encode
from discreet.secagg.frames import FRAME_HEADER_BYTES, FrameAssembler, max_message_bytes, split
from discreet.secagg.graph import ChosenGraph
from discreet.secagg.messages import Choices


@given(st.lists(st.binary(max_size=90), max_size=4), st.integers(1, 40))
@settings(deadline=None)
def test_round_trip(messages: list[bytes], room: int) -> None:
    assembler = FrameAssembler(90)
    for message in messages:
        *first, last = split(message, FRAME_HEADER_BYTES + room)
        assert all(assembler.add(frame) is None for frame in first)
        assert assembler.add(last) == message


def refused(assembler: FrameAssembler, frame: bytes) -> None:
    with pytest.raises(PeerProtocolError) as caught:
        assembler.add(frame)
    assert caught.value.code == "malformed"


def test_lost_repeated_foreign_and_changed_frames() -> None:
    frames = list(split(b"x" * 50, FRAME_HEADER_BYTES + 20))
    others = list(split(b"y" * 50, FRAME_HEADER_BYTES + 20))
    for sequence in ([0, 2], [0, 1, 1], [1], [2]):
        assembler = FrameAssembler(50)
        *good, bad = [frames[index] for index in sequence]
        assert [assembler.add(frame) for frame in good] == [None] * len(good)
        refused(assembler, bad)
        refused(assembler, frames[1])
    assembler = FrameAssembler(50)
    assembler.add(frames[0])
    refused(assembler, others[1])
    assembler.add(frames[0])
    assembler.add(frames[1])
    refused(assembler, frames[2][:-1] + b"z")
    assert [assembler.add(frame) for frame in frames][-1] == b"x" * 50


def test_announcements_reserve_nothing() -> None:
    assembler = FrameAssembler(49)
    refused(assembler, next(iter(split(b"x" * 50, 60))))
    refused(assembler, b"short")
    frame = bytearray(next(iter(split(b"x" * 10, 60))))
    frame[32:37] = b"\x05\0\0\0\0"
    refused(FrameAssembler(49), bytes(frame))


def test_frames_need_room() -> None:
    with pytest.raises(LocalProtocolError, match="header"):
        list(split(b"x", FRAME_HEADER_BYTES))


def test_no_message_of_a_session_exceeds_the_announced_limit(make_world) -> None:
    world = make_world()
    limit = max_message_bytes(world.agreement)
    seen = list(world.advertise().values())
    world.upload(dict(zip(world.names, seen, strict=True)))
    outgoing = world.server.close_stage()
    while outgoing:
        replies = world.deliver(outgoing)
        seen += [*outgoing.values(), *replies.values()]
        world.upload(replies)
        if world.server.state.value == "ready":
            outgoing = world.begin() if not replies else {}
            world.gone.add("client-4")  # so that the survivors are confirmed in an exchange of its own
        else:
            outgoing = world.server.close_stage()
    assert len({world.read(data).TYPE for data in seen}) == 10
    assert max(map(len, seen)) <= limit


def test_everybodys_draws_fit(terms_of, identities_of) -> None:
    terms = terms_of(500)
    identities = AllowList({name: one.public_key for name, one in identities_of(terms.clients).items()})
    agreement = Agreement(terms, SemiMalicious(), ChosenGraph(400, 500), 1, None, identities)
    drawn = tuple(range(400))
    told = encode(Choices(tuple((index, drawn) for index in range(500))), agreement.digest, 1)
    assert len(told) <= max_message_bytes(agreement)
