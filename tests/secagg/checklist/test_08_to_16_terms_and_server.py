"""Terms that must be refused and what the server must survive, numbered as in docs/threat-model.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from discreet.errors import ConfigurationError, NotEnoughSurvivors, PeerProtocolError, ProtocolAbort
from discreet.randomness import SeededRandom
from discreet.secagg import (
    AllowList,
    Bell,
    Bonawitz,
    Ideal,
    Malicious,
    RoundTerms,
    SemiHonest,
    SemiMalicious,
    Stage,
    SumTerms,
    binding,
    default_threshold,
    validate_terms,
)
from discreet.secagg.messages import Advertise, Choices, MaskedInput, NeighborChoice, UnmaskShares
from discreet.secagg.run import InProcessRun
from tests.secagg.conftest import MakeWorld, World


def bell_world(
    make_world: Callable[..., Any], terms_of: Callable[..., Any], mode: SemiHonest | SemiMalicious
) -> World:
    protocol = Bell(mode, rounds_per_setup=1)
    threshold = protocol.sparsity(60, 50, 3).threshold
    terms = terms_of(60, threshold=threshold, min_survivors=50, max_colluding=3)
    return make_world(protocol, terms)


def chosen(world: World) -> dict[str, bytes]:
    """Everyone has drawn neighbours; returns what the server tells them."""
    world.upload(world.advertise())
    return world.step(world.server.close_stage())


def test_08_neighbours_follow_from_the_keys_and_are_symmetric(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    world = bell_world(make_world, terms_of, SemiHonest())
    world.set_up()
    graph = world.server._setup.graph
    for index, name in enumerate(world.names):
        assert world.clients[name]._memory.graph == graph[index]
        assert len(graph[index].maskers) == world.agreement.graph.degree
        assert all(index in graph[peer].maskers for peer in graph[index].maskers)
        assert index not in graph[index].holders


def redrawn(told: Choices, drawer: int, drawn: tuple[int, ...]) -> Choices:
    return Choices(tuple(sorted((dict(told.draws) | {drawer: drawn}).items())))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda told: Choices(told.draws[1:]), "bad-graph"),
        (lambda told: redrawn(told, 0, dict(told.draws)[1]), "bad-graph"),
        (lambda told: redrawn(told, 1, dict(told.draws)[1][1:]), "bad-graph"),
        (lambda told: redrawn(told, 1, (1, *dict(told.draws)[1][1:])), "bad-graph"),
        (lambda told: redrawn(told, 1, (*dict(told.draws)[1][:-1], 777)), "bad-graph"),
        (lambda told: redrawn(Choices(told.draws[:-1]), 777, dict(told.draws)[1]), "bad-graph"),
        (lambda told: Choices(told.draws[:49]), "too-few"),
    ],
)
def test_08_a_client_refuses_draws_that_the_rule_does_not_allow(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms], change: Callable[..., Any], code: str
) -> None:
    """Its own left out or altered, one too short, of oneself, of a stranger, by a stranger; too few draws."""
    world = bell_world(make_world, terms_of, SemiMalicious())
    told = world.read(chosen(world)["client-0"])
    assert isinstance(told, Choices)
    with pytest.raises(ProtocolAbort) as caught:
        world.clients["client-0"].receive(world.write(change(told)))
    assert caught.value.code == code


def test_08_the_cap_on_choosers_binds_in_larger_cohorts() -> None:
    from discreet.secagg.client import neighborhood
    from discreet.secagg.graph import ChosenGraph

    everyone = frozenset(range(500))
    told = Choices(((0, (1, 2)), *((index, (0, index + 1)) for index in range(1, 42))))
    with pytest.raises(PeerProtocolError, match="at most 40") as caught:
        neighborhood.accept(ChosenGraph(2, 40), 0, (1, 2), told, everyone)
    assert caught.value.code == "bad-graph"
    assert neighborhood.accept(ChosenGraph(2, 41), 0, (1, 2), told, everyone).owners == set(range(1, 42))


@pytest.mark.parametrize("change", [lambda c: c[1:], lambda c: c[:0], lambda c: (*c[:-1], 999)])
def test_08_the_server_rejects_a_draw_of_the_wrong_size(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms], change: Callable[..., Any]
) -> None:
    world = bell_world(make_world, terms_of, SemiMalicious())
    world.upload(world.advertise())
    replies = world.deliver(world.server.close_stage())
    draw = world.read(replies["client-5"])
    replies["client-5"] = world.write(NeighborChoice(change(draw.chosen)))
    world.upload(replies)
    assert world.rejected("client-5") == "bad-graph"
    assert "client-5" in world.server.awaited


def test_08_sparse_thresholds_are_checked(terms_of: Callable[..., SumTerms]) -> None:
    with pytest.raises(ConfigurationError, match="threshold must be"):
        validate_terms(Bell(), terms_of(60, threshold=3, min_survivors=50, max_colluding=3))


@pytest.mark.parametrize(
    ("changes", "parameter"),
    [
        ({"threshold": 1}, "threshold"),
        ({"threshold": 6}, "threshold"),
        ({"threshold": 3}, "threshold"),
        ({"threshold": 5}, "threshold"),
        ({"max_colluding": 3}, "min_survivors"),
        ({"max_colluding": -1}, "max_colluding"),
        ({"min_survivors": 6}, "min_survivors"),
        ({"bits": 7}, "bits"),
        ({"bits": 63}, "bits"),
        ({"length": 0}, "length"),
        ({"session": b"short"}, "session"),
        ({"context": b""}, "context"),
        ({"clients": ("a", "a", "b", "c", "d")}, "clients"),
        ({"clients": ("a", "", "b", "c", "d")}, "clients"),
        ({"threshold": float("nan")}, "threshold"),
    ],
)
def test_09_parameters_out_of_range(
    terms_of: Callable[..., SumTerms], changes: dict[str, Any], parameter: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"^{parameter}"):
        validate_terms(Bonawitz(), terms_of(**changes))


def test_09_a_client_checks_its_own_agreement(terms_of: Callable[..., SumTerms]) -> None:
    """Sessions are made from an `Agreement`, which exists only for terms that pass."""
    with pytest.raises(ConfigurationError, match="2 \\* threshold"):
        Bonawitz().agreement(terms_of(threshold=3), AllowList({}))
    with pytest.raises(ConfigurationError, match="rounds_per_setup"):
        Bonawitz(rounds_per_setup=0).open(terms_of(), SeededRandom(0))


@pytest.mark.parametrize(
    ("n", "survivors", "colluding"), [(3, 3, 1), (4, 3, 1), (5, 4, 1), (10, 8, 3), (100, 90, 10)]
)
@pytest.mark.parametrize("mode", [Malicious(), SemiHonest()])
def test_09_default_thresholds_satisfy_their_mode(
    terms_of: Callable[..., SumTerms], n: int, survivors: int, colluding: int, mode: Malicious | SemiHonest
) -> None:
    threshold = default_threshold(n, survivors, colluding, mode)
    terms = terms_of(n, threshold=threshold, min_survivors=survivors, max_colluding=colluding)
    validate_terms(Bonawitz(mode), terms)
    assert colluding + 1 <= threshold <= survivors
    if isinstance(mode, Malicious):
        assert 2 * threshold > n + colluding


def test_09_colluders_never_hold_a_threshold_of_shares(terms_of: Callable[..., SumTerms]) -> None:
    """Two colluders and a threshold of two: they would recover every secret alone."""
    terms = terms_of(6, threshold=2, min_survivors=4, max_colluding=2)
    with pytest.raises(ConfigurationError, match="threshold must exceed max_colluding=2"):
        validate_terms(Bonawitz(SemiHonest()), terms)
    validate_terms(Bonawitz(SemiHonest()), replace(terms, threshold=3))


def test_09_no_threshold_names_the_knob() -> None:
    with pytest.raises(ConfigurationError, match=r"min_survivors must be at least 6 for \d+ silos"):
        default_threshold(10, 5, 1, Malicious())


def test_10_other_terms_on_either_side(make_world: MakeWorld, terms_of: Callable[..., SumTerms]) -> None:
    """A client whose plan or model architecture differs cannot even read the others' messages."""
    world, other = make_world(), make_world(terms=terms_of(context=b"other plan".ljust(32, b".")))
    world.upload(world.advertise())
    outgoing = world.server.close_stage()
    other.advertise()
    with pytest.raises(PeerProtocolError) as caught:
        other.clients["client-0"].receive(outgoing["client-0"])
    assert caught.value.code == "wrong-session"


