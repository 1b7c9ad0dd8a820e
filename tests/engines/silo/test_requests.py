"""Requests and replies on the wire: every value comes back, nothing else is accepted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import PeerProtocolError
from discreet.secagg import AbortCode
from discreet.silo.requests import (
    Deliver,
    Farewell,
    Hello,
    Joined,
    Present,
    Propose,
    Refused,
    Replied,
    decode,
    encode,
)

messages = st.one_of(
    st.builds(Hello),
    st.builds(Farewell),
    st.builds(Propose, st.integers(0, 99), st.binary(), st.binary(), st.binary()),
    st.builds(Deliver, st.lists(st.binary()).map(tuple), st.binary()),
    st.builds(Present, st.text()),
    st.builds(Joined, st.text(), st.booleans(), st.binary()),
    st.builds(Replied, st.binary()),
    st.builds(Refused, st.text(), st.text(), st.text()),
)


@given(messages)
def test_every_message_comes_back(message: Any) -> None:
    assert decode(encode(message)) == message


@given(messages, st.data())
def test_a_message_that_ends_early_is_malformed(message: Any, data: Any) -> None:
    whole = encode(message)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(PeerProtocolError) as caught:
        decode(whole[:cut])
    assert caught.value.code == AbortCode.MALFORMED


@given(messages)
def test_bytes_behind_a_message_are_malformed(message: Any) -> None:
    with pytest.raises(PeerProtocolError):
        decode(encode(message) + b"\0")


@given(st.binary())
def test_junk_is_malformed(junk: bytes) -> None:
    with pytest.raises(PeerProtocolError):
        decode(junk)


@pytest.mark.parametrize(
    "header",
    [
        b'{"kind":"Nothing","sizes":{}}',
        b'{"kind":"Replied","sizes":{"message":-1}}',
        b'{"kind":"Replied","message":"text","sizes":{}}',
        b'{"kind":"Present","silo":3,"sizes":{}}',
        b'{"kind":"Hello","extra":1,"sizes":{}}',
        b'{"kind":"Hello"}',
        b"[]",
        b'{"kind":"Hello","kind":"Hello","sizes":{}}',
        b'{"kind":"Farewell","sizes":{},"kind":"Hello"}',
        b'{"kind":"Hello", "sizes":{}}',
        b'{"sizes":{},"kind":"Hello"}',
        b'{"kind":"Replied","sizes":{"message":false}}',
        '{"kind":"Hello","sizes":{}}'.encode("utf-16"),
        '{"kind":"Hello","sizes":{}}'.encode("utf-16-le"),
        '{"kind":"Hello","sizes":{}}'.encode("utf-8-sig"),
        '{"kind":"Present","silo":"é","sizes":{}}'.encode(),
        *(
            b'{"kind":"Propose","epoch":' + number + b',"sizes":{"session":0,"plan":0,"allow_list":0}}'
            for number in (b"NaN", b"Infinity", b"-Infinity", b"1.0", b"true", b"1" * 5000)
        ),
    ],
)
def test_headers_that_no_message_has_are_malformed_in_one_line(header: bytes) -> None:
    with pytest.raises(PeerProtocolError) as caught:
        decode(b"dsr1" + len(header).to_bytes(4, "little") + header)
    assert caught.value.code == AbortCode.MALFORMED
    assert str(caught.value).isprintable()


def test_a_large_vector_costs_its_own_size_and_a_header() -> None:
    assert len(encode(Replied(bytes(1_000_000)))) < 1_000_100
