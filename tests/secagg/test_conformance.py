"""One suite for every protocol: the same inputs and survivors give the oracle's sum, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.errors import LocalProtocolError, NotEnoughSurvivors
from discreet.randomness import SecureRandom, SeededRandom
from discreet.secagg import (
    Bell,
    Bonawitz,
    Ideal,
    Malicious,
    RoundTerms,
    SemiHonest,
    SemiMalicious,
    Speed,
    Stage,
    SumTerms,
    default_threshold,
)

SMALL = [
    Ideal(),
    Bonawitz(Malicious(), rounds_per_setup=1),
    Bonawitz(Malicious(), rounds_per_setup=3, speed=Speed(threads=2)),
    Bonawitz(SemiHonest()),
    Bonawitz(SemiHonest(one_phase=True)),
    Bell(SemiHonest()),
    Bell(SemiMalicious()),
]


def oracle_check(
    protocol: Bell | Bonawitz | Ideal,
    terms: SumTerms,
    rounds: list[Any],
    *,
    randomness: SecureRandom | None = None,
) -> None:
    run = protocol.open(terms, randomness or SeededRandom(1))
    oracle = Ideal().open(terms, SeededRandom(1))
    for index, (inputs, dropouts) in enumerate(rounds):
        round_terms = RoundTerms(index, 0, bytes([index]) * 32)
        got, expected = (one.sum_round(round_terms, inputs, dropouts) for one in (run, oracle))
        assert got.total.dtype == np.uint64
        assert np.array_equal(got.total, expected.total)
        assert got.survivors == expected.survivors
        assert len(got.transcript) == 32
        assert got.bytes_per_client > 0


def draw(terms: SumTerms, seed: int, signed: bool = True) -> dict[str, np.ndarray]:
    source = SeededRandom(seed)
    words = {name: source.words(terms.length) for name in terms.clients}
    spare = 64 - terms.bits
    return {name: (word.view(np.int64) if signed else word) >> spare for name, word in words.items()}


@pytest.mark.parametrize("protocol", SMALL, ids=repr)
@pytest.mark.parametrize("bits", [8, 16, 21, 32, 33, 62])
def test_every_ring_signed_and_unsigned(
    terms_of: Callable[..., SumTerms], protocol: Bell | Bonawitz | Ideal, bits: int
) -> None:
    terms = terms_of(bits=bits, length=130)
    oracle_check(protocol, terms, [(draw(terms, 1), {}), (draw(terms, 2, signed=False), {})])


@pytest.mark.parametrize("protocol", SMALL, ids=repr)
def test_smallest_cohorts_long_vectors_and_many_rounds(
    terms_of: Callable[..., SumTerms], protocol: Bell | Bonawitz | Ideal
) -> None:
    three = terms_of(3, threshold=3, min_survivors=3, length=70_000, bits=32)
    oracle_check(protocol, three, [(draw(three, 3), {})])
    four = terms_of(4, threshold=3, min_survivors=3)
    plan = [{}, {"client-1": Stage.MASK}, {"client-0": Stage.UNMASK}, {"client-2": Stage.ADVERTISE}, {}]
    oracle_check(protocol, four, [(draw(four, index), dropouts) for index, dropouts in enumerate(plan)])


@pytest.mark.parametrize("protocol", SMALL, ids=repr)
def test_not_everyone_need_be_invited(
    terms_of: Callable[..., SumTerms], protocol: Bell | Bonawitz | Ideal
) -> None:
    terms = terms_of(6, threshold=4, min_survivors=4)
    everyone, some = draw(terms, 1), draw(terms, 2)
    some.pop("client-0")
    reverse = dict(reversed(list(draw(terms, 3).items())))
    oracle_check(
        protocol, terms, [(some, {}), (reverse, {}), (some, {"client-3": Stage.MASK}), (everyone, {})]
    )


@pytest.mark.parametrize("protocol", SMALL, ids=repr)
def test_too_few_survivors_end_the_round_and_not_the_run(
    terms_of: Callable[..., SumTerms], protocol: Bell | Bonawitz | Ideal
) -> None:
    terms = terms_of()
    run, inputs = protocol.open(terms, SeededRandom(1)), draw(terms, 4)
    for attempt, stage in enumerate((Stage.MASK, Stage.SHARE, Stage.ADVERTISE)):
        dropouts = dict.fromkeys(terms.clients[:2], stage)
        with pytest.raises(NotEnoughSurvivors) as caught:
            run.sum_round(RoundTerms(0, attempt, bytes(32)), inputs, dropouts)
        assert caught.value.code == "too-few"
    outcome = run.sum_round(RoundTerms(0, 3, bytes(32)), inputs)
    assert outcome.survivors == terms.clients


@pytest.mark.parametrize("protocol", SMALL, ids=repr)
def test_a_bad_input_stops_everything_before_it_starts(
    terms_of: Callable[..., SumTerms], protocol: Bell | Bonawitz | Ideal
) -> None:
    terms = terms_of()
    run, inputs = protocol.open(terms, SeededRandom(1)), draw(terms, 5)
    for bad in (np.zeros(3, dtype=np.int64), np.full(11, 1 << 19), np.zeros(11, dtype=np.float64)):
        with pytest.raises(LocalProtocolError) as caught:
            run.sum_round(RoundTerms(0, 0, bytes(32)), inputs | {"client-4": bad})
        assert caught.value.code == "bad-vector"
    assert run.sum_round(RoundTerms(0, 0, bytes(32)), inputs).survivors == terms.clients


def test_with_randomness_of_the_operating_system(terms_of: Callable[..., SumTerms]) -> None:
    terms = terms_of()
    oracle_check(Bonawitz(), terms, [(draw(terms, 1), {"client-1": Stage.MASK})], randomness=SecureRandom())


@pytest.mark.parametrize("mode", [SemiHonest(), SemiMalicious()], ids=repr)
def test_sparse_graphs(terms_of: Callable[..., SumTerms], mode: SemiHonest | SemiMalicious) -> None:
    """Sixty clients on the graph that the bounds ask for, two rounds, five of them dropping out each time."""
    protocol = Bell(mode, rounds_per_setup=2)
    threshold = protocol.sparsity(60, 50, 3).threshold
    terms = terms_of(60, threshold=threshold, min_survivors=50, max_colluding=3, length=5)
    late = {f"client-{index}": stage for index, stage in enumerate((Stage.MASK, Stage.CONFIRM, Stage.UNMASK))}
    oracle_check(protocol, terms, [(draw(terms, 1), {}), (draw(terms, 2), late)])


def test_runs_of_equal_seeds_are_equal_and_transcripts_name_the_round(
    terms_of: Callable[..., SumTerms],
) -> None:
    terms = terms_of(threshold=default_threshold(5, 4, 1, Malicious()))
    inputs = draw(terms, 6)
    outcomes = [
        Bonawitz().open(terms, SeededRandom(seed)).sum_round(RoundTerms(0, 0, model), inputs)
        for seed, model in ((1, bytes(32)), (1, bytes(32)), (2, bytes(32)), (1, b"m" * 32))
    ]
    assert outcomes[0].transcript == outcomes[1].transcript
    assert len({outcome.transcript for outcome in outcomes}) == 3
    assert all(np.array_equal(outcome.total, outcomes[0].total) for outcome in outcomes)
