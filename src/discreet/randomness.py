"""Sources of random bits: secure ones for real runs, seeded ones for simulation, never confused.

Both are AES-256 in counter mode (NIST SP 800-38A), so that they are equally fast and equally good
statistically; they differ in where the key comes from. `SecureRandom` takes every key from the operating
system and cannot be reproduced, pickled or inherited by a forked process. `SeededRandom` derives every key
from a seed and labels, so that any party of a simulation can be re-run alone and bit for bit.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from typing import NoReturn, Self, final

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

_KEY_BYTES = 32
_CHUNK_BYTES = 1 << 18
# A view, because a slice of bytes would be a copy.
_ZEROS = memoryview(bytes(_CHUNK_BYTES))
_UNIFORM_BITS = 53

Label = str | int | bytes


class RandomSource(ABC):
    """An endless stream of uniform bits. Stateful: every call consumes bits that are never given again."""

    def __init__(self, key: bytes) -> None:
        self._rekey(key)

    def _rekey(self, key: bytes) -> None:
        self._encryptor = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    @abstractmethod
    def derive(self, *labels: Label) -> Self:
        """Returns an independent source for the purpose named by ``labels``."""

    def random_bytes(self, count: int) -> bytes:
        """Returns ``count`` uniform bytes."""
        if not count >= 0:
            raise ValueError(f"count must be >= 0; got {count}.")
        return self.words(-(-count // 8)).tobytes()[:count]

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Returns ``count`` independent uniform 64-bit words, shape ``(count,)``."""
        out = np.empty(count, dtype=np.uint64)
        self._encrypt_into(out)
        return out

    def fill(self, out: npt.NDArray[np.uint64]) -> None:
        """Overwrites ``out``, contiguous and of one dimension, with the words that `words` would return."""
        # By way of `words`, so that a source of special words need only say what those are.
        out[:] = self.words(len(out))

    def _encrypt_into(self, out: npt.NDArray[np.uint64]) -> None:
        """Writes the next keystream over ``out``."""
        if len(out) == 0:
            return
        view = out.data.cast("B")
        for start in range(0, len(view), _CHUNK_BYTES):
            part = view[start : start + _CHUNK_BYTES]
            self._encryptor.update_into(_ZEROS[: len(part)], part)

    def uniform(self, count: int) -> npt.NDArray[np.float64]:
        """Returns ``count`` uniform multiples of 2^-53 in [0, 1), shape ``(count,)``."""
        bits = self.words(count) >> np.uint64(64 - _UNIFORM_BITS)
        return bits.astype(np.float64) * 2.0**-_UNIFORM_BITS

    def bernoulli(self, count: int, prob: float) -> npt.NDArray[np.bool_]:
        """Returns ``count`` independent coins, true with probability ``floor(prob * 2^64) / 2^64``.

        The rounding is downward, so that an inclusion probability is never larger than accounted.
        """
        if not 0.0 <= prob <= 1.0:
            raise ValueError(f"prob must be in [0, 1]; got {prob}.")
        if prob == 1.0:
            return np.ones(count, dtype=np.bool_)
        numerator, denominator = prob.as_integer_ratio()
        return self.words(count) < np.uint64((numerator << 64) // denominator)

    def integers_below(self, count: int, bound: int) -> npt.NDArray[np.int64]:
        """Returns ``count`` exactly uniform integers in ``[0, bound)`` by rejection, shape ``(count,)``."""
        if not 1 <= bound < 1 << 62:
            raise ValueError(f"bound must be in [1, 2^62); got {bound}.")
        limit = np.uint64((1 << 64) // bound * bound - 1)
        out = np.empty(0, dtype=np.uint64)
        while len(out) < count:
            draw = self.words(count - len(out))
            out = np.concatenate([out, draw[draw <= limit] % np.uint64(bound)])
        return out.astype(np.int64)

    def permutation(self, count: int) -> npt.NDArray[np.int64]:
        """Returns a uniform permutation of ``range(count)`` (ties of 64-bit keys are redrawn)."""
        while True:
            keys = self.words(count)
            order = np.argsort(keys, kind="stable")
            if count < 2 or bool(np.all(np.diff(keys[order]) > 0)):
                return order.astype(np.int64)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<hidden>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be pickled; derive a new source where it is needed.")


@final
class SecureRandom(RandomSource):
    """Bits from the operating system's entropy, for every run whose guarantee must hold.

    A forked child draws a fresh key before its first bit, so parent and child never share a stream.

    Example:
        >>> len(SecureRandom().random_bytes(5))
        5
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        super().__init__(os.urandom(_KEY_BYTES))

    def derive(self, *labels: Label) -> SecureRandom:
        """Returns a source with fresh entropy; the labels only document what it is for."""
        _encode_labels(labels)
        return SecureRandom()

    def fill(self, out: npt.NDArray[np.uint64]) -> None:
        """Overwrites ``out``, contiguous and of one dimension, with fresh uniform words."""
        self._encrypt_into(out)

    def _encrypt_into(self, out: npt.NDArray[np.uint64]) -> None:
        """Writes the next keystream over ``out``, of a fresh key if this is a forked child."""
        if os.getpid() != self._pid:
            self._pid = os.getpid()
            self._rekey(os.urandom(_KEY_BYTES))
        super()._encrypt_into(out)


@final
class SeededRandom(RandomSource):
    """Bits that are a function of a seed and labels, for simulation and tests only.

    Whoever knows the seed can subtract the noise: a seeded run protects nobody, and its report says so.

    Example:
        >>> a = SeededRandom(7).derive("silo", 1, "noise")
        >>> b = SeededRandom(7).derive("silo", 1, "noise")
        >>> a.random_bytes(4) == b.random_bytes(4)
        True
    """

    def __init__(self, seed: int | bytes) -> None:
        if isinstance(seed, int):
            if not seed >= 0:
                raise ValueError(f"seed must be a non-negative integer; got {seed}.")
            seed = seed.to_bytes(max(8, (seed.bit_length() + 7) // 8), "big")
        # The stream is started, which the base class would do now, when its first bit is asked for.
        self._key, self._started = hashlib.sha256(b"discreet/seed/v1" + seed).digest(), False

    def fill(self, out: npt.NDArray[np.uint64]) -> None:
        """Overwrites ``out``, contiguous and of one dimension, with the next words of the stream."""
        self._encrypt_into(out)

    def _encrypt_into(self, out: npt.NDArray[np.uint64]) -> None:
        """Writes the next keystream over ``out``; sources that are only derived from never start one."""
        if not self._started:
            self._rekey(self._key)
            self._started = True
        super()._encrypt_into(out)

    def derive(self, *labels: Label) -> SeededRandom:
        """Returns the source that belongs to ``labels`` under this one; the same labels, the same bits."""
        return SeededRandom(self._key + _encode_labels(labels))


def _encode_labels(labels: tuple[Label, ...]) -> bytes:
    """Encodes labels injectively, so that ("a", "b") and ("ab",) never meet."""
    parts = []
    for label in labels:
        tag = {str: b"s", int: b"i", bytes: b"b"}[type(label)]
        body = label if isinstance(label, bytes) else str(label).encode()
        parts.append(tag + len(body).to_bytes(4, "big") + body)
    return b"".join(parts)
