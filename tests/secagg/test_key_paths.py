"""Clients that are shown their neighbours' keys under a root have what a list of all keys gave them.

docs/adr/0045 has the argument. The mode trusts the server; played here are a network that changes what the
server says, and a server that breaks its word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from discreet.errors import ConfigurationError, ProtocolAbort
from discreet.secagg import (
    Agreement,
    AllowList,
    Malicious,
    SemiHonest,
    SemiMalicious,
    SumTerms,
    binding,
    merkle,
)
from discreet.secagg.graph import CompleteGraph, HararyGraph
from discreet.secagg.merkle import Tree
from discreet.secagg.messages import Advertise, DeliveredShares, KeyList, KeyPaths, Shown
from discreet.secagg.transitions import ClientState
from tests.secagg.conftest import World, make_identities

CLIENTS, LOW = 12, 9
RULE = HararyGraph(4)
Entries = dict[int, bytes]


@pytest.fixture
def make_sparse(terms_of: Callable[..., SumTerms]) -> Callable[..., World]:
    def make(**options: Any) -> World:
        terms = terms_of(CLIENTS, threshold=2, min_survivors=LOW, max_colluding=1)
        keys = {name: one.public_key for name, one in make_identities(terms.clients).items()}
        return World(Agreement(terms, SemiHonest(), RULE, 1, AllowList(keys)), **options)

    return make


def offers_of(world: World) -> dict[int, Advertise]:
    offers = (world.read(data) for data in world.advertise().values())
    return {offer.sender: offer for offer in offers}


def shown_to(
    world: World,
    me: int,
    offers: dict[int, Advertise],
    *,
    members: tuple[int, ...] | None = None,
    entries: Entries | None = None,
) -> KeyPaths:
    """What a server says that builds a tree of its own choice and then follows the protocol."""
    told = tuple(sorted(offers)) if members is None else members
    tree = Tree({i: offer.body() for i, offer in offers.items()} | (entries or {}), CLIENTS)
    digest = binding.paths_digest(world.agreement, world.epoch, told, tree.root)
    near = RULE.neighborhood(me, told, digest).maskers if me in told else frozenset[int]()
    shown = (Shown(offers[one], tree.path(one)) for one in sorted({me, *near}) if one in offers)
    return KeyPaths(told, tree.root, tuple(shown))


def refused(world: World, message: KeyPaths, me: int = 0) -> str:
    """Returns the code with which a client refuses it; its session is over then."""
    client = world.clients[world.names[me]]
    with pytest.raises(ProtocolAbort) as caught:
        client.receive(world.write(message))
    assert client.state is ClientState.ABORTED
    return caught.value.code


def signed(world: World, offer: Advertise) -> Advertise:
    """The offer with its sender's own signature: a colluding client may sign what it likes."""
    content = binding.advertised_content(world.agreement, world.epoch, offer)
    return replace(offer, signature=world.identities[world.names[offer.sender]].sign(content))


def neighbor_in(message: KeyPaths, me: int = 0) -> int:
    return next(one.offer.sender for one in message.shown if one.offer.sender != me)


def changed(message: KeyPaths, sender: int, change: Callable[[Shown], Shown | None]) -> KeyPaths:
    items = (change(one) if one.offer.sender == sender else one for one in message.shown)
    return replace(message, shown=tuple(item for item in items if item is not None))


def test_a_client_is_shown_its_neighbours_and_the_sum_is_exact(make_sparse: Callable[..., World]) -> None:
    world = make_sparse()
    world.upload(world.advertise())
    outgoing = world.server.close_stage()
    told = [world.read(data) for data in outgoing.values()]
    assert {len(one.shown) for one in told} == {1 + RULE.degree}
    assert len({(one.members, one.root) for one in told}) == 1, "the same for all"
    world.deliver(world.step(outgoing))
    world.gone = {"client-3", "client-7"}
    total = world.finish(world.begin())
    assert np.array_equal(total, world.expected([name for name in world.names if name not in world.gone]))


