"""What the public coins of a record hang on: its own content, its own id, or its place; never on others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Integers

Bytes = npt.NDArray[np.uint8]

_DIGEST = 16
_WORD = 8
_ROWS_AT_A_TIME = 1 << 16


@dataclass(frozen=True, slots=True, repr=False)
class Identities:
    """A byte string for each of n records, kept as columns of bytes side by side.

    Guarantee:
        `words` of a record is a function of its own byte string and of public values. Removing, adding or
        replacing a record changes the word of no other; records of equal identity have equal words.

    Attributes:
        columns: each of shape ``(m, width)``, of any width.
        rows: which of the m rows these n records are.
    """

    columns: tuple[Bytes, ...]
    rows: Integers

    @classmethod
    def of_content(cls, features: npt.NDArray[Any], labels: npt.NDArray[Any]) -> Identities:
        """Takes every record for what it holds: the bits of its features, as they were read, and its label.

        Args:
            features: shape ``(n, ...)``, made elementwise from one row each. A sum or a norm would not do,
                for its last bits may depend on where a row lies.
            labels: shape ``(n,)``.
        """
        return cls((_as_bytes(features), _as_bytes(labels)), np.arange(len(labels), dtype=np.int64))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Identities:
        """Takes every record for the text in its id column."""
        digests = b"".join(
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()
            for text in texts
        )
        rows = np.frombuffer(digests, dtype=np.uint8).reshape(len(texts), _DIGEST)
        return cls((rows,), np.arange(len(texts), dtype=np.int64))

    @classmethod
    def of_places(cls, places: Integers) -> Identities:
        """Takes every record for its place in the source, which a record that replaces it inherits."""
        return cls((_as_bytes(places),), np.arange(len(places), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Integers | Booleans) -> Identities:
        """Returns the identities of the records at ``rows``; no content is copied."""
        return Identities(self.columns, self.rows[rows])

    def numbers(self) -> Integers:
        """Returns one number, from 0, for all records of one identity, shape ``(n,)``."""
        rows = np.concatenate([column[self.rows] for column in self.columns], axis=1)
        if not len(rows):
            return np.zeros(0, dtype=np.int64)
        whole = np.ascontiguousarray(rows).view(np.dtype((np.void, rows.shape[1])))[:, 0]
        return np.unique(whole, return_inverse=True)[1].astype(np.int64)

    def words(self, *public: str | int) -> npt.NDArray[np.uint64]:
        """Returns 64 public bits for each record, shape ``(n,)``: BLAKE2b of its identity.

        Args:
            public: what the hash is keyed by, such as a purpose, the public seed and the name of the silo.
        """
        key = hashlib.blake2b(repr(public).encode("utf-8", "surrogatepass")).digest()
        keyed = hashlib.blake2b(key=key, digest_size=_WORD)
        # One buffer and no list: objects for millions of records would weigh more than their features.
        digests = bytearray()
        for first in range(0, len(self.rows), _ROWS_AT_A_TIME):
            own = self.rows[first : first + _ROWS_AT_A_TIME]
            content = np.concatenate([column[own] for column in self.columns], axis=1)
            for row in content:
                state = keyed.copy()
                state.update(row)
                digests += state.digest()
        return np.frombuffer(digests, dtype="<u8").astype(np.uint64)

    def __repr__(self) -> str:
        return f"Identities({len(self)})"


@dataclass(frozen=True, slots=True, repr=False)
class Marks:
    """What tells the records of one source apart, whatever else becomes of them.

    Attributes:
        identities: of their content, or of their ids where the source has some.
        places: row of the source, rows that were left out counted; shape ``(n,)``.
        named: whether ``identities`` are ids.
    """

    identities: Identities
    places: Integers
    named: bool = False

    def take(self, rows: Integers | Booleans) -> Marks:
        """Returns the marks of the records at ``rows``."""
        return Marks(self.identities.take(rows), self.places[rows], self.named)

    def coins(self, *, exchanged: bool) -> Identities:
        """Returns the bytes that decide a record's public coins.

        Args:
            exchanged: whether a neighbour has another record in one's place. The coin then belongs to the
                place, or to the id, which the other record is assumed to keep: a coin of the content would
                let a record that is exchanged change sides.
        """
        return Identities.of_places(self.places) if exchanged and not self.named else self.identities


def _as_bytes(values: npt.NDArray[Any]) -> Bytes:
    """Returns the bits of each row, shape ``(n, width)``."""
    rows = np.ascontiguousarray(values).reshape(len(values), -1 if len(values) else 1)
    return rows.view(np.uint8)
