"""Who masks with whom and who holds whose shares: the rule is agreed, the graph follows from it.

Clients compute or draw their own neighbourhood; the server is never asked for one that it could choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from discreet.randomness import SeededRandom
from discreet.secagg.wire import uint


@dataclass(frozen=True, slots=True)
class Neighborhood:
    """One client's place in the graph.

    Attributes:
        maskers: with whom it shares a mask; symmetric.
        holders: to whom it gives shares of its secrets, itself included on a complete graph.
        owners: whose shares it is given; the inverse of ``holders``.
    """

    maskers: frozenset[int]
    holders: frozenset[int]
    owners: frozenset[int]


@dataclass(frozen=True, slots=True)
class CompleteGraph:
    """Everyone is everyone's neighbour, and holds a share of its own secrets (Bonawitz et al. 2017)."""

    def describe(self) -> bytes:
        """Returns the bytes that bind this rule into the agreement."""
        return b"complete"

    def most_holders(self, num_clients: int) -> int:
        """Returns how many hold shares of one client at most."""
        return num_clients

    def neighborhood(self, member: int, members: Sequence[int], _seed: bytes) -> Neighborhood:
        """Returns the place of ``member`` among ``members``; it depends on no seed."""
        everyone = frozenset(members)
        return Neighborhood(everyone - {member}, everyone, everyone)

    def neighborhoods(self, members: Sequence[int], seed: bytes) -> dict[int, Neighborhood]:
        """Returns everyone's place."""
        return {member: self.neighborhood(member, members, seed) for member in members}


@dataclass(frozen=True, slots=True)
class HararyGraph:
    """A circle in an order that nobody chooses, everyone joined to the ``degree / 2`` next on either side.

    Bell et al. 2020 (eprint 2020/704), section 3; the order is drawn from the digest of all keys.
    """

    degree: int

    def describe(self) -> bytes:
        """Returns the bytes that bind this rule into the agreement."""
        return b"harary" + uint(self.degree, 4)

    def most_holders(self, num_clients: int) -> int:
        """Returns how many hold shares of one client at most."""
        return min(self.degree, num_clients - 1)

    def neighborhood(self, member: int, members: Sequence[int], seed: bytes) -> Neighborhood:
        """Returns the place of ``member`` among the sorted ``members``."""
        circle, places = _circle(tuple(members), seed)
        return self._around(circle, places[member])

    def neighborhoods(self, members: Sequence[int], seed: bytes) -> dict[int, Neighborhood]:
        """Returns everyone's place."""
        circle, places = _circle(tuple(members), seed)
        return {member: self._around(circle, at) for member, at in places.items()}

    def _around(self, circle: tuple[int, ...], at: int) -> Neighborhood:
        """Returns those within reach of one place on the circle."""
        reach = range(1, self.degree // 2 + 1)
        near = frozenset(circle[(at + sign * step) % len(circle)] for step in reach for sign in (-1, 1))
        near -= {circle[at]}
        return Neighborhood(near, near, near)


# Where many clients share a process, all compute the same circle.
@lru_cache(maxsize=2)
def _circle(members: tuple[int, ...], seed: bytes) -> tuple[tuple[int, ...], dict[int, int]]:
    """Returns the members in the order that the seed gives, and where each is in it."""
    # From a public seed: everybody computes the same circle, and nobody has to be told.
    order = SeededRandom(seed).derive("harary").permutation(len(members))
    circle = tuple(members[index] for index in order)
    return circle, {member: at for at, member in enumerate(circle)}


@dataclass(frozen=True, slots=True)
class ChosenGraph:
    """Every client draws ``degree`` holders itself, and masks with them and with those who drew it.

    Bell et al. 2020, section 4: a server that has committed to the keys cannot surround anyone.
    """

    degree: int
    max_in_degree: int

    def describe(self) -> bytes:
        """Returns the bytes that bind this rule into the agreement."""
        return b"chosen" + uint(self.degree, 4) + uint(self.max_in_degree, 4)

    def most_holders(self, num_clients: int) -> int:
        """Returns how many hold shares of one client at most."""
        return min(self.degree, num_clients - 1)


GraphRule = CompleteGraph | HararyGraph | ChosenGraph
