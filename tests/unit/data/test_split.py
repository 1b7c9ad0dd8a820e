"""Held-out records and surplus ones: each is decided by itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import held_out
from discreet.data.identity import Identities, Marks
from discreet.data.split import Split
from discreet.data.split import test_rows as held_out_rows
from discreet.errors import DataError

texts = st.lists(st.text(max_size=4), min_size=1, max_size=40)


@given(texts, st.data(), st.integers(0, 2**32))
def test_removing_a_record_anywhere_moves_no_other(ids: list[str], data: st.DataObject, seed: int) -> None:
    place = data.draw(st.integers(0, len(ids) - 1))
    everything = held_out_rows(Identities.of_texts(ids), test_fraction=0.5, split_seed=seed, silo="a")
    rest = Identities.of_texts(ids[:place] + ids[place + 1 :])
    fewer = held_out_rows(rest, test_fraction=0.5, split_seed=seed, silo="a")
    assert np.array_equal(np.delete(everything, place), fewer)


def test_equal_records_are_held_out_together_and_so_are_records_of_equal_id() -> None:
    features = np.repeat(np.arange(30.0)[:, None], 2, axis=0)
    labels = np.repeat(np.arange(30), 2)
    rule = {"test_fraction": 0.5, "split_seed": 3, "silo": "a"}
    chosen = held_out(features, labels, **rule)  # type: ignore[arg-type]
    assert np.array_equal(chosen[::2], chosen[1::2])
    assert 0 < chosen.sum() < 60
    named = held_out(features, labels, ids=np.arange(60) % 4, **rule)  # type: ignore[arg-type]
    assert np.array_equal(named[:4], named[4:8])
    assert not np.array_equal(named[::2], named[1::2])


def test_features_and_label_both_count() -> None:
    """The two labels of one point, and the two points of one label, have coins of their own."""
    words = {
        int(word)
        for features, label in (([[1.0]], 0), ([[1.0]], 1), ([[2.0]], 0))
        for word in Identities.of_content(np.array(features), np.array([label])).words("x")
    }
    assert len(words) == 3


def test_an_exchanged_record_stays_on_its_side() -> None:
    """A coin of the content would let a record that replaces another change sides."""
    content = Identities.of_content(np.arange(8.0)[:, None], np.zeros(8, np.int64))
    marks = Marks(content, np.arange(8))
    other = Marks(Identities.of_content(np.ones((8, 1)), np.zeros(8, np.int64)), np.arange(8))
    assert np.array_equal(marks.coins(exchanged=True).words("x"), other.coins(exchanged=True).words("x"))
    assert not np.array_equal(
        marks.coins(exchanged=False).words("x"), other.coins(exchanged=False).words("x")
    )
    named = Marks(Identities.of_texts(list("abcdefgh")), np.arange(8), named=True)
    moved = Marks(named.identities, np.arange(8) + 1, named=True)
    assert np.array_equal(named.coins(exchanged=True).words("x"), moved.coins(exchanged=True).words("x"))


def test_seed_and_silo_change_the_split() -> None:
    ids = Identities.of_places(np.arange(64))
    splits = {
        held_out_rows(ids, test_fraction=0.5, split_seed=seed, silo=silo).tobytes()
        for seed in (0, 1)
        for silo in ("a", "b")
    }
    assert len(splits) == 4


def test_the_coins_are_blake2b_of_the_identity() -> None:
    """Two programs that agree on the plan agree on the split; this value was written down once."""
    assert (
        hex(int(Identities.of_texts(["patient 7"]).words("held out", 0, "cleveland")[0]))
        == "0x397fc780e5ec0fc2"
    )


@pytest.mark.statistical
def test_the_fraction_is_met() -> None:
    # Binomial(40000, 0.25): six standard deviations, false alarm 2e-9.
    places = Identities.of_places(np.arange(40_000))
    chosen = held_out_rows(places, test_fraction=0.25, split_seed=3, silo="a").sum()
    assert abs(chosen - 10_000) <= 6 * np.sqrt(40_000 * 0.25 * 0.75)


def test_limits_of_the_fraction() -> None:
    places = Identities.of_places(np.arange(100))
    assert not held_out_rows(places, test_fraction=0.0, split_seed=0, silo="a").any()
    for bad in (-0.1, 1.0, float("nan")):
        with pytest.raises(DataError, match="test_fraction"):
            held_out_rows(places, test_fraction=bad, split_seed=0, silo="a")


@given(st.integers(2, 40), st.integers(1, 40), st.data())
def test_surplus_records_are_left_out_and_one_more_pushes_out_at_most_one(
    count: int, capacity: int, data: st.DataObject
) -> None:
    split = Split(0.25, 0, {"a": capacity})
    kept, notes = split.used(Identities.of_places(np.arange(count)), "a")
    assert kept.sum() == min(count, capacity)
    assert bool(notes) == (count > capacity)
    place = data.draw(st.integers(0, count - 1))
    fewer, _ = split.used(Identities.of_places(np.delete(np.arange(count), place)), "a")
    assert (np.delete(kept, place) != fewer).sum() <= 1
    assert split.used(Identities.of_places(np.arange(count)), "b")[0].all()
