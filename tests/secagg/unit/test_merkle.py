"""The hash tree of keys: one entry at a place under one root, and none where a path does not say so."""

from __future__ import annotations

from hashlib import sha256

import pytest

from discreet.secagg.merkle import Tree, depth, root_from

ENTRIES = {place: f"entry {place}".encode() for place in (0, 1, 3, 4)}


def test_the_root_of_three_places_by_hand() -> None:
    """RFC 6962, section 2.1: leaves behind a zero byte, nodes behind a one; the fourth place is empty."""
    a, b, c, none = (sha256(b"\x00" + entry).digest() for entry in (b"a", b"b", b"c", b""))
    left, right = (sha256(b"\x01" + one + two).digest() for one, two in ((a, b), (c, none)))
    tree = Tree({0: b"a", 1: b"b", 2: b"c"}, places=3)
    assert tree.root == sha256(b"\x01" + left + right).digest()
    assert tree.path(2) == (none, left)


@pytest.mark.parametrize("places", [5, 8, 9, 70_000])
def test_a_path_leads_from_its_entry_at_its_place_only(places: int) -> None:
    tree = Tree(ENTRIES, places)
    for place, entry in ENTRIES.items():
        path = tree.path(place)
        assert len(path) == depth(places)
        assert root_from(entry, place, path) == tree.root
        assert root_from(b"other", place, path) != tree.root
        assert root_from(entry, place ^ 1, path) != tree.root
        assert root_from(entry, place, path[::-1]) != tree.root
        assert root_from(entry, place, (bytes(32), *path[1:])) != tree.root


def test_a_node_is_no_entry() -> None:
    """Without labels, the two children of a node would be an entry one level up."""
    tree = Tree(ENTRIES, 8)
    inner = sha256(b"\x00" + ENTRIES[0]).digest() + sha256(b"\x00" + ENTRIES[1]).digest()
    assert root_from(inner, 0, tree.path(0)[1:]) != tree.root


def test_every_entry_and_its_place_are_in_the_root() -> None:
    roots = {
        Tree(entries, 8).root
        for entries in (ENTRIES, ENTRIES | {4: b"x"}, {0: ENTRIES[1], 1: ENTRIES[0]}, {0: ENTRIES[0]}, {})
    }
    assert len(roots) == 5


def test_depths() -> None:
    assert [depth(places) for places in (1, 2, 3, 4, 5, 1000, 1 << 20)] == [0, 1, 2, 2, 3, 10, 20]
