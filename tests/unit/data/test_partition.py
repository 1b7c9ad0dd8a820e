from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import ColumnSilos, DirichletSilos, IidSilos, Records
from discreet.data.identity import Identities, Marks
from discreet.data.partition import Dealer, Partition
from discreet.data.pool import Pool
from discreet.errors import DataError
from discreet.randomness import SeededRandom


def pool(count: int, *, num_classes: int = 4, test: int | None = None) -> Pool:
    def part(size: int) -> Records:
        return Records(np.zeros((size, 1), np.float32), np.arange(size, dtype=np.int64) % num_classes)

    return Pool(
        name="toy",
        records=part(count),
        marks=Marks(Identities.of_places(np.arange(count)), np.arange(count)),
        num_classes=num_classes,
        test=None if test is None else part(test),
        groups={"site": (["z", "a", "m"] * count)[:count]},
    )


def deal(pool: Pool, partition: Partition, randomness: SeededRandom) -> Any:
    return Dealer(partition, randomness).deal(pool)


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(1, 12), st.sampled_from(["iid", "dirichlet"]))
def test_a_source_is_dealt_as_one_however_many_pools_it_comes_in(
    counts: list[int], silos: int, kind: str
) -> None:
    partition = IidSilos(silos) if kind == "iid" else DirichletSilos(silos, 0.5)
    whole, dealer = pool(sum(counts)), Dealer(partition, SeededRandom(4))
    _, expected, _ = deal(whole, partition, SeededRandom(4))
    found, first = [np.zeros(0, dtype=np.int64)], 0
    for count in counts:
        rows = np.arange(first, first + count)
        found.append(dealer.deal(replace(whole, records=whole.records.take(rows)))[1])
        first += count
    assert np.array_equal(np.concatenate(found), expected)


@given(st.integers(0, 100), st.integers(1, 12), st.integers(0, 999))
def test_iid_silos_are_equal_in_size_and_stable_under_more_records(count: int, silos: int, seed: int) -> None:
    names, before, _ = deal(pool(count), IidSilos(silos), SeededRandom(seed))
    _, after, _ = deal(pool(count + 7), IidSilos(silos), SeededRandom(seed))
    sizes = np.bincount(before, minlength=silos)
    assert len(names) == len(sizes) == silos
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(after[:count], before)


def test_iid_is_random_within_blocks() -> None:
    _, silos, _ = deal(pool(300), IidSilos(3), SeededRandom(1))
    assert len({tuple(block) for block in silos.reshape(-1, 3).tolist()}) == 6


def test_names_sort_as_numbers() -> None:
    names, _, _ = deal(pool(10), IidSilos(10), SeededRandom(0))
    assert names[0] == "silo-01"
    assert list(names) == sorted(names)


def test_columns_give_sorted_silos() -> None:
    names, silos, test = deal(pool(6), ColumnSilos("site"), SeededRandom(0))
    assert names == ("a", "m", "z")
    assert silos.tolist() == [2, 0, 1, 2, 0, 1]
    assert test is None


@pytest.mark.statistical
def test_dirichlet_shares_have_the_variance_of_the_law() -> None:
    # A share of a symmetric Dirichlet(alpha) over k silos has variance (k-1)/(k²(kα+1)). Over 400 classes
    # the mean of 400·4 squared deviations is within 25 % of it; observed spread about 6 %, so four sigma.
    alpha, k, classes, per_class = 0.5, 4, 400, 500
    _, silos, _ = deal(
        pool(classes * per_class, num_classes=classes), DirichletSilos(k, alpha), SeededRandom(5)
    )
    shares = np.zeros((classes, k))
    np.add.at(shares, (np.arange(classes * per_class) % classes, silos), 1.0 / per_class)
    variance = (k - 1) / (k**2 * (k * alpha + 1))
    assert np.mean((shares - 1 / k) ** 2) == pytest.approx(variance, rel=0.25)


def test_dirichlet_becomes_even_for_large_alpha_and_extreme_for_small() -> None:
    _, even, _ = deal(pool(8000, num_classes=2), DirichletSilos(4, 1e6), SeededRandom(0))
    assert np.bincount(even, minlength=4).min() > 1700
    _, skewed, _ = deal(pool(8000, num_classes=2), DirichletSilos(4, 1e-3), SeededRandom(0))
    assert np.count_nonzero(np.bincount(skewed, minlength=4) > 100) <= 2


def test_a_source_with_its_own_test_set_deals_both_by_the_same_shares() -> None:
    _, train, test = deal(pool(4000, test=4000), DirichletSilos(4, 0.2), SeededRandom(2))
    assert test is not None
    assert np.abs(np.bincount(train, minlength=4) - np.bincount(test, minlength=4)).max() < 300
    assert not np.array_equal(train, test)
    with pytest.raises(DataError, match="own test set cannot be split by column"):
        deal(pool(4, test=4), ColumnSilos("site"), SeededRandom(0))


def test_bad_partitions() -> None:
    with pytest.raises(DataError, match=r"silo column 'sit' does not exist\. Did you mean 'site'\?"):
        deal(pool(4), ColumnSilos("sit"), SeededRandom(0))
    with pytest.raises(DataError, match="number of silos must be at least 1; got 0"):
        deal(pool(4), IidSilos(0), SeededRandom(0))
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(DataError, match="'alpha' of a dirichlet partition must be positive"):
            deal(pool(4), DirichletSilos(2, bad), SeededRandom(0))
