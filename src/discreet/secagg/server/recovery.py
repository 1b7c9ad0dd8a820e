"""How the server gets secrets back from shares: verified, and again without a share that is wrong."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from discreet.errors import PeerProtocolError, UnmaskingIncomplete
from discreet.randomness import SeededRandom
from discreet.secagg.codes import AbortCode
from discreet.secagg.hazmat import shamir
from discreet.secagg.hazmat.field import Symbols
from discreet.secagg.hazmat.secret import Secret

MAX_SUBSETS = 256
"""Random subsets that are tried for one secret, after those that leave out one holder. With w of m shares
wrong, a subset of t is clean with probability C(m - w, t) / C(m, t); one liar is always left out."""


@dataclass(frozen=True, slots=True)
class Released:
    """The shares of one client's secrets that were released, by holder number.

    Attributes:
        owner: whose secrets these are.
        holders: everyone to whom it dealt shares, by number; the place of a holder is the point of its share.
        shares: holder to share bytes, all of one size.
        verify: says whether recovered bytes fit the owner's public key or commitments.
    """

    owner: int
    holders: tuple[int, ...]
    shares: Mapping[int, bytes]
    verify: Callable[[bytes], bool]

    def points(self, holders: Iterable[int]) -> tuple[int, ...]:
        """Returns the points at which holders sit: their place among all holders plus one."""
        return tuple(bisect_left(self.holders, holder) + 1 for holder in holders)

    def __repr__(self) -> str:
        return f"Released(owner={self.owner}, holders={sorted(self.shares)})"


@dataclass(frozen=True, slots=True)
class Recovered:
    """Verified secrets of every owner, and the holders whose shares did not fit, by owner."""

    secrets: dict[int, Secret]
    blamed: dict[int, tuple[int, ...]]


def recover_all(released: list[Released], threshold: int) -> Recovered:
    """Recovers every owner's secrets.

    Owners whose shares lie at the same points are solved together, which is the usual case on a complete
    graph; what does not verify is tried again alone.

    Raises:
        NotEnoughSurvivors: if fewer than ``threshold`` shares of an owner are there.
        PeerProtocolError: code ``bad-share``, if no subset of an owner's shares verifies.
    """
    groups: dict[tuple[tuple[int, ...], int], list[Released]] = {}
    for item in released:
        # Too few points lie on every polynomial: what they recover says nothing and would be blamed on
        # somebody.
        _require_threshold(item, threshold)
        holders = tuple(sorted(item.shares))[:threshold]
        points = item.points(holders)
        groups.setdefault((points, len(item.shares[holders[0]])), []).append(item)
    secrets: dict[int, Secret] = {}
    blamed: dict[int, tuple[int, ...]] = {}
    for (points, size), items in groups.items():
        columns = [[item.shares[item.holders[point - 1]] for item in items] for point in points]
        rows = _stack([b"".join(column) for column in columns])
        joined = shamir.to_bytes(shamir.recover(rows, np.array(points, dtype=np.uint16)))
        for number, item in enumerate(items):
            secret = joined[number * size : (number + 1) * size]
            # One liar must not cost the round: anybody could end all of them with a single wrong share.
            if not item.verify(secret):
                secret, blamed[item.owner] = _search(item, threshold)
            secrets[item.owner] = Secret(secret)
    return Recovered(secrets, blamed)


def _require_threshold(item: Released, threshold: int) -> None:
    """Refuses to try with too few shares."""
    if not len(item.shares) >= threshold:
        raise UnmaskingIncomplete(
            AbortCode.TOO_FEW,
            f"unmask: threshold={threshold} shares are needed for client {item.owner}; "
            f"got {len(item.shares)}. There is no sum, but the shares that arrived count as seen.",
        )


def _search(item: Released, threshold: int) -> tuple[bytes, tuple[int, ...]]:
    """Tries other subsets, and blames the holders whose shares lie off the polynomial that verifies."""
    for holders in _subsets(sorted(item.shares), threshold):
        rows = _stack([item.shares[holder] for holder in holders])
        points = np.array(item.points(holders), dtype=np.uint16)
        secret = shamir.to_bytes(shamir.recover(rows, points))
        if item.verify(secret):
            others = [holder for holder in sorted(item.shares) if holder not in holders]
            off = (
                holder
                for holder in others
                if shamir.to_bytes(shamir.evaluate(rows, points, *item.points([holder])))
                != item.shares[holder]
            )
            return secret, tuple(off)
    raise PeerProtocolError(
        AbortCode.BAD_SHARE,
        f"shares of client {item.owner} must recover what it committed to; no subset of "
        f"{len(item.shares)} does. "
        "Either this client dealt wrong shares or too many holders lied; nothing was unmasked.",
    )


def _subsets(holders: list[int], size: int) -> Iterator[tuple[int, ...]]:
    """Yields subsets to try: first all that leave one holder out in turn, then pseudo-random ones."""
    for left_out in range(len(holders)):
        rest = holders[:left_out] + holders[left_out + 1 :]
        if len(rest) >= size:
            yield tuple(rest[:size])
    # No secret: which subsets are tried may be known, and a run can be repeated.
    order = SeededRandom(0).derive("share subsets")
    for _ in range(MAX_SUBSETS):
        yield tuple(sorted(holders[index] for index in order.permutation(len(holders))[:size]))


def _stack(rows: list[bytes]) -> Symbols:
    """Turns equally long byte strings into rows of symbols."""
    return shamir.to_symbols(b"".join(rows)).reshape(len(rows), -1)
