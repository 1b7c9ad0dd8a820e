r"""GOPA: what masks from a normal distribution cost against masks that hide, and what a dropout leaves.

Run: python reproductions/gaussian_masks.py

Sabater, Bellet and Ramon (2022): no server. Two parties u, v with an edge draw a mask of variance s², which
one adds and the other takes off; each adds noise of variance σ² of its own and shows all the result. To
those who know all other inputs and masks, what n honest parties show is one normal vector of covariance σ²I
+ s²L, L the Laplacian of the edges among them. A record that moves party u's input by Δ moves entry u, so
u's guarantee is Gaussian with μ² = Δ²·[(σ²I + s²L)⁻¹]_uu, and no better. A trusted sum has μ² = Δ²/(nσ²).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from discreet.accounting.gdp import gaussian_delta, gaussian_epsilon

Vector = npt.NDArray[np.float64]
Edge = tuple[int, int]
DELTA = 1e-5
RATIOS = (3.0, 10.0, 30.0)
GRAPHS = 200


def complete(parties: int) -> set[Edge]:
    """Every two parties have an edge."""
    return {(u, v) for u in range(parties) for v in range(u + 1, parties)}


def drawn(parties: int, out: int, rng: np.random.Generator) -> set[Edge]:
    """Every party draws ``out`` others without replacement; an edge wherever one drew the other."""
    edges = set()
    for u in range(parties):
        others = rng.permutation([v for v in range(parties) if v != u])[:out]
        edges |= {(min(u, int(v)), max(u, int(v))) for v in others}
    return edges


def among(edges: Iterable[Edge], parties: int) -> set[Edge]:
    """The edges among the first ``parties``; what others know hides nothing."""
    return {edge for edge in edges if max(edge) < parties}


def covariance(edges: Iterable[Edge], parties: int, ratio: float) -> Vector:
    """Covariance of what parties show, in units of σ²; ``ratio`` is s/σ."""
    found = np.eye(parties)
    for u, v in edges:
        found[[u, v], [u, v]] += ratio**2
        found[[u, v], [v, u]] -= ratio**2
    return found


def variance_factor(edges: Iterable[Edge], parties: int, ratio: float) -> float:
    """Returns how many times the variance of a trusted sum is needed for the same ε, for the worst-off party.

    It is the number of parties where masks hide nothing, and tends to that of parties over the smallest
    connected part as masks grow.

    Example:
        >>> round(variance_factor(complete(9), 9, 3.0), 3)
        1.098
    """
    return float(parties * np.diagonal(np.linalg.inv(covariance(edges, parties, ratio))).max())


def worst_factor(parties: int, colluding: int, out: int, ratio: float) -> float:
    """The same over 200 drawn graphs: the worst of them."""
    rng, honest = np.random.default_rng(1), parties - colluding
    graphs = (among(drawn(parties, out, rng), honest) for _ in range(GRAPHS))
    return max(variance_factor(edges, honest, ratio) for edges in graphs)


def shown(inputs: Vector, edges: Iterable[Edge], ratio: float, rng: np.random.Generator) -> Vector:
    """What every party publishes; inputs in units of σ."""
    found = inputs + rng.standard_normal(len(inputs))
    for u, v in edges:
        mask = ratio * rng.standard_normal()
        found[u] += mask
        found[v] -= mask
    return found


def leftover_stddev(edges: Iterable[Edge], gone: int, parties: int, ratio: float) -> float:
    """Returns the noise of the survivors' sum over what was planned for them, if ``gone`` shows nothing."""
    open_edges = sum(gone in edge for edge in edges)
    return math.sqrt(1.0 + open_edges * ratio**2 / (parties - 1))


def epsilon_alone(target: float, parties: int) -> float:
    """Returns the ε of one party's own noise where that of all was to cost ``target``."""
    together = brentq(lambda mu: gaussian_delta(mu, target) - DELTA, 1e-3, 10.0)
    return gaussian_epsilon(math.sqrt(parties) * together, DELTA)


def main() -> None:
    """Prints what docs/adr/0047 shows."""
    print("variance needed, in that of a trusted sum, at s/sigma = 3, 10, 30")
    row = ", ".join(f"{variance_factor(complete(9), 9, ratio):.3f}" for ratio in RATIOS)
    print(f"  10 silos, 1 colluding, every edge: {row}")
    for out in (2, 3, 6, 10):
        row = ", ".join(f"{worst_factor(50, 5, out, ratio):.3f}" for ratio in RATIOS)
        print(f"  50 silos, 5 colluding, {out} drawn by each, worst of {GRAPHS}: {row}")
    print("one of 10 silos shows nothing: noise of the others' sum, in what was planned for them")
    print("  masks stay: " + ", ".join(f"{leftover_stddev(complete(10), 0, 10, r):.1f}" for r in RATIOS))
    print("  masks are told, and its message comes late: its own noise is left,")
    print(f"    epsilon {epsilon_alone(1.0, 10):.2f} where 1 was promised")


if __name__ == "__main__":
    main()