def test_10_different_models_for_different_clients(make_world: MakeWorld) -> None:
    """Pasquini et al. 2022: with other weights for one client its masks cancel with nobody's."""
    world = make_world()
    start = world.set_up().begin()
    other_model = replace(world.read(start["client-0"]), terms=RoundTerms(0, 0, b"evil".ljust(32, b".")))
    start["client-0"] = world.write(other_model)
    world.upload(world.deliver(start))
    assert world.rejected("client-0") == "wrong-round"
    shown = world.read(world.server.close_stage()["client-1"])
    assert shown.survivors == (1, 2, 3, 4)
    with pytest.raises(PeerProtocolError) as caught:
        world.clients["client-0"].receive(world.write(shown))
    assert caught.value.code == "wrong-round"


@pytest.mark.parametrize(
    "protocol", [Bonawitz(), Bonawitz(SemiHonest()), Bonawitz(SemiHonest(one_phase=True))]
)
@pytest.mark.parametrize("stage", list(Stage))
def test_11_every_subset_drops_out_at_every_stage(
    terms_of: Callable[..., SumTerms], protocol: Bonawitz, stage: Stage
) -> None:
    """All 32 subsets of five clients: the exact sum of the survivors, or an abort."""
    terms = terms_of()
    for subset in product([False, True], repeat=5):
        run = replace(protocol, rounds_per_setup=1).open(terms, SeededRandom(0))
        check_round(
            run, terms, {name: stage for name, drops in zip(terms.clients, subset, strict=True) if drops}
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "protocol", [Bonawitz(), Bonawitz(SemiHonest()), Bonawitz(SemiHonest(one_phase=True))]
)
def test_11_every_mixture_of_dropouts(terms_of: Callable[..., SumTerms], protocol: Any) -> None:
    """All 6^5 ways in which five clients drop out at different stages."""
    terms = terms_of()
    for stages in product([None, *Stage], repeat=5):
        run = replace(protocol, rounds_per_setup=1).open(terms, SeededRandom(0))
        mixture = zip(terms.clients, stages, strict=True)
        check_round(run, terms, {name: stage for name, stage in mixture if stage is not None})