LIES: dict[str, tuple[Callable[[KeyPaths, int], KeyPaths], str]] = {
    "our keys are missing": (lambda told, _: changed(told, 0, lambda _own: None), "own-key"),
    "our keys are others": (
        lambda told, _: changed(
            told, 0, lambda own: replace(own, offer=replace(own.offer, channel_key=b"k" * 32))
        ),
        "own-key",
    ),
    "a neighbour is hidden": (lambda told, near: changed(told, near, lambda _one: None), "bad-graph"),
    "a member is hidden": (
        lambda told, near: replace(told, members=without(told.members, near)),
        "bad-graph",
    ),
    "too few members": (lambda told, _: replace(told, members=told.members[: LOW - 1]), "too-few"),
    "we are no member": (lambda told, _: replace(told, members=told.members[1:]), "unknown-client"),
    "a member beyond the clients": (
        lambda told, _: replace(told, members=(*told.members[:-1], CLIENTS)),
        "unknown-client",
    ),
    "nobody is a member": (lambda told, _: replace(told, members=()), "unknown-client"),
    "a hash of the path is another": (
        lambda told, near: changed(told, near, lambda one: replace(one, path=(bytes(32), *one.path[1:]))),
        "bad-path",
    ),
    "the path of another place": (
        lambda told, near: changed(told, near, lambda one: replace(one, path=told.shown[0].path)),
        "bad-path",
    ),
    "a path that ends early": (
        lambda told, near: changed(told, near, lambda one: replace(one, path=one.path[:-1])),
        "bad-path",
    ),
    "a path that goes on": (
        lambda told, near: changed(told, near, lambda one: replace(one, path=(*one.path, bytes(32)))),
        "bad-path",
    ),
    "our own path is wrong": (
        lambda told, _: changed(told, 0, lambda own: replace(own, path=own.path[::-1])),
        "bad-path",
    ),
    "keys that the tree does not hold": (
        lambda told, near: changed(
            told, near, lambda one: replace(one, offer=replace(one.offer, channel_key=b"k" * 32))
        ),
        "bad-path",
    ),
}


def without(members: tuple[int, ...], gone: int) -> tuple[int, ...]:
    return tuple(member for member in members if member != gone)


@pytest.mark.parametrize("lie", LIES)
def test_what_does_not_fit_the_root_is_refused(make_sparse: Callable[..., World], lie: str) -> None:
    world, (change, code) = make_sparse(), LIES[lie]
    told = shown_to(world, 0, offers_of(world))
    assert refused(world, change(told, neighbor_in(told))) == code


def test_keys_of_strangers_to_the_circle_are_refused(make_sparse: Callable[..., World]) -> None:
    """A server that shows us its own clients in place of those that the root gives us."""
    world = make_sparse()
    offers = offers_of(world)
    told = shown_to(world, 0, offers)
    near = {one.offer.sender for one in told.shown}
    stranger = next(one for one in offers if one not in near)
    tree = Tree({index: offer.body() for index, offer in offers.items()}, CLIENTS)
    kept = [one for one in told.shown if one.offer.sender != neighbor_in(told)]
    for shown in (
        [*kept, Shown(offers[stranger], tree.path(stranger))],
        [*told.shown, Shown(offers[stranger], ())],
    ):
        fresh = make_sparse()
        fresh.advertise()
        ordered = tuple(sorted(shown, key=lambda one: one.offer.sender))
        assert refused(fresh, replace(told, shown=ordered)) == "bad-graph"


@pytest.mark.parametrize("lie", ["a key of the server", "keys of an earlier epoch", "a copied key", "twice"])
def test_a_tree_over_false_keys_is_refused(make_sparse: Callable[..., World], lie: str) -> None:
    """The root fits here, since the server builds it over what it shows."""
    world = make_sparse(epoch=2)
    offers = offers_of(world)
    stale = offers_of(make_sparse(epoch=1))
    # All neighbours at once: another entry is another root, and so another circle.
    false: Callable[[Advertise], Advertise] = {
        "a key of the server": lambda offer: replace(offer, channel_key=bytes(range(32))),
        "keys of an earlier epoch": lambda offer: stale[offer.sender],
        "a copied key": lambda offer: signed(world, replace(offer, mask_keys=offers[0].mask_keys)),
        "twice": lambda offer: signed(world, replace(offer, mask_keys=(offer.channel_key,))),
    }[lie]
    told = shown_to(world, 0, {0: offers[0]} | {i: false(offers[i]) for i in range(1, CLIENTS)})
    code = "duplicate-key" if lie in {"a copied key", "twice"} else "bad-signature"
    assert refused(world, told) == code


def test_one_clients_keys_at_two_places_are_found_at_its_own_only(make_sparse: Callable[..., World]) -> None:
    """A second leaf with the keys of one client is no entry of the client at whose place it lies."""
    world = make_sparse()
    offers = offers_of(world)
    told = shown_to(world, 0, offers, entries={i: offers[1].body() for i in range(2, CLIENTS)})
    assert refused(world, told) == "bad-path"


