"""Fields and records: no value has two encodings, and no two values have one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg import codec, messages, wire
from discreet.secagg.terms import RoundTerms
from discreet.secagg.wire import Reader

OFFER = messages.Advertise(1, b"k" * 32, (b"m" * 32,), (b"c" * 32, b"d" * 32), b"s" * 64)


@pytest.mark.parametrize(
    "items",
    [
        messages.KeyList((replace(OFFER, sender=2), OFFER)),
        messages.KeyList((OFFER, replace(OFFER, channel_key=b"x" * 32))),
        messages.Choices(((2, (0,)), (1, (0,)))),
        messages.Choices(((1, (0,)), (1, (2,)))),
        messages.SealedShares(((2, b"a"), (1, b"b"))),
        messages.SealedShares(((1, b"a"), (1, b"b"))),
        messages.UnmaskShares(bytes(32), ((1, b"a"), (1, b"b"))),
        messages.SurvivorSet(bytes(32), (1,), ((1, b"a"), (1, b"b"))),
    ],
    ids=repr,
)
def test_items_of_clients_come_once_and_in_order(items: messages.Message) -> None:
    """Else the last of two shares, keys or signatures in one client's name would silently win."""
    with pytest.raises(PeerProtocolError, match="strictly increase") as caught:
        codec.decode(codec.encode(items, bytes(32), 1), bytes(32), 1)
    assert caught.value.code == "malformed"


@pytest.mark.parametrize(
    "change",
    [
        {"channel_key": b"k" * 31},
        {"mask_keys": (b"m" * 31, b"m" * 33)},
        {"commitments": (b"c" * 64,)},
        {"signature": b""},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_both_ends_know_the_size_of_is_written_in_that_size(change: Any) -> None:
    """Keys of 31 and 33 bytes would have the bytes, and the signature, of two keys of 32."""
    with pytest.raises(LocalProtocolError, match="must have") as caught:
        replace(OFFER, **change).body()
    assert caught.value.code == "malformed"


def test_a_signature_is_on_every_field_but_itself() -> None:
    assert OFFER.unsigned_body() + OFFER.signature == OFFER.body()
    assert replace(OFFER, signature=b"").unsigned_body() == OFFER.unsigned_body()


def test_records_inside_records() -> None:
    start = messages.RoundStart(RoundTerms(1, 2, b"m" * 32), 3, (4, 5))
    assert start.body().startswith(start.terms.body())
    assert messages.RoundStart.read(Reader(start.body())) == start


@pytest.mark.parametrize(
    "items",
    [
        messages.SurvivorSet(bytes(32), (0, 1, 2, 3)),
        messages.Choices(((0, (1, 2, 3, 4)),)),
        messages.KeyList(tuple(replace(OFFER, sender=sender) for sender in range(4))),
        messages.UnmaskShares(bytes(32), tuple((owner, b"") for owner in range(4))),
    ],
    ids=lambda items: type(items).__name__,
)
def test_no_list_has_more_entries_than_there_are_clients(items: messages.Message) -> None:
    data = codec.encode(items, bytes(32), 1)
    assert codec.decode(data, bytes(32), 1, clients=4) == items
    with pytest.raises(PeerProtocolError, match="at most 3 entries; got 4") as caught:
        codec.decode(data, bytes(32), 1, clients=3)
    assert caught.value.code == "malformed"


def test_where_the_clients_are_not_known_there_are_2_to_the_20() -> None:
    with pytest.raises(PeerProtocolError, match="at most 1048576 entries"):
        wire.INDEX_SET.read(Reader(((1 << 20) + 1).to_bytes(4, "little")))


def test_few_sets_stay_in_memory() -> None:
    for first in range(9):
        wire.INDEX_SET.read(Reader(wire.index_set((first, 10))))
    assert wire._indices.cache_info().currsize <= 2


def test_no_byte_stands_behind_the_last_field() -> None:
    data = codec.encode(messages.Confirm(bytes(32), bytes(64)), bytes(32), 1)
    with pytest.raises(PeerProtocolError, match="behind it") as caught:
        codec.decode(data + b"\0", bytes(32), 1)
    assert caught.value.code == "malformed"


@pytest.mark.parametrize("held", [bytearray, memoryview, lambda data: memoryview(bytearray(data))])
def test_a_message_is_read_whatever_holds_its_bytes(held: Any) -> None:
    items = messages.SurvivorSet(bytes(32), (0, 3), ((1, b"a"), (2, b"b")))
    data = codec.encode(items, bytes(32), 1)
    assert codec.decode(held(data), bytes(32), 1) == items
