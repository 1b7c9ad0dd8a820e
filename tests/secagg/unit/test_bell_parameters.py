"""The degree and threshold of sparse graphs against published values and against simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest

from discreet.errors import ConfigurationError
from discreet.randomness import SeededRandom
from discreet.secagg import SemiHonest, SemiMalicious
from discreet.secagg.bell.parameters import (
    Sparsity,
    _choices_apart,
    _circle_apart,
    find_sparsity,
    tail_quantile,
)
from discreet.secagg.bell.protocol import max_in_degree
from discreet.secagg.graph import HararyGraph

# (clients, corruption rate = dropout rate) -> (degree, threshold) semi-honest, then semi-malicious, for 40
# bits of security and 30 of correctness. Found with an independent port of the search in the C++ library
# google-parfait/federated-compute (graph_parameter_finder.cc), whose own correctness is 20 bits. Ours asks
# for more where the server may lie: in the published search a client that is cut off is safe, not counted.
PUBLISHED = {
    (50, 0.05): ((6, 3), (8, 6)),
    (50, 0.1): ((12, 6), (16, 11)),
    (50, 0.2): ((22, 11), (32, 22)),
    (100, 0.05): ((12, 6), (16, 11)),
    (100, 0.1): ((22, 11), (32, 22)),
    (100, 0.2): ((42, 21), (62, 42)),
    (1000, 0.05): ((34, 18), (62, 43)),
    (1000, 0.1): ((52, 28), (114, 78)),
    (1000, 0.2): ((112, 59), (340, 229)),
    (10_000, 0.05): ((38, 21), (74, 51)),
    (10_000, 0.1): ((60, 32), (144, 98)),
}


@pytest.mark.parametrize("case", PUBLISHED.items(), ids=str)
def test_published_table(case: tuple[tuple[int, float], tuple[tuple[int, int], tuple[int, int]]]) -> None:
    (n, rate), (honest, malicious) = case
    bad = round(n * rate)
    assert find_sparsity(n, bad, bad, SemiHonest(), full_list=True) == Sparsity(*honest)
    ours = find_sparsity(n, bad, bad, SemiMalicious(), full_list=True)
    assert ours == Sparsity(*malicious) if n <= 100 else ours.degree >= malicious[0]


def test_a_list_without_those_that_drop_out_needs_no_less() -> None:
    """Colluders are a larger part of a shorter list: 200 of 800 instead of 200 of 1000."""
    assert find_sparsity(1000, 200, 200, SemiHonest()) == Sparsity(132, 73)
    assert find_sparsity(1000, 200, 200, SemiHonest(), full_list=True) == Sparsity(112, 59)
    found = find_sparsity(1000, 100, 100, SemiMalicious())
    short = tail_quantile(899, 100, found.degree, Fraction(1, 1000 << 41))
    assert 2 * found.threshold > found.degree + short - 1


# From the same library's own test table (correctness 20 bits; its populations have n members, ours n - 1).
@pytest.mark.parametrize(
    ("n", "colluding", "dropouts", "mode", "expected"),
    [
        (100, 33, 33, SemiHonest(), (68, 34)),
        (100, 5, 33, SemiHonest(), (28, 6)),
        (1000, 50, 330, SemiHonest(), (72, 24)),
        (1000, 330, 50, SemiHonest(), (78, 60)),
        (1000, 330, 50, SemiMalicious(), (132, 109)),
    ],
)
def test_the_library_table_at_its_own_correctness(
    n: int, colluding: int, dropouts: int, mode: SemiHonest | SemiMalicious, expected: tuple[int, int]
) -> None:
    assert find_sparsity(n, colluding, dropouts, mode, full_list=True, correctness_bits=20) == Sparsity(
        *expected
    )


def test_tail_quantile_counts_exactly() -> None:
    """Against enumeration of all draws of 4 among 9, of which 3 are marked."""
    draws = list(combinations(range(9), 4))
    for limit in (
        Fraction(0),
        Fraction(1, 200),
        Fraction(1, 21),
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(1),
    ):
        tails = [Fraction(sum(sum(x < 3 for x in draw) >= t for draw in draws), len(draws)) for t in range(6)]
        assert tail_quantile(9, 3, 4, limit) == next(t for t in range(6) if tails[t] <= limit)


def test_the_circle_bound_covers_every_placement() -> None:
    """All C(10, 5) placements of bad clients on a circle of ten of degree four."""
    n, bad, degree = 10, 5, 4
    apart = sum(not connected(n, degree, set(range(n)) - set(gone)) for gone in combinations(range(n), bad))
    assert 0 < Fraction(apart, comb(n, bad)) <= _circle_apart(n, bad, degree)
    assert _circle_apart(n, degree - 1, degree) == 0


@pytest.mark.parametrize(
    ("n", "colluding", "dropouts", "degree"),
    [(16, 1, 2, 10), (20, 2, 4, 12), (24, 0, 3, 8)],
)
def test_the_choice_bound_is_the_union_that_it_says(
    n: int, colluding: int, dropouts: int, degree: int
) -> None:
    """The documented union over sets, in exact rationals."""
    honest, choices, bound = n - colluding, comb(n - 1, degree), Fraction(0)
    for size in range(1, honest // 2 + 1):
        for gone in range(dropouts + 1):
            rest = max(honest - size - gone, 0)
            inward = Fraction(comb(n - 1 - rest, degree), choices) ** size
            outward = Fraction(comb(n - 1 - size, degree), choices) ** rest
            cut = comb(honest, size) * comb(honest - size, gone) * inward * outward
            bound += min(cut, Fraction(1))
    assert bound < 1
    computed = _choices_apart(n, colluding, dropouts, degree, Fraction(1))
    assert float(computed) == pytest.approx(1.001 * float(bound), rel=1e-9)
    assert computed >= bound


def connected(n: int, degree: int, alive: set[int]) -> bool:
    reach = range(1, degree // 2 + 1)
    seen, todo = set(), [min(alive)]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += [near for step in reach for near in ((at + step) % n, (at - step) % n) if near in alive]
    return seen == alive


def test_infeasible_rates_name_the_knobs() -> None:
    with pytest.raises(ConfigurationError, match="Lower max_colluding, raise min_survivors"):
        find_sparsity(60, 25, 25, SemiMalicious())


def test_zero_adversaries_are_zero_and_not_rounded_down_from_some() -> None:
    """Rates of 5 % of ten clients are no colluder at all when floored; counts cannot be misread."""
    assert find_sparsity(60, 0, 0, SemiHonest()).threshold == 2
    assert find_sparsity(60, 1, 1, SemiHonest()).degree > 2


def test_harary_graphs_are_regular_symmetric_and_depend_on_the_seed() -> None:
    members = list(range(3, 300, 3))
    graph = HararyGraph(10)
    places = graph.neighborhoods(members, b"seed")
    assert all(len(place.maskers) == 10 and member not in place.maskers for member, place in places.items())
    assert all(member in places[peer].maskers for member, place in places.items() for peer in place.maskers)
    assert all(graph.neighborhood(member, members, b"seed") == places[member] for member in members[:5])
    other = graph.neighborhoods(members, b"other seed")
    assert sum(places[member] == other[member] for member in members) < 5


@pytest.mark.statistical
def test_simulated_draws_stay_within_the_bounds() -> None:
    """At 2^-10 instead of 2^-40 the events can be seen: their frequency must not exceed the bound.

    40,000 draws; the bound times n is 2^-11 per client, expected below 20 events, limit six sigma above.
    """
    n, colluding, degree = 100, 10, 22
    limit = Fraction(1, 1 << 11)
    quantile = tail_quantile(n - 1, colluding, degree, limit)
    source, trials = SeededRandom(5), 40_000
    keys = source.words(trials * (n - 1)).reshape(trials, n - 1)
    marked = (np.argpartition(keys, degree, axis=1)[:, :degree] < colluding).sum(axis=1)
    expected = trials * float(limit)
    assert int((marked >= quantile).sum()) <= expected + 6 * expected**0.5
    assert int((marked >= quantile - 1).sum()) > expected


def test_the_cap_on_choosers_is_never_met_by_chance() -> None:
    """Chernoff: log P[Bin > cap] <= cap - mean - cap log(cap / mean); union over 10,000 clients."""
    for degree in range(2, 400, 2):
        cap = max_in_degree(degree)
        log_tail = cap - degree - cap * np.log(cap / degree)
        assert np.log2(10_000) + log_tail / np.log(2) < -60