def check_round(run: InProcessRun, terms: SumTerms, dropouts: dict[str, Any]) -> None:
    inputs = {name: np.full(terms.length, 10**index) for index, name in enumerate(terms.clients)}
    oracle = Ideal().open(terms, SeededRandom(0))
    round_terms = RoundTerms(0, 0, bytes(32))
    answering = sum(name not in dropouts for name in terms.clients)
    try:
        outcome = run.sum_round(round_terms, inputs, dropouts)
    except NotEnoughSurvivors:
        assert answering < terms.threshold, "with a threshold of clients to the end there is a sum"
        return
    expected = oracle.sum_round(round_terms, inputs, dropouts)
    assert np.array_equal(outcome.total, expected.total)
    assert outcome.survivors == expected.survivors


def released(world: World, change: Callable[..., Any]) -> None:
    """Runs a round in which client-4 is gone, and lets ``change`` alter what clients release."""
    world.gone.add("client-4")
    outgoing = world.step(world.begin(roster=world.names))
    if world.agreement.mode.confirms:
        outgoing = world.step(outgoing)
    replies = world.deliver(outgoing)
    for name, data in list(replies.items()):
        message = world.read(data)
        replies[name] = world.write(replace(message, shares=change(name, message.shares)))
    world.upload(replies)


def flip(shares: tuple[tuple[int, bytes], ...], owner: int) -> tuple[tuple[int, bytes], ...]:
    """Changes one byte of a share: not the first, of which X25519 ignores three bits."""
    return tuple(
        (peer, share[:5] + bytes([share[5] ^ 1]) + share[6:] if peer == owner else share)
        for peer, share in shares
    )


@pytest.mark.parametrize("owner", [1, 4])
def test_12_one_wrong_share_is_worked_around_and_blamed(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms], owner: int
) -> None:
    """Of a survivor's self seed, and of a dropout's mask key."""
    world = make_world(Bonawitz(SemiHonest()), terms_of(threshold=3)).set_up()
    released(world, lambda name, shares: flip(shares, owner) if name == "client-2" else shares)
    world.server.close_stage()
    result = world.server.result()
    assert np.array_equal(result.total, world.expected(world.names[:4]))
    assert result.blamed == {owner: (2,)}


def test_12_too_many_wrong_shares_end_in_an_abort_and_no_sum(make_world: MakeWorld) -> None:
    world = make_world().set_up()
    released(world, lambda name, shares: flip(shares, 1) if name in ("client-2", "client-3") else shares)
    with pytest.raises(PeerProtocolError, match="client 1") as caught:
        world.server.close_stage()
    assert caught.value.code == "bad-share"
    with pytest.raises(ProtocolAbort):
        world.server.result()


def test_12_a_client_that_shares_other_secrets_than_it_committed_to(make_world: MakeWorld) -> None:
    """It deals shares of another seed: everyone releases honestly, and the commitment gives it away."""
    world = make_world(Bonawitz(SemiHonest(), rounds_per_setup=1))
    world.upload(world.advertise())
    other = make_world(Bonawitz(SemiHonest(), rounds_per_setup=1), seed=7)
    world.clients["client-1"]._memory.slots = other.clients["client-1"]._memory.slots
    outgoing = world.step(world.server.close_stage())
    world.deliver(outgoing)
    with pytest.raises(PeerProtocolError, match="shares of client 1") as caught:
        world.finish(world.begin())
    assert caught.value.code == "bad-share"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: replace(m, packed=m.packed[:-1]), "bad-vector"),
        (lambda m: replace(m, packed=bytes(m.packed) + b"\0"), "bad-vector"),
        (lambda m: replace(m, packed=b""), "bad-vector"),
        (lambda m: replace(m, packed=bytes(m.packed[:-1]) + b"\xff"), "bad-vector"),
        (lambda m: replace(m, round_digest=bytes(32)), "wrong-round"),
    ],
)
def test_13_a_bad_vector_costs_only_its_sender(
    make_world: MakeWorld, change: Callable[..., Any], code: str
) -> None:
    world = make_world().set_up()
    replies = world.deliver(world.begin())
    replies["client-3"] = world.write(change(world.read(replies["client-3"])))
    world.upload(replies)
    assert world.rejected("client-3") == code
    world.gone.add("client-3")
    total = world.finish(world.server.close_stage())
    assert np.array_equal(total, world.expected([name for name in world.names if name != "client-3"]))


