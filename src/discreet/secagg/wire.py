"""Canonical bytes: one writer and one reader for fixed-width little-endian fields and counted lists.

Everything that is signed, hashed or authenticated is written with these, so two different values never have
the same bytes and one value never has two encodings. A `Record` says in the annotations of its fields how
each is written and read: there is no second place in which the two could differ.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Annotated, Any, Generic, Self, TypeVar, get_type_hints

from discreet.errors import LocalProtocolError, PeerProtocolError
from discreet.secagg.codes import AbortCode

T = TypeVar("T")

NUMBER_BYTES = 4
"""Bytes of a client's number, and of how many clients there are."""
MAX_CLIENTS = 1 << 20
"""Most clients that terms may name, and so most entries of any list with one for a client."""


def uint(value: int, size: int) -> bytes:
    """Encodes a non-negative integer in ``size`` bytes."""
    return value.to_bytes(size, "little")


def counted(body: bytes | memoryview) -> bytes:
    """Encodes bytes behind their length."""
    return uint(len(body), 4) + body


def number(client: int) -> bytes:
    """Encodes the number of a client, or of clients."""
    return client.to_bytes(NUMBER_BYTES, "little")


# Where many clients share a process, all hash and compare the same few sets, as they read them (`_indices`).
@lru_cache(maxsize=2)
def index_set(indices: tuple[int, ...]) -> bytes:
    """Encodes a set of client indices: how many, then each in increasing order."""
    ordered = sorted(indices)
    return struct.pack(f"<{1 + len(ordered)}I", len(ordered), *ordered)


@lru_cache(maxsize=2)
def as_set(indices: tuple[int, ...]) -> frozenset[int]:
    """Returns the client indices of a list, to look others up in."""
    return frozenset(indices)


def fixed_list(items: Sequence[bytes]) -> bytes:
    """Encodes items whose size both ends know: how many, then each."""
    return uint(len(items), 4) + b"".join(items)


class Reader:
    """Reads fields in order; whatever does not fit is a `PeerProtocolError` with code ``malformed``.

    Of a list with one entry for a client no more than ``clients`` entries are read. What is read is `bytes`,
    whatever holds the message: a set is a key of `_indices`.
    """

    __slots__ = ("_at", "_clients", "_data")

    def __init__(self, data: bytes, *, clients: int = MAX_CLIENTS) -> None:
        self._data = bytes(data)  # which copies no bytes
        self._at = 0
        self._clients = clients

    def take(self, size: int) -> bytes:
        """Returns the next ``size`` bytes."""
        start = self._pass(size)
        return self._data[start : self._at]

    def view(self, size: int) -> memoryview:
        """Returns the next ``size`` bytes without copying them."""
        start = self._pass(size)
        return memoryview(self._data)[start : self._at]

    def uint(self, size: int) -> int:
        """Returns the next unsigned integer of ``size`` bytes."""
        return int.from_bytes(self.take(size), "little")

    def _pass(self, size: int) -> int:
        """Goes on behind the next ``size`` bytes, and returns where they begin."""
        start = self._at
        self._at = end = start + size
        if end > len(self._data):
            raise malformed("a message must hold all its fields; got one that ends early.")
        return start

    def count(self) -> int:
        """Returns the next number of clients."""
        found = self.uint(NUMBER_BYTES)
        # Before an entry is read: as numbers of Python, a set takes ten times its bytes.
        if not found <= self._clients:
            raise malformed(f"a list of clients must have at most {self._clients} entries; got {found}.")
        return found

    def end(self) -> None:
        """Refuses bytes behind the last field."""
        if self._at != len(self._data):
            raise malformed("a message must end with its last field; got bytes behind it.")


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """How a field is written, and read with its bounds checked; stands in an annotation of a `Record`.

    ``pieces`` writes the same bytes in pieces, where a copy of them all costs something.
    """

    write: Callable[[T], bytes]
    read: Callable[[Reader], T]
    pieces: Callable[[T], tuple[bytes | memoryview, ...]] | None = None


def sized(size: int) -> Form[bytes]:
    """Bytes whose number both ends know; others cannot be written."""
    return Form(lambda value: _of_size(size, (value,))[0], lambda reader: reader.take(size))


def sized_list(size: int) -> Form[tuple[bytes, ...]]:
    """A counted list of items of ``size`` bytes each; others cannot be written."""

    def read(reader: Reader) -> tuple[bytes, ...]:
        body = reader.take(size * reader.uint(4))
        return tuple([body[at : at + size] for at in range(0, len(body), size)])

    return Form(lambda items: fixed_list(_of_size(size, items)), read)


