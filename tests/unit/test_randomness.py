"""Random sources: the stream is AES-256-CTR, labels never collide, secrets never leak or repeat."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet import randomness
from discreet.randomness import RandomSource, SecureRandom, SeededRandom

SOURCES = [SecureRandom, lambda: SeededRandom(1)]


def test_stream_is_aes_256_in_counter_mode() -> None:
    """Against the block cipher itself (FIPS 197), counter 0, 1, 2, … big-endian as in NIST SP 800-38A."""
    key = hashlib.sha256(b"discreet/seed/v1" + (5).to_bytes(8, "big")).digest()
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - one block at a time
    expected = b"".join(block.update(i.to_bytes(16, "big")) for i in range(40))
    assert SeededRandom(5).random_bytes(640) == expected


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8))
def test_pieces_are_the_whole(counts: list[int]) -> None:
    source, whole = SeededRandom(3), SeededRandom(3).words(sum(counts))
    assert np.array_equal(np.concatenate([source.words(n) for n in counts]), whole)


def test_long_streams_do_not_repeat_at_chunk_boundaries() -> None:
    words = SeededRandom(1).words(3 * randomness._CHUNK_BYTES // 8 + 5)
    assert len(np.unique(words)) == len(words)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=8))
def test_filling_gives_the_same_words(counts: list[int]) -> None:
    source, whole = SeededRandom(3), SeededRandom(3).words(sum(counts))
    out = np.empty(sum(counts), dtype=np.uint64)
    for part in np.split(out, np.cumsum(counts)[:-1]):
        source.fill(part)
    assert np.array_equal(out, whole)


def test_a_source_of_special_words_fills_with_them() -> None:
    out = np.empty(3, dtype=np.uint64)
    Fixed(17).fill(out)
    assert out.tolist() == [17] * 3


labels = st.lists(st.one_of(st.integers(), st.text(max_size=6), st.binary(max_size=6)), max_size=4).map(tuple)


def _typed(values: Any) -> Any:
    return tuple((type(v), v) for v in values)


@given(labels, labels)
def test_labels_are_encoded_injectively(first: Any, second: Any) -> None:
    same = SeededRandom(1).derive(*first).random_bytes(16) == SeededRandom(1).derive(*second).random_bytes(16)
    assert same == (_typed(first) == _typed(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [(("ab",), ("a", "b")), ((1,), ("1",)), (("a",), (b"a",)), ((1, 2), (12,)), ((), ("",))],
)
def test_look_alike_labels_differ(first: tuple[Any, ...], second: tuple[Any, ...]) -> None:
    assert SeededRandom(1).derive(*first).words(1) != SeededRandom(1).derive(*second).words(1)


def test_derivation_does_not_depend_on_what_was_consumed() -> None:
    used = SeededRandom(1)
    used.words(100)
    assert used.derive("x").random_bytes(8) == SeededRandom(1).derive("x").random_bytes(8)


def test_chained_derivation_is_not_flat_derivation() -> None:
    assert SeededRandom(1).derive("a").derive("b").words(1) != SeededRandom(1).derive("a", "b").words(1)


def test_secure_sources_never_agree() -> None:
    root = SecureRandom()
    first = [root, root.derive("x"), root.derive("x"), SecureRandom()]
    assert len({source.random_bytes(16) for source in first}) == 4


def test_forked_child_has_its_own_stream() -> None:
    source = SecureRandom()
    source.words(1)
    read_end, write_end = os.pipe()
    if (child := os.fork()) == 0:
        words = np.empty(4, dtype=np.uint64)
        source.fill(words)
        os.write(write_end, words.tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    from_child = os.read(read_end, 32)
    os.close(read_end)
    os.close(write_end)
    assert len(from_child) == 32
    assert from_child not in source.random_bytes(1 << 16)


@pytest.mark.parametrize("make", SOURCES)
def test_sources_are_not_copied_pickled_or_shown(make: Callable[..., Any] | type[SecureRandom]) -> None:
    source = make()
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="derive a new source"):
            attempt(source)
    assert repr(source) == f"{type(source).__name__}(<hidden>)"


def test_the_two_kinds_are_different_types() -> None:
    assert not issubclass(SecureRandom, SeededRandom)
    assert not issubclass(SeededRandom, SecureRandom)
    assert type(SecureRandom().derive("x")) is SecureRandom


class Fixed(RandomSource):
    """Gives one word, over and over."""

    def __init__(self, word: int) -> None:
        super().__init__(bytes(32))
        self._word = word

    def derive(self, *_labels: Any) -> Any:
        return self

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        return np.full(count, self._word, dtype=np.uint64)


@given(prob=st.floats(0.0, 1.0, exclude_max=True))
def test_bernoulli_threshold_is_exact(prob: float) -> None:
    """True exactly for the words below ⌊prob · 2^64⌋."""
    numerator, denominator = prob.as_integer_ratio()
    threshold = (numerator << 64) // denominator
    if threshold > 0:
        assert Fixed(threshold - 1).bernoulli(1, prob)[0]
    assert not Fixed(threshold).bernoulli(1, prob)[0]


def test_bernoulli_at_the_ends() -> None:
    assert not SeededRandom(1).bernoulli(1000, 0.0).any()
    assert Fixed(2**64 - 1).bernoulli(10, 1.0).all()
    for bad in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="prob must be"):
            SeededRandom(1).bernoulli(1, bad)


def test_uniform_is_a_multiple_of_two_to_minus_53_below_one() -> None:
    assert Fixed(2**64 - 1).uniform(1)[0] == 1 - 2.0**-53
    assert Fixed(0).uniform(1)[0] == 0.0
    scaled = SeededRandom(2).uniform(1000) * 2.0**53
    assert np.array_equal(scaled, np.floor(scaled))


@pytest.mark.statistical
def test_words_and_uniforms_are_uniform() -> None:
    """Kolmogorov–Smirnov and chi-square on bytes; false-alarm rate 1e-5 each, fixed seed."""
    assert stats.kstest(SeededRandom(4).uniform(200_000), "uniform").pvalue > 1e-5
    counts = np.bincount(np.frombuffer(SeededRandom(5).random_bytes(1 << 20), dtype=np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > 1e-5


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**40 + 1, 2**62 - 1])
def test_integers_below_stay_below_and_reach_everything(bound: int) -> None:
    draws = SeededRandom(6).integers_below(3000, bound)
    assert draws.min() >= 0
    assert draws.max() < bound
    if bound <= 10:
        assert stats.chisquare(np.bincount(draws, minlength=bound)).pvalue > 1e-5 or bound == 1


def test_integers_below_reject_the_biased_words() -> None:
    """With bound 3, 2^64 = 3m + 1: the last word must be redrawn, the one before it not."""

    class LastThenZero(Fixed):
        def words(self, count: int) -> npt.NDArray[np.uint64]:
            out = np.full(count, self._word, dtype=np.uint64)
            self._word = 0
            return out

    assert LastThenZero(2**64 - 1).integers_below(1, 3).tolist() == [0]
    assert LastThenZero(2**64 - 2).integers_below(1, 3).tolist() == [(2**64 - 2) % 3]
    for bad in (0, 1 << 62):
        with pytest.raises(ValueError, match="bound must be"):
            SeededRandom(1).integers_below(1, bad)


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_permutation_is_one(count: int) -> None:
    assert sorted(SeededRandom(7).permutation(count).tolist()) == list(range(count))


def test_permutations_are_uniform() -> None:
    """All 24 orders of four; 24,000 draws; false-alarm rate 1e-5, fixed seed."""
    source = SeededRandom(8)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(12_000):
        order = tuple(source.permutation(4).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    assert stats.chisquare(list(seen.values())).pvalue > 1e-5


def test_counts_and_seeds_are_checked() -> None:
    with pytest.raises(ValueError, match="count must be"):
        SeededRandom(1).random_bytes(-1)
    with pytest.raises(ValueError, match="seed must be"):
        SeededRandom(-1)
    assert SeededRandom(1).random_bytes(0) == b""
    assert len(SeededRandom(1).random_bytes(13)) == 13
