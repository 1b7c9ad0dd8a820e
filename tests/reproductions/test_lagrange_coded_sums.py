"""Turbo-Aggregate and LightSecAgg: the attacks of ADR 44 open inputs, and below the threshold they do not."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import corrupted_groups
import survivor_sets
from prime_field import PRIME, Field, random_vector, value

TERMS = survivor_sets.Terms(silos=8, answers=4, colluding=1)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def federation(rng: np.random.Generator) -> tuple[list[Field], list[survivor_sets.Silo]]:
    inputs = [random_vector(rng, 6) for _ in range(TERMS.silos)]
    return inputs, survivor_sets.offline(TERMS, inputs, rng)


def test_any_answers_open_the_sum_of_the_survivors(rng: np.random.Generator) -> None:
    inputs, silos = federation(rng)
    survivors = (0, 2, 3, 5, 7)
    for asked in ((0, 2, 3, 5), (7, 3, 2, 0)):
        masks = survivor_sets.opened(TERMS, [silos[j] for j in asked], survivors)
        total = (sum(silos[j].upload for j in survivors) - masks) % PRIME
        assert (total == sum(inputs[j] for j in survivors) % PRIME).all()


@pytest.mark.parametrize("victim", range(TERMS.silos))
def test_two_survivor_sets_open_an_input(rng: np.random.Generator, victim: int) -> None:
    inputs, silos = federation(rng)
    assert (survivor_sets.stolen(TERMS, silos, victim) == inputs[victim]).all()


def test_answers_to_one_set_alone_open_no_input(rng: np.random.Generator) -> None:
    inputs, silos = federation(rng)
    everybody = tuple(range(TERMS.silos))
    first, second = (survivor_sets.opened(TERMS, silos[k : k + 4], everybody) for k in (0, 4))
    assert (first == second).all()
    assert not (silos[3].upload == inputs[3]).any()


@pytest.mark.parametrize("size", [4, 5, 6])
def test_half_of_the_next_group_opens_what_was_shared_and_fewer_do_not(
    rng: np.random.Generator, size: int
) -> None:
    secret = random_vector(rng, 3)
    given = corrupted_groups.shares(secret, size, rng)
    half = (size + 1) // 2
    for members in combinations(range(size), half):
        assert (corrupted_groups.opened([(j, given[j]) for j in members], size) == secret).all()
    # One member fewer has too few values: with any further value at all, another secret fits as well.
    fewer = [(j, given[j]) for j in range(half - 1)]
    guesses = {
        int(corrupted_groups.opened([*fewer, (half - 1, (guess, given[half - 1][1]))], size)[0])
        for guess in (random_vector(rng, 3) for _ in range(5))
    }
    assert len(guesses) == 5


@pytest.mark.parametrize(("silos", "colluding"), [(9, 2), (12, 2), (12, 3)])
def test_chance_of_a_corrupted_group_by_counting_all_placings(silos: int, colluding: int) -> None:
    sizes = corrupted_groups.group_sizes(silos)
    group = [number for number, size in enumerate(sizes) for _ in range(size)]
    placings = [[group[place] for place in chosen] for chosen in combinations(range(silos), colluding)]
    bad = sum(any(2 * placing.count(g) >= size for g, size in enumerate(sizes)) for placing in placings)
    assert corrupted_groups.corruption_probability(silos, colluding) == pytest.approx(bad / len(placings))
    assert corrupted_groups.corruption_probability(silos, silos) == 1.0
    assert corrupted_groups.corruption_probability(silos, 0) == 0.0


def test_a_polynomial_is_what_its_values_say(rng: np.random.Generator) -> None:
    zero, one, two = (random_vector(rng, 2) for _ in range(3))
    at_five = value([0, 1, 2], [zero, one, two], 5)
    assert (value([5, 1, 0], [at_five, one, zero], 2) == two).all()