def test_a_client_is_found_at_no_second_depth(make_sparse: Callable[..., World]) -> None:
    """Client 6 has two offers under one root: one at its place, one in place of the node over 12 and 13."""
    twice, members = 6, tuple(range(CLIENTS))
    world = make_sparse()
    offers = offers_of(world)
    second = signed(world, replace(offers[twice], channel_key=bytes(range(32))))
    tree = Tree({index: offer.body() for index, offer in offers.items()}, CLIENTS)
    tree._levels[1][twice] = merkle._leaf(second.body())
    for below, above in pairwise(tree._levels[1:]):
        above[:] = [merkle._node(*below[at : at + 2]) for at in range(0, len(below), 2)]
    path = tuple(hashes[twice >> level ^ 1] for level, hashes in enumerate(tree._levels[1:-1]))
    assert merkle.root_from(second.body(), twice, path) == tree.root
    digest = binding.paths_digest(world.agreement, world.epoch, members, tree.root)
    one, other, *_ = RULE.neighborhood(twice, members, digest).maskers

    def told(me: int) -> KeyPaths:
        near = RULE.neighborhood(me, members, digest).maskers
        shown = tuple(Shown(offers[peer], tree.path(peer)) for peer in sorted({me, *near}))
        return KeyPaths(members, tree.root, shown)

    assert world.clients[world.names[one]].receive(world.write(told(one))) is not None
    lie = changed(told(other), twice, lambda _: Shown(second, path))
    assert refused(world, lie, other) == "bad-path"


@pytest.mark.parametrize("mode", [Malicious(), SemiMalicious()], ids=repr)
def test_a_root_stands_for_the_keys_only_where_the_server_is_trusted(
    make_sparse: Callable[..., World], mode: Malicious | SemiMalicious
) -> None:
    with pytest.raises(ConfigurationError, match="graph must be"):
        replace(make_sparse().agreement, mode=mode)


def test_a_member_without_keys_is_a_neighbour_of_nobody(make_sparse: Callable[..., World]) -> None:
    """Ghosts lift the count of members over the floor; whoever sits beside one goes no further."""
    world = make_sparse()
    offers = {index: offer for index, offer in offers_of(world).items() if index < LOW - 1}
    everyone = tuple(range(CLIENTS))
    told = {me: shown_to(world, me, offers, members=everyone) for me in offers}
    beside = [me for me, one in told.items() if len(one.shown) < 1 + RULE.degree]
    assert beside
    assert {refused(world, told[me], me) for me in beside} == {"bad-graph"}


def test_clients_of_two_trees_open_no_box_of_each_other(make_sparse: Callable[..., World]) -> None:
    """Both trees hold true keys; the members are the same, or one is missing in the second."""
    for lost in (None, CLIENTS - 1):
        world = make_sparse()
        offers = offers_of(world)
        members = tuple(offers) if lost is None else without(tuple(offers), lost)
        # A leaf that nobody is shown would do; a whole second list of the same clients is the same lie.
        other = {"entries": {CLIENTS + 1: b"nobody"}} if lost is None else {"members": members}
        boxes: dict[int, dict[int, bytes]] = {}
        for me in members:
            told = shown_to(world, me, offers, **(other if me % 2 else {}))
            sealed = world.clients[world.names[me]].receive(world.write(told))
            boxes[me] = dict(world.read(sealed).boxes)
        codes = set()
        for me in members:
            mine = tuple((one, box[me]) for one, box in sorted(boxes.items()) if me in box)
            with pytest.raises(ProtocolAbort) as caught:
                world.clients[world.names[me]].receive(world.write(DeliveredShares(members, mine)))
            codes.add(caught.value.code)
        assert codes <= {"bad-ciphertext", "unknown-client"}


def test_root_and_members_are_in_the_digest(make_sparse: Callable[..., World]) -> None:
    agreement = make_sparse().agreement
    digests = {
        binding.paths_digest(agreement, epoch, members, root)
        for epoch, members, root in (
            (1, (0, 1), bytes(32)),
            (2, (0, 1), bytes(32)),
            (1, (0, 2), bytes(32)),
            (1, (0, 1), b"r" * 32),
        )
    }
    assert len(digests) == 4


def test_nobody_takes_one_kind_of_list_for_the_other(make_sparse: Callable[..., World]) -> None:
    """Where a client checks all keys, a server must not get by with a root, and the other way round."""
    world = make_sparse()
    offers = offers_of(world)
    with pytest.raises(ProtocolAbort) as caught:
        world.clients["client-0"].receive(world.write(KeyList(tuple(offers.values()))))
    assert caught.value.code == "out-of-order"
    whole = World(replace(world.agreement, graph=CompleteGraph()))
    told = shown_to(whole, 0, offers_of(whole))
    assert refused(whole, told) == "out-of-order"


def test_more_holders_than_the_field_has_points(make_sparse: Callable[..., World]) -> None:
    """Numbers have 32 bits; who holds shares sits at a point of a field of 2^16."""
    names = tuple(map(str, range(65_536)))
    terms = replace(make_sparse().agreement.terms, clients=names)
    keys = AllowList({name: number.to_bytes(32, "big") for number, name in enumerate(names)})
    assert Agreement(terms, SemiHonest(), RULE, 1, keys).name(65_535) == "65535"
    with pytest.raises(ConfigurationError, match="at most 65535 clients can hold shares of one; got 65536"):
        Agreement(terms, SemiHonest(), CompleteGraph(), 1, keys)