def in_order(item: Form[T], client: Callable[[T], int]) -> Form[tuple[T, ...]]:
    """A counted list of items of clients, whose numbers strictly increase."""

    def read(reader: Reader) -> tuple[T, ...]:
        items = tuple([item.read(reader) for _ in range(reader.count())])
        _require_increasing(map(client, items))
        return items

    return Form(lambda items: number(len(items)) + b"".join(map(item.write, items)), read)


def numbered(value: Form[T]) -> Form[tuple[tuple[int, T], ...]]:
    """A counted list of values, each behind the number of its client; numbers strictly increase."""
    pair: Form[tuple[int, T]] = Form(
        lambda item: number(item[0]) + value.write(item[1]),
        lambda reader: (reader.uint(NUMBER_BYTES), value.read(reader)),
    )
    return in_order(pair, itemgetter(0))


def _of_size(size: int, items: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Passes items on; with one of another size, different values could have the same bytes."""
    if not {size}.issuperset(map(len, items)):
        raise LocalProtocolError(
            AbortCode.MALFORMED, f"a field must have {size} bytes; got {[*map(len, items)]}."
        )
    return items


def _number(size: int) -> Form[int]:
    return Form(lambda value: uint(value, size), lambda reader: reader.uint(size))


def _read_index_set(reader: Reader) -> tuple[int, ...]:
    return _indices(reader.take(NUMBER_BYTES * reader.count()))


@lru_cache(maxsize=2)
def _indices(body: bytes) -> tuple[int, ...]:
    """Reads numbers of clients, and refuses any order but the increasing one."""
    indices = struct.unpack(f"<{len(body) // NUMBER_BYTES}I", body)
    _require_increasing(indices)
    return indices


# The bytes of `numbered(COUNTED)`, in one step: the server of n clients reads n^2 of them in a round.
_NUMBER_AND_LENGTH = struct.Struct("<II")


def _numbered_bytes(item: tuple[int, bytes]) -> bytes:
    return _NUMBER_AND_LENGTH.pack(item[0], len(item[1])) + item[1]


def _read_numbered_bytes(reader: Reader) -> tuple[int, bytes]:
    client, length = _NUMBER_AND_LENGTH.unpack(reader.take(_NUMBER_AND_LENGTH.size))
    return client, reader.take(length)


INDEX_SET = Form(index_set, _read_index_set)
COUNTED: Form[bytes] = Form(counted, lambda reader: reader.take(reader.uint(4)))

U32 = Annotated[int, _number(4)]
Client = Annotated[int, _number(NUMBER_BYTES)]
Counted = Annotated[bytes, COUNTED]
CountedView = Annotated[
    bytes | memoryview,
    Form(counted, lambda reader: reader.view(reader.uint(4)), lambda body: (uint(len(body), 4), body)),
]
IndexSet = Annotated[tuple[int, ...], INDEX_SET]
Numbered = Annotated[
    tuple[tuple[int, bytes], ...], in_order(Form(_numbered_bytes, _read_numbered_bytes), itemgetter(0))
]


class Record:
    """A frozen dataclass whose canonical bytes are its fields, in the order in which they are declared."""

    __slots__ = ()

    def parts(self, *, without: str = "") -> Iterator[bytes | memoryview]:
        """Yields the bytes of every field but the one that is named."""
        for name, form in self._forms().items():
            if name != without:
                value = getattr(self, name)
                yield from form.pieces(value) if form.pieces else (form.write(value),)

    def body(self) -> bytes:
        """Returns the canonical bytes."""
        return b"".join(self.parts())

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Inverse of `body`.

        Raises:
            PeerProtocolError: code ``malformed``, for bytes that `body` never writes.
        """
        make: Callable[..., Self] = cls
        return make(*[form.read(reader) for form in cls._forms().values()])

    @classmethod
    @cache
    def _forms(cls) -> dict[str, Form[Any]]:
        """Returns the fields with their forms; one without a form is an error."""
        record: Any = cls
        hints = get_type_hints(record, include_extras=True)
        return {field.name: hints[field.name].__metadata__[0] for field in fields(record)}


def _require_increasing(indices: Iterable[int]) -> None:
    """Refuses a set that is repeated or out of order, so that every set has one encoding."""
    if not all(low < high for low, high in pairwise(indices)):
        raise malformed("client indices must strictly increase; got a repeated or misplaced one.")


def malformed(message: str) -> PeerProtocolError:
    """Makes the error for bytes that are no message."""
    return PeerProtocolError(AbortCode.MALFORMED, message)
