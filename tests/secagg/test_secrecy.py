"""What the server can and cannot compute from all that it is ever sent, played out with its own tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from discreet.secagg import (
    Agreement,
    AllowList,
    Bonawitz,
    Identity,
    Malicious,
    SemiHonest,
    SumTerms,
    binding,
)
from discreet.secagg.graph import HararyGraph
from discreet.secagg.hazmat import keys as keyring
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.packing import add_packed
from discreet.secagg.ring import reduce_words, to_ring, word_type
from discreet.secagg.server.recovery import Released, recover_all
from discreet.secagg.transitions import ServerState
from tests.secagg.conftest import MakeWorld, World

LATE = "client-4"


def unpacked(world: World, data: bytes) -> np.ndarray:
    terms = world.agreement.terms
    vector = np.zeros(terms.length, dtype=word_type(terms.bits))
    add_packed(vector, world.read(data).packed, terms.bits)
    return vector


def everything_known(world: World) -> dict[int, Secret]:
    """The secrets that the server recovered, by owner."""
    current = world.server._round
    owners = [index for index in current.start.roster if current._num_released(index)]
    return recover_all(
        [current._released(owner) for owner in owners], world.agreement.terms.threshold
    ).secrets


def strip_pair_masks(world: World, vector: np.ndarray, secret: Secret, owner: int) -> np.ndarray:
    """Takes off the masks that an owner's recovered mask key opens."""
    current = world.server._round
    offers, slot = current.setup.offers, current.start.slot
    peers = {peer: offers[peer].mask_keys[slot] for peer in current.setup.graph[owner].maskers}
    plus: list[bytes] = []
    minus: list[bytes] = []
    for peer, agreed in keyring.agree(secret, peers).items():
        key = keyring.derive(agreed, current.digest, binding.pair_purpose(owner, peer))
        (plus if owner < peer else minus).append(key)
    add_masks(vector, minus, plus)
    return reduce_words(vector, world.agreement.terms.bits)


@pytest.mark.parametrize(
    ("protocol", "exposed"),
    [
        (Bonawitz(SemiHonest(one_phase=True)), True),
        (Bonawitz(SemiHonest()), False),
        (Bonawitz(Malicious()), False),
    ],
    ids=repr,
)
def test_a_late_input_is_exposed_only_in_one_phase(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms], protocol: Bonawitz, exposed: bool
) -> None:
    """The price of one phase: the server opens a late input with the mask key that it was helped to."""
    world = make_world(protocol, terms_of(length=200)).set_up()
    replies = world.deliver(world.begin())
    late = replies.pop(LATE)
    world.gone.add(LATE)
    world.upload(replies)
    world.finish(world.server.close_stage())
    owner = world.names.index(LATE)
    secrets = everything_known(world)
    opened = strip_pair_masks(world, unpacked(world, late), secrets[owner], owner)
    truth = to_ring(world.inputs[LATE], 20, 200)
    assert np.array_equal(opened, truth) is exposed
    if not exposed:
        assert np.count_nonzero(opened == truth) <= 2, "the self mask still covers every coordinate"


