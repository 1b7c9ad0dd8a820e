"""Arrays and data sets in memory: read by the rules of npz files, each silo and each record by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from discreet.data import Federation, PublicFacts, load_federation
from discreet.data.array_source import ArrayFacts, features_in_memory
from discreet.errors import DataError

FACTS = PublicFacts(feature_shape=(2, 3), num_classes=3)


class Listed(Dataset[Any]):
    """A map-style data set; a record that is an exception is raised."""

    def __init__(self, records: list[Any]) -> None:
        self.records = records

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, place: int) -> Any:
        if isinstance(self.records[place], Exception):
            raise self.records[place]
        return self.records[place]


def load(by_silo: dict[str, Any], facts: PublicFacts = FACTS, **settings: Any) -> Federation:
    settings = {"test_fraction": 0.0, **settings}
    return load_federation("memory", facts=facts, by_silo=by_silo, **settings)


def records(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.normal(size=(count, 2, 3)), draw.integers(0, 3, count)


TYPES = ["u1", "i1", "i8", "u2", "f2", "f4", "f8", "g", ">f4"]


@pytest.mark.parametrize("bound", [None, 2.0])
@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_tensors_and_data_sets_are_read_as_a_file_of_the_same_records(
    tmp_path: Path, dtype: str, bound: float | None
) -> None:
    draw = np.random.default_rng(1)
    x, y = draw.integers(0, 120, (40, 2, 3)).astype(dtype), draw.integers(-1, 4, 40)
    where = np.repeat(["a", "b"], 20)
    np.savez(tmp_path / "all.npz", x=x, y=y, silo=where)
    given = PublicFacts(num_classes=3, feature_norm_bound=bound)
    stated = PublicFacts(num_classes=3, feature_norm_bound=bound, feature_shape=(2, 3))
    file = load_federation(f"npz:{tmp_path / 'all.npz'}", facts=given, test_fraction=0.3, split_seed=4)
    silos = {name: (x[where == name], y[where == name]) for name in "ab"}
    ways: list[dict[str, Any]] = [
        silos,
        {name: Listed(list(zip(*own, strict=True))) for name, own in silos.items()},
    ]
    if dtype not in ("u2", "g", ">f4"):  # types that torch has
        ways.append(
            {name: (torch.from_numpy(own[0]), torch.from_numpy(own[1])) for name, own in silos.items()}
        )
        ways.append({name: TensorDataset(*map(torch.from_numpy, own)) for name, own in silos.items()})
    for way in ways:
        memory = load(way, stated, test_fraction=0.3, split_seed=4)
        assert memory.silo_names == file.silo_names
        assert memory.feature_shape == file.feature_shape
        for one, other in zip(memory.silos, file.silos, strict=True):
            for part in ("train", "test"):
                np.testing.assert_array_equal(getattr(one, part).features, getattr(other, part).features)
                np.testing.assert_array_equal(getattr(one, part).labels, getattr(other, part).labels)


def test_numbers_and_labels_that_cannot_be_used_are_counted_by_silo() -> None:
    (x, y), other = records(5), records(4)
    x[1, 0, 0], x[2] = np.nan, np.inf
    labels = y.astype(float)
    labels[3:] = 0.5, 7
    found = load({"north": (x, labels), "south": other})
    assert found.warnings == (
        "north: 2 of 5 records hold NaN or Inf, which count as 0.",
        "north: 2 of 5 labels are not in [0, 3); these records are left out.",
    )
    assert len(found.silo("north").train) == 3
    assert found.silo("north").train.features[1, 0, 0] == 0.0
    assert (found.silo("north").train.features[2] == 0.0).all()


def test_records_of_a_data_set_that_cannot_be_read_are_left_out_and_counted() -> None:
    fine = np.ones((2, 3))
    own = Listed([
        (fine, 1), OSError("gone"), None, (fine,), (fine, 1, 2), (np.ones((3, 2)), 1), (np.ones(6), 1),
        (np.full((2, 3), "x"), 1), (fine.astype(complex), 1), (fine, "sick"), (fine, [0, 1]), (fine, 10**400),
        ((fine * 51).astype(np.uint8), np.int8(2)), (fine.tolist(), torch.tensor([0])),
    ])  # fmt: skip
    found = load({"north": own})
    assert found.warnings == (
        "north: 1 of 14 records: bytes are taken for pixels and divided by 255. Set pixels = true if so; or "
        "pixels = false for whole numbers such as token ids.",
        "north: 11 of 14 records cannot be read as (features, labels) of shape (2, 3) "
        "(DataError, OSError, TypeError, ValueError); they are left out.",
    )
    train = found.silo("north").train
    assert train.labels.tolist() == [1, 2, 0]
    assert train.features[:, 0, 0].tolist() == [1.0, np.float32(0.2), 1.0]


def test_an_interrupt_is_no_record() -> None:
    class Stopped(Listed):
        def __getitem__(self, place: int) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load({"north": Stopped([1])})


def test_tensors_with_gradients_and_of_bfloat16_are_read() -> None:
    features = torch.ones(4, 2, 3, dtype=torch.bfloat16, requires_grad=True)
    found = load({"a": (features, torch.zeros(4)), "b": Listed([(features[0], torch.tensor(1))])})
    assert [silo.train.features.sum() for silo in found.silos] == [24.0, 6.0]


def test_a_silo_without_a_record_takes_part() -> None:
    found = load({"a": (np.empty((0, 2, 3)), np.empty(0)), "b": Listed([]), "c": records(3)})
    assert [len(silo.train) for silo in found.silos] == [0, 0, 3]


def test_lone_numbers_are_records_of_one_feature() -> None:
    one = PublicFacts(feature_shape=(1,), num_classes=3)
    found = load({"a": (np.arange(3.0), np.zeros(3)), "b": Listed([(2.5, 0), (np.float32(3.5), 1)])}, one)
    assert [silo.train.features.tolist() for silo in found.silos] == [[[0.0], [1.0], [2.0]], [[2.5], [3.5]]]


def test_records_of_one_id_are_held_out_together_however_they_are_given() -> None:
    named = PublicFacts(feature_shape=(2, 3), num_classes=3, id="patient")
    (x, y), people = records(60), np.repeat(np.arange(20), 3)
    arrays = load({"north": (x, y, people)}, named, test_fraction=0.4)
    triples = list(zip(x, y, [float(one) for one in people], strict=True))
    dataset = load({"north": Listed([None, *triples])}, named, test_fraction=0.4)
    texts = load({"north": (x, y, [str(one) for one in people])}, named, test_fraction=0.4)
    held_out = arrays.silo("north").test.features
    assert 0 < len(held_out) < 60
    assert len(held_out) % 3 == 0
    for other in (dataset, texts):
        np.testing.assert_array_equal(other.silo("north").test.features, held_out)


@pytest.mark.parametrize("as_arrays", [True, False])
def test_one_silos_records_move_no_coin_of_another(as_arrays: bool) -> None:
    """Under replace-one a coin belongs to a place, which is counted in each silo by itself."""

    def held(count: int, seed: int) -> Any:
        own = records(count, seed)
        return own if as_arrays else Listed(list(zip(*own, strict=True)))

    few = load({"a": held(10, 1), "b": held(30, 2)}, test_fraction=0.4, exchanged=True)
    many = load({"a": held(11, 1), "b": held(30, 2)}, test_fraction=0.4, exchanged=True)
    np.testing.assert_array_equal(few.silo("b").test.features, many.silo("b").test.features)


def test_a_record_that_is_left_out_keeps_its_place() -> None:
    own = list(zip(*records(40), strict=True))
    whole = load({"a": Listed(own)}, test_fraction=0.4, exchanged=True)
    gap = load({"a": Listed([None, *own[1:]])}, test_fraction=0.4, exchanged=True)
    rows = {row.tobytes() for row in gap.silo("a").test.features}
    assert {row.tobytes() for row in whole.silo("a").test.features} - rows <= {
        own[0][0].astype(np.float32).tobytes()
    }


class Endless(IterableDataset[Any]):
    def __iter__(self) -> Any:
        return iter(())


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ([np.ones((4, 2, 3)), np.ones(4)], r"tuple \(features, labels\) of arrays.*got list"),
        ({"x": 1}, r"got dict\. Tables are for discreet\.Frames"),
        (np.ones((4, 2, 3)), "got ndarray"),
        (torch.ones(4, 2, 3), "got Tensor"),
        ("x.npz", "got str"),
        (7, "got int"),
        (Endless(), "has a length; got Endless"),
        ((np.ones((4, 2, 3)),), r"must be \(features, labels\); got a tuple of 1"),
        ((np.ones((4, 2, 3)), np.ones(4), np.ones(4)), r"must be \(features, labels\); got a tuple of 3"),
        (([[[1.0]]], np.ones(1)), "must be arrays or tensors; got list"),
        ((np.ones((4, 2, 3)), [0, 1, 0, 1]), "must be arrays or tensors; got list"),
        ((np.ones((4, 2, 3)), np.ones(3)), r"one label; got shapes \(4, 2, 3\) and \(3,\)"),
        ((np.ones((4, 2, 3)), np.ones((4, 1))), r"one label; got shapes \(4, 2, 3\) and \(4, 1\)"),
        ((np.ones((4, 3, 2)), np.ones(4)), r"the shape \(2, 3\); got \(3, 2\)"),
        ((np.ones((4, 2, 3), complex), np.ones(4)), "real numbers .*got complex128 and float64"),
        ((np.ones((4, 2, 3)), np.array(list("abcd"))), "got float64 and <U1"),
        ((np.full((4, 2, 3), None), np.ones(4)), "got object and float64"),
    ],
)  # fmt: skip
def test_what_no_record_decides_is_refused_in_one_line(held: Any, message: str) -> None:
    with pytest.raises(DataError, match=f"^north: .*{message}"):
        load({"north": held})


def test_ids_must_be_as_many_as_records() -> None:
    named = PublicFacts(feature_shape=(2, 3), num_classes=3, id="patient")
    with pytest.raises(DataError, match=r"one 'patient' for each of 4 records; got 3"):
        load({"north": (*records(4), np.arange(3))}, named)
    with pytest.raises(DataError, match=r"\(features, labels, ids\); got a tuple of 2"):
        load({"north": records(4)}, named)


def test_the_number_of_classes_must_be_stated() -> None:
    with pytest.raises(DataError, match="num_classes must be given for arrays"):
        load({"north": records(4)}, PublicFacts(feature_shape=(2, 3)))


def test_features_alone_are_read_by_the_same_rules() -> None:
    raw = np.array([[[0, 51, 255]] * 2], dtype=np.uint8)
    plain = features_in_memory(torch.from_numpy(raw), ArrayFacts((2, 3), 2))
    assert plain[0, 0].tolist() == [0.0, np.float32(0.2), 1.0]
    bounded = features_in_memory(np.full((5, 2, 3), np.nan), ArrayFacts((2, 3), 2, 1.0))
    assert bounded.shape == (5, 7)
    assert bounded[0, :6].tolist() == [0.0] * 6
    assert 0.999 < bounded[0, 6] <= 1.0
    with pytest.raises(DataError, match=r"the shape \(2, 3\); got \(3,\)"):
        features_in_memory(np.ones((4, 3)), ArrayFacts((2, 3), 2))
    with pytest.raises(DataError, match="real numbers; got bool"):
        features_in_memory(np.ones((4, 2, 3), bool), ArrayFacts((2, 3), 2))
