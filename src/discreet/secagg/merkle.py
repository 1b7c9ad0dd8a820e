"""A list of keys as a hash tree: one root for everybody, and for one entry the path that leads to it.

Bell et al. (CCS 2020, eprint 2020/704), section 4; the tree of RFC 6962, section 2.1, with a place for every
client of the terms. Guarantee: whoever knows the root accepts at most one entry at a place, for SHA-256
without collisions. The shape is public, so nobody announces a number of leaves that could be a lie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

# A leaf is never read as a node, nor a node as a leaf.
_LEAF, _NODE = b"\x00", b"\x01"


def depth(places: int) -> int:
    """Returns how many hashes lie between a leaf and the root of a tree with this many places."""
    return (places - 1).bit_length()


def root_from(entry: bytes, place: int, path: Sequence[bytes]) -> bytes:
    """Returns the root to which a path leads from an entry at a place."""
    reached = _leaf(entry)
    for level, sibling in enumerate(path):
        reached = _node(sibling, reached) if place >> level & 1 else _node(reached, sibling)
    return reached


class Tree:
    """The hashes of all entries, by place; a place without an entry holds the empty one.

    Example:
        >>> tree = Tree({0: b"a", 2: b"c"}, places=3)
        >>> root_from(b"c", 2, tree.path(2)) == tree.root
        True
    """

    def __init__(self, entries: Mapping[int, bytes], places: int) -> None:
        empty = _leaf(b"")
        level = [_leaf(entries[at]) if at in entries else empty for at in range(1 << depth(places))]
        self._levels = [level]
        while len(level) > 1:
            level = [_node(level[at], level[at + 1]) for at in range(0, len(level), 2)]
            self._levels.append(level)

    @property
    def root(self) -> bytes:
        """The hash that stands for all entries."""
        return self._levels[-1][0]

    def path(self, place: int) -> tuple[bytes, ...]:
        """Returns the siblings between a place and the root, from the leaf up."""
        return tuple(hashes[place >> level ^ 1] for level, hashes in enumerate(self._levels[:-1]))


def _leaf(entry: bytes) -> bytes:
    return hashlib.sha256(_LEAF + entry).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(_NODE + left + right).digest()