def test_13_a_late_or_repeated_vector_is_rejected(make_world: MakeWorld) -> None:
    world = make_world().set_up()
    replies = world.deliver(world.begin())
    late = replies.pop("client-4")
    world.upload(replies)
    world.upload({"client-0": replies["client-0"]})
    assert world.rejected("client-0") == "unknown-client"
    outgoing = world.server.close_stage()
    world.upload({"client-4": late})
    assert world.rejected("client-4") == "out-of-order"
    world.gone.add("client-4")
    assert np.array_equal(world.finish(outgoing), world.expected(world.names[:4]))


def test_13_nobody_offers_the_key_of_another(make_world: MakeWorld) -> None:
    """A thief signs an offer that holds someone else's channel key; the first to offer it keeps it."""
    world = make_world()
    messages = world.advertise()
    world.upload({"client-0": messages["client-0"]})
    own, victim = (world.read(messages[name]) for name in ("client-1", "client-0"))
    stolen = replace(own, channel_key=victim.channel_key)
    content = binding.advertised_content(world.agreement, world.epoch, stolen)
    signed = replace(stolen, signature=world.identities["client-1"].sign(content))
    world.upload({"client-1": world.write(signed)})
    assert world.rejected("client-1") == "duplicate-key"
    world.upload({"client-1": messages["client-1"]})
    assert world.rejected("client-1") is None


def test_13_nobody_sends_in_the_name_of_another(make_world: MakeWorld) -> None:
    world = make_world()
    messages = world.advertise()
    assert world.server.receive("client-1", messages["client-0"]).code == "unknown-client"
    assert world.server.receive("nobody", messages["client-0"]).code == "unknown-client"
    shares = UnmaskShares(bytes(32), ())
    assert world.server.receive("client-1", world.write(shares)).code == "out-of-order"
    masked = MaskedInput(bytes(32), b"", b"")
    assert world.server.receive("client-1", world.write(masked)).code == "out-of-order"


def test_13_whoever_shares_no_secrets_is_sent_no_boxes_and_cannot_come_back(make_world: MakeWorld) -> None:
    world = make_world()
    world.upload(world.advertise())
    replies = world.deliver(world.server.close_stage())
    late = replies.pop("client-4")
    world.upload(replies)
    outgoing = world.server.close_stage()
    assert outgoing.keys() == set(world.names[:4])
    for number, name in enumerate(world.names[:4]):
        told = world.read(outgoing[name])
        assert told.sharers == (0, 1, 2, 3)
        assert {sender for sender, _ in told.boxes} == {0, 1, 2, 3} - {number}
    assert world.server.receive("client-4", late).code == "out-of-order"


@pytest.mark.parametrize("n", [1, 2])
def test_15_a_sum_of_two_is_no_sum(terms_of: Callable[..., SumTerms], n: int) -> None:
    with pytest.raises(ConfigurationError, match="clients must be 3"):
        terms_of(n, threshold=2, min_survivors=2)


def test_15_all_but_one_colluding(terms_of: Callable[..., SumTerms]) -> None:
    for protocol in (Bonawitz(), Bonawitz(SemiHonest()), Bell(), Ideal()):
        with pytest.raises(ConfigurationError, match="max_colluding \\+ 2"):
            validate_terms(protocol, terms_of(max_colluding=3))


def test_16_sybils_are_kept_out_by_the_allow_list(make_world: MakeWorld) -> None:
    """Whoever is not on the list is nobody. Who may write the list is outside the protocol."""
    world = make_world()
    offer = world.read(world.advertise()["client-0"])
    assert isinstance(offer, Advertise)
    sybil = replace(offer, sender=5)
    assert world.server.receive("client-5", world.write(sybil)).code == "unknown-client"
    with pytest.raises(ConfigurationError, match="distinct"):
        AllowList({"a": bytes(32), "b": bytes(32)})
    with pytest.raises(ConfigurationError, match="identities must list"):
        Bonawitz().agreement(world.agreement.terms, AllowList({}))
