r"""Turbo-Aggregate: the chance that a group is corrupted, and what a corrupted group and the server read.

Run: python reproductions/corrupted_groups.py

So, Güler and Avestimehr (2021): silos stand in groups of about log N. Each adds a mask u that the server
handed out, and gives each of the L members of the next group one of L additive shares, and one further value
of the polynomial through them, for members who drop out. L values open all shares, so half of a group opens
x + u of everybody before it, and whoever knows u, the server, opens x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from prime_field import PRIME, Field, random_vector, value


def group_sizes(silos: int) -> list[int]:
    """Returns as many groups as there can be of at least ⌈log₂ N⌉, as equal as they can be."""
    count = silos // math.ceil(math.log2(silos))
    return [silos // count + (group < silos % count) for group in range(count)]


def corruption_probability(silos: int, colluding: int) -> float:
    r"""Returns the probability that random groups have one with half of its members colluding; exact.

    The placings that leave every group below a half are counted by ∏_groups Σ_{j < L/2} C(L, j) x^j.

    Example:
        >>> round(corruption_probability(12, 2), 3)
        0.273
    """
    safe = [1]
    for size in group_sizes(silos):
        group = [math.comb(size, j) for j in range((size + 1) // 2)]
        safe = [
            sum(safe[k - j] * group[j] for j in range(len(group)) if 0 <= k - j < len(safe))
            for k in range(len(safe) + len(group) - 1)
        ]
    good = safe[colluding] if colluding < len(safe) else 0
    return 1.0 - good / math.comb(silos, colluding)


def shares(secret: Field, size: int, rng: np.random.Generator) -> list[tuple[Field, Field]]:
    """Returns for each of the next group its additive share, and its further value of the polynomial."""
    blinds = [random_vector(rng, len(secret)) for _ in range(size - 1)]
    blinds.append(-sum(blinds, np.zeros_like(secret)) % PRIME)
    additive = [(secret + blind) % PRIME for blind in blinds]
    places = range(size)
    return [(additive[j], value(places, additive, size + j)) for j in places]


def opened(held: Sequence[tuple[int, tuple[Field, Field]]], size: int) -> Field:
    """Returns what was shared, from what half of the group holds: ``size`` values of a polynomial."""
    points = [point for j, _ in held for point in (j, size + j)][:size]
    values = [vector for _, pair in held for vector in pair][:size]
    additive = [value(points, values, j) for j in range(size)]
    return sum(additive, np.zeros_like(additive[0])) % PRIME * pow(size, -1, PRIME) % PRIME


def main() -> None:
    """Prints what docs/adr/0044 shows."""
    print("silos, colluding, members of a group: chance that half of some group colludes")
    for silos, colluding in ((12, 2), (24, 4), (50, 5), (50, 10), (200, 20)):
        members = min(group_sizes(silos))
        print(f"  {silos}, {colluding}, {members}: {100 * corruption_probability(silos, colluding):.2g} %")
    rng = np.random.default_rng(1)
    size, secret = 6, rng.integers(0, 100, 5, dtype=np.int64)
    from_server = random_vector(rng, len(secret))
    given = shares((secret + from_server) % PRIME, size, rng)
    found = (opened([(j, given[j]) for j in range(size // 2)], size) - from_server) % PRIME
    print(f"input of a silo:                 {secret.tolist()}")
    print(f"3 of the next 6, and the server: {found.tolist()}")


if __name__ == "__main__":
    main()
