"""Everything that parties must agree on is in the digests: no field can differ unnoticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

import pytest

from discreet.randomness import SeededRandom
from discreet.secagg import (
    Agreement,
    AllowList,
    Identity,
    Malicious,
    RoundTerms,
    SemiHonest,
    SemiMalicious,
    SumTerms,
    binding,
)
from discreet.secagg.graph import ChosenGraph, CompleteGraph, HararyGraph
from discreet.secagg.messages import Choices, KeyList, RoundStart
from tests.secagg.conftest import MakeWorld

OTHER_TERMS = {
    "session": b"x" * 32,
    "clients": ("client-0", "client-1", "client-2", "client-3", "someone"),
    "threshold": 5,
    "min_survivors": 5,
    "max_colluding": 0,
    "bits": 21,
    "length": 12,
    "context": b"x" * 32,
}


def enrolled(names: tuple[str, ...], seed: int = 1) -> AllowList:
    return AllowList({name: Identity.generate(SeededRandom(seed).derive(name)).public_key for name in names})


def agree(terms: SumTerms, **changes: Any) -> Agreement:
    names = (*terms.clients, "someone")
    values = {
        "mode": SemiHonest(),
        "graph": CompleteGraph(),
        "rounds_per_setup": 2,
        "identities": enrolled(names),
    }
    return Agreement(terms, **(values | changes))  # type: ignore[arg-type]  # one change at a time


@pytest.mark.parametrize("name", [one.name for one in fields(SumTerms)])
def test_every_field_of_the_terms(terms_of: Callable[..., SumTerms], name: str) -> None:
    terms = terms_of()
    other = replace(terms, **cast(Any, {name: OTHER_TERMS[name]}))
    assert other.digest != terms.digest
    assert agree(other).digest != agree(terms).digest


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": Malicious()},
        {"mode": SemiHonest(one_phase=True)},
        {"graph": HararyGraph(2)},
        {"graph": HararyGraph(4)},
        {"rounds_per_setup": 3},
        {"identities": enrolled((*(f"client-{index}" for index in range(5)), "someone"), seed=2)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_every_field_of_the_agreement(terms_of: Callable[..., SumTerms], changes: Any) -> None:
    assert agree(terms_of(), **changes).digest != agree(terms_of()).digest


def test_graph_rules_have_different_names() -> None:
    rules: list[CompleteGraph | HararyGraph | ChosenGraph] = [
        CompleteGraph(),
        HararyGraph(2),
        HararyGraph(4),
        ChosenGraph(2, 9),
        ChosenGraph(4, 9),
        ChosenGraph(2, 8),
    ]
    assert len({rule.describe() for rule in rules}) == len(rules)


def test_every_part_of_a_round() -> None:
    start = RoundStart(RoundTerms(1, 2, b"m" * 32), 3, (0, 1, 2))
    base = binding.round_digest(b"k" * 32, (0, 1, 2, 3), start)
    others = [
        binding.round_digest(b"x" * 32, (0, 1, 2, 3), start),
        binding.round_digest(b"k" * 32, (0, 1, 2), start),
        *(
            binding.round_digest(b"k" * 32, (0, 1, 2, 3), changed)
            for changed in (
                replace(start, terms=RoundTerms(0, 2, b"m" * 32)),
                replace(start, terms=RoundTerms(1, 0, b"m" * 32)),
                replace(start, terms=RoundTerms(1, 2, b"x" * 32)),
                replace(start, slot=0),
                replace(start, roster=(0, 1)),
            )
        ),
    ]
    assert len({base, *others}) == 8


def test_keys_commitments_boxes_and_survivors(make_world: MakeWorld) -> None:
    world = make_world()
    offers = tuple(world.read(data) for data in world.advertise().values())
    agreement = world.agreement
    digests = {
        binding.keys_digest(agreement, 1, KeyList(offers)),
        binding.keys_digest(agreement, 2, KeyList(offers)),
        binding.keys_digest(agreement, 1, KeyList(offers[1:])),
    }
    assert len(digests) == 3
    place = {"epoch": 1, "client": 2, "slot": 3}
    committed = {
        binding.commitment(agreement, bytes(32), **(place | change))
        for change in ({}, *({k: 0} for k in place))
    }
    assert len({*committed, binding.commitment(agreement, b"x" * 32, **place)}) == 5
    assert len({binding.share_context(b"k" * 32, *pair) for pair in ((1, 2), (2, 1), (1, 3))}) == 3
    assert binding.pair_purpose(1, 2) == binding.pair_purpose(2, 1) != binding.pair_purpose(1, 3)
    assert len({binding.pair_purpose(1, 2), binding.self_purpose(1), binding.self_purpose(2)}) == 3
    contents = {binding.confirmed_content(b"k" * 32, (0, 1)), binding.confirmed_content(b"k" * 32, (0, 2))}
    assert len(contents) == 2


def test_what_is_signed_with_an_input_consents_to_a_set_only_where_the_mode_says_so() -> None:
    """Otherwise the signatures with the inputs of a sparse round would confirm the whole roster."""
    digest, roster = b"k" * 32, (0, 1)
    assert binding.input_content(SemiHonest(), digest, roster) == b""
    assert binding.input_content(Malicious(), digest, roster) == binding.confirmed_content(digest, roster)
    attested = binding.input_content(SemiMalicious(), digest, roster)
    assert attested not in {b"", binding.confirmed_content(digest, roster)}
    assert attested != binding.input_content(SemiMalicious(), b"x" * 32, roster)


def test_every_draw_is_in_the_digest_of_the_graph() -> None:
    told = ((0, (1, 2)), (1, (0, 2)))
    digests = {
        binding.graph_digest(b"k" * 32, Choices(told)),
        binding.graph_digest(b"x" * 32, Choices(told)),
        binding.graph_digest(b"k" * 32, Choices(told[:1])),
        binding.graph_digest(b"k" * 32, Choices(((0, (1, 2)), (1, (0, 3))))),
    }
    assert len(digests) == 4