def test_a_network_that_changes_survivor_sets_opens_an_input_where_the_server_is_trusted(
    terms_of: Callable[..., SumTerms],
    identities_of: Callable[[Iterable[str]], dict[str, Identity]],
    make_session: Callable[[Agreement, int], World],
) -> None:
    """It holds no key: the server follows the protocol, and the channel is what the mode needs (ADR 45)."""
    terms = terms_of(12, threshold=2, min_survivors=9, length=50)
    keys = AllowList({name: one.public_key for name, one in identities_of(terms.clients).items()})
    world = make_session(Agreement(terms, SemiHonest(), HararyGraph(4), 1, keys), 0).set_up()
    masked = world.deliver(world.begin())
    world.upload(masked)
    shown = world.read(world.server.close_stage()["client-0"])
    gone = replace(shown, survivors=tuple(one for one in shown.survivors if one != 7))
    holders = tuple(sorted(world.server._round.setup.graph[7].holders))
    found = []
    for told, asked in ((shown, holders[:2]), (gone, holders[2:])):
        replies = {one: world.clients[world.names[one]].receive(world.write(told)) for one in asked}
        shares = {one: dict(world.read(reply).shares)[7] for one, reply in replies.items()}
        found.append(recover_all([Released(7, holders, shares, lambda _: True)], 2).secrets[7])
    seed, mask_key = found
    vector = unpacked(world, masked["client-7"])
    own = keyring.derive(seed, world.server._round.digest, binding.self_purpose(7))
    add_masks(vector, [], [own])
    opened = strip_pair_masks(world, vector, mask_key, 7)
    assert np.array_equal(opened, to_ring(world.inputs["client-7"], 20, 50))


def test_a_survivor_s_input_stays_covered_by_its_pairwise_masks(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms]
) -> None:
    """With its self seed known and another client's mask key too, masks with the other survivors remain."""
    world = make_world(Bonawitz(), terms_of(length=200)).set_up()
    replies = world.deliver(world.begin())
    replies.pop(LATE)
    world.gone.add(LATE)
    world.upload(replies)
    world.finish(world.server.close_stage())
    current, secrets = world.server._round, everything_known(world)
    vector = unpacked(world, replies["client-0"])
    seed = keyring.derive(secrets[0], current.digest, binding.self_purpose(0))
    offers, slot = current.setup.offers, current.start.slot
    agreed = keyring.agree(secrets[4], {0: offers[0].mask_keys[slot]})[0]
    pair = keyring.derive(agreed, current.digest, binding.pair_purpose(4, 0))
    add_masks(vector, [], [seed, pair])
    reduce_words(vector, 20)
    assert np.count_nonzero(vector == to_ring(world.inputs["client-0"], 20, 200)) <= 2


@pytest.mark.statistical
@pytest.mark.parametrize("protocol", [Bonawitz(), Bonawitz(SemiHonest(one_phase=True))], ids=repr)
def test_a_masked_input_is_uniform_and_new_in_every_round(
    make_world: MakeWorld, terms_of: Callable[..., SumTerms], protocol: Bonawitz
) -> None:
    """Chi-square over 256 values for an input of zeros; false-alarm rate 1e-6 a round."""
    world = make_world(protocol, terms_of(bits=8, length=50_000)).set_up()
    world.inputs = dict.fromkeys(world.names, np.zeros(50_000, dtype=np.int64))
    seen = []
    for index in range(2):
        replies = world.deliver(world.begin(index))
        seen.append(unpacked(world, replies["client-2"]))
        world.upload(replies)
        world.finish(world.server.close_stage())
        counts = np.bincount(seen[-1], minlength=256)
        expected = len(seen[-1]) / 256
        assert float(((counts - expected) ** 2 / expected).sum()) < 377.0
    assert abs(np.count_nonzero(seen[0] == seen[1]) - 50_000 / 256) < 6 * (50_000 / 256) ** 0.5


def test_what_one_round_reveals_opens_no_other(make_world: MakeWorld) -> None:
    """A client that dropped out in one round has lost that slot's mask key, and no other's."""
    world = make_world(Bonawitz(rounds_per_setup=2)).set_up()
    world.gone.add(LATE)
    world.finish(world.begin(0))
    owner = world.names.index(LATE)
    revealed = everything_known(world)[owner]
    offer = world.server._setup.offers[owner]
    assert keyring.public_key(revealed) == offer.mask_keys[0]
    assert keyring.public_key(revealed) != offer.mask_keys[1]
    world.gone.clear()
    total = world.finish(world.begin(1))
    assert world.server.state is ServerState.READY
    assert np.array_equal(total, world.expected(world.names)), "it takes part again under its next slot"
