"""A program's whole way with arrays and data sets: plan, training, verification, prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset

import discreet
from discreet.config import SpeedConfig, parse_config
from discreet.config.federation import federation_of
from discreet.data import Federation
from discreet.engines.local import run as run_config
from discreet.errors import ConfigurationError, DataError
from discreet.models import flatten
from discreet.session import Arrays, Frames, Run, Target, plan_training, train
from discreet.silo.records import load_records
from tests.support.released import weights
from tests.unit.session import own_nets

SHAPE = (4, 5)
STEP: dict[str, Any] = {"local": {"kind": "single-step"}, "privacy": {"clip_norm": 1.0}}
Silos = dict[str, tuple[np.ndarray, np.ndarray]]


def images(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 3, count)
    bytes_ = draw.integers(0, 100, (count, *SHAPE)) + 50 * labels[:, None, None]
    return bytes_.astype(np.uint8), labels


@pytest.fixture(scope="module")
def silos() -> Silos:
    return {name: images(60, seed) for seed, name in enumerate(("west", "north", "east"))}


@pytest.fixture(scope="module")
def arrays(silos: Silos) -> Arrays:
    """Arrays, tensors and a data set, one at each silo."""
    mixed: dict[str, Any] = dict(silos)
    mixed["north"] = tuple(map(torch.from_numpy, silos["north"]))
    mixed["east"] = TensorDataset(*map(torch.from_numpy, silos["east"]))
    return Arrays(mixed, num_classes=3, pixels=True)


def planned(arrays: Arrays, **settings: Any) -> discreet.Plan:
    made = {"target": Target(6.0), "rounds": 3, "model": own_nets.small, **STEP, **settings}
    return plan_training(arrays.public(capacity=70), **made)


@pytest.fixture(scope="module")
def finished(arrays: Arrays, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(planned(arrays), arrays, out=tmp_path_factory.mktemp("arrays") / "run", seed=3)


def test_planning_reads_no_record() -> None:
    class Sealed:
        shape: Any = (7, *SHAPE)
        dtype: Any = np.dtype(np.uint8)

        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"records were asked for {name}")

    class Labels(Sealed):
        shape = (7,)

    class SealedSet(Sealed):
        shape = dtype = property(lambda self: self.__getattr__("shape"))

        def __len__(self) -> int:
            return int(self.__getattr__("__len__"))

        __getitem__: Any = property(lambda self: self.__getattr__("__getitem__"))

    sealed = Arrays({"a": (Sealed(), Labels()), "b": SealedSet(), "c": SealedSet()}, num_classes=3)
    plan = planned(sealed)
    assert plan.facts.feature_shape == SHAPE
    assert plan.facts.feature_norm_bound is None
    assert plan.config.data.feature_shape == SHAPE
    assert plan.config.data.record_capacity == {"a": 70, "b": 70, "c": 70}
    bounded = Arrays(sealed.silos, num_classes=3, norm_bound=1.0)
    linear = plan_training(bounded.public(capacity=70), target=Target(6.0))
    assert linear.facts.feature_shape == (21,)
    assert linear.facts.feature_norm_bound == 1.0


def test_a_plan_is_read_back_as_it_was(arrays: Arrays, finished: Run) -> None:
    again = discreet.load_plan(finished.path / "plan.json")
    assert again.digest() == finished.plan.digest() == planned(arrays).digest()
    assert again.config.data.feature_shape == SHAPE
    assert any("arrays and data sets" in text for text in again.guarantees[0].assumptions)


@pytest.mark.parametrize("bound", [None, 1.0])
def test_arrays_train_to_the_weights_of_a_file_of_the_same_records(
    silos: Silos, tmp_path: Path, bound: float | None
) -> None:
    own = Arrays(silos, num_classes=3, pixels=True, norm_bound=bound)
    model: dict[str, Any] = {"model": "logistic", "local": None, "privacy": None} if bound else {}
    plan = planned(own, **model)
    from_arrays = train(plan, own, out=tmp_path / "arrays", seed=5)
    names = sorted(silos)
    np.savez(
        tmp_path / "all.npz",
        x=np.concatenate([silos[name][0] for name in names]),
        y=np.concatenate([silos[name][1] for name in names]),
        silo=np.repeat(names, 60),
    )
    tables = plan.config.model_dump(exclude={"speed"}, exclude_none=True)
    del tables["data"]["feature_shape"]
    tables["data"]["source"] = f"npz:{tmp_path / 'all.npz'}"
    tables["run"] = {"seed": 5}
    from_file = run_config(parse_config(tables), tmp_path / "file")
    assert from_file.plan.facts == plan.facts
    assert from_file.plan.facts.model_digest == plan.facts.model_digest
    assert weights(tmp_path / "file") == weights(tmp_path / "arrays")
    assert [one.epsilon for one in from_file.plan.guarantees] == [one.epsilon for one in plan.guarantees]
    assert from_arrays.metrics[-1]["accuracy"] == from_file.metrics["accuracy"]


def test_how_a_silo_holds_its_records_changes_no_weight(
    silos: Silos, arrays: Arrays, finished: Run, tmp_path: Path
) -> None:
    plain = Arrays(silos, num_classes=3, pixels=True)
    assert planned(plain).digest() == finished.plan.digest()
    again = train(finished.plan, plain, out=tmp_path / "run", seed=3)
    np.testing.assert_array_equal(flatten(again.model), flatten(finished.model))


def test_a_real_silo_takes_part_in_a_plan_over_arrays_with_a_file_of_its_own(
    silos: Silos, arrays: Arrays, tmp_path: Path
) -> None:
    plan = planned(arrays)
    images, labels = silos["west"]
    np.savez(tmp_path / "own.npz", x=images, y=labels)
    np.savez(tmp_path / "other.npz", x=images[:, :2], y=labels)
    (tmp_path / "own.csv").write_text("x,y\n1,0\n")
    at_silo = load_records(f"npz:{tmp_path / 'own.npz'}", plan, "west")
    rehearsed = federation_of(plan.config.data, by_silo=silos).silo("west").train
    np.testing.assert_array_equal(at_silo.features, rehearsed.features)
    np.testing.assert_array_equal(at_silo.labels, rehearsed.labels)
    with pytest.raises(DataError, match=r"the plan's shape \(4, 5\); got \(2, 5\)"):
        load_records(f"npz:{tmp_path / 'other.npz'}", plan, "west")
    with pytest.raises(DataError, match=r"must make records of its shape \(4, 5\) .* they make none"):
        load_records(f"csv:{tmp_path / 'own.csv'}", plan, "west")


def test_workers_import_a_factory_of_a_module_and_train_the_same_weights(
    arrays: Arrays, finished: Run, tmp_path: Path
) -> None:
    again = train(finished.plan, arrays, out=tmp_path / "run", seed=3, speed=SpeedConfig(workers=2))
    np.testing.assert_array_equal(flatten(again.model), flatten(finished.model))


def test_a_run_verifies_and_reports_and_is_opened_again(finished: Run) -> None:
    assert "model, state: recomputed" in [f"{one.subject}: {one.basis.value}" for one in finished.verify()]
    assert finished.report().exists()
    opened = discreet.open_run(finished.path, own_code=True)
    np.testing.assert_array_equal(flatten(opened.model), flatten(finished.model))
    with pytest.raises(ConfigurationError, match=r"'tests.unit.session.own_nets:small'.*own_code=True"):
        _ = discreet.open_run(finished.path).model


def test_predictions_read_arrays_as_training_did(silos: Silos, finished: Run) -> None:
    raw = silos["west"][0]
    outputs = finished.model(torch.from_numpy(raw.astype(np.float32) / np.float32(255))).double()
    expected = torch.softmax(outputs, dim=1).detach().numpy()
    for given in (raw, torch.from_numpy(raw), raw / 255):
        np.testing.assert_allclose(finished.predict_proba(given), expected, atol=1e-6)
    with pytest.raises(DataError, match=r"shape \(4, 5\); got \(5, 4\)"):
        finished.predict(raw.reshape(-1, 5, 4))


def test_predictions_are_scaled_where_records_were(silos: Silos, tmp_path: Path) -> None:
    own = Arrays(silos, num_classes=3, pixels=True, norm_bound=1.0)
    plan = plan_training(own.public(capacity=70), target=Target(6.0), rounds=1)
    run = train(plan, own, out=tmp_path / "run", seed=1)
    raw = silos["west"][0]
    assert run.predict_proba(raw).shape == (60, 3)
    np.testing.assert_allclose(run.predict_proba(raw), run.predict_proba(raw / 255), atol=1e-6)


def test_what_cannot_be_used_is_a_warning_with_counts(silos: Silos, tmp_path: Path) -> None:
    odd: dict[str, Any] = dict(silos)
    odd["east"] = (silos["east"][0], np.where(np.arange(60) < 2, 9, silos["east"][1]))
    own = Arrays(odd, num_classes=3, pixels=True)
    with pytest.warns(UserWarning, match=r"east: 2 of 60 labels are not in \[0, 3\)"):
        train(planned(own, rounds=1), own, out=tmp_path / "run", seed=1)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"num_classes": 4}, r"'num_classes' of the records must be the plan's, 3; got 4"),
        ({"norm_bound": 1.0}, r"'feature_norm_bound' of the records must be the plan's, None; got 1\.0"),
        ({"split_seed": 9}, r"'split_seed' of the records must be the plan's, 0; got 9"),
        ({"test_fraction": 0.5}, r"'test_fraction' of the records must be the plan's, 0\.25; got 0\.5"),
        ({"id": "patient"}, r"west: records must be \(features, labels, ids\); got a tuple of 2"),
    ],
)
def test_arrays_that_state_something_else_than_the_plan_are_refused(
    silos: Silos, arrays: Arrays, tmp_path: Path, other: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        train(
            planned(arrays),
            Arrays(silos, **{"num_classes": 3, "pixels": True, **other}),
            out=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_records_of_another_shape_or_kind_than_planned_are_refused(
    silos: Silos, arrays: Arrays, tmp_path: Path
) -> None:
    flat = Arrays(
        {name: (x.reshape(60, 20), y) for name, (x, y) in silos.items()}, num_classes=3, pixels=True
    )
    with pytest.raises(ConfigurationError, match=r"'feature_shape' of the records .*\(4, 5\); got \(20,\)"):
        train(planned(arrays), flat, out=tmp_path / "run")
    tables = Frames({name: {"x": [], "y": []} for name in silos}, label="y", ranges={"x": (0, 1)})
    with pytest.raises(ConfigurationError, match=r"'feature_shape' of the records .*\(4, 5\); got None"):
        train(planned(arrays), tables, out=tmp_path / "run")
    fewer = Arrays({name: silos[name] for name in ("east", "west")}, num_classes=3, pixels=True)
    with pytest.raises(ConfigurationError, match=r"'facts\.silos' must be .*got \('east', 'west'\)"):
        train(planned(arrays), fewer, out=tmp_path / "run")
    with pytest.raises(ConfigurationError, match="none were given for 'memory'"):
        train(planned(arrays), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


X, Y = np.zeros((3, *SHAPE)), np.zeros(3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"silos": [(X, Y)]}, r"silos must be given by silo.*got list"),
        ({"silos": {"a": TensorDataset(torch.ones(1))}}, r"feature_shape must be given .*got None"),
        (
            {"silos": {"a": (X, Y[:2])}},
            r"a: every record must have one label; got .* and \(2,\)",
        ),
        ({"silos": {}}, r"silos must be given by silo.*got none"),
        ({"silos": {"a": (X, Y), "b": (X[:, :2], Y)}}, r"b: .*the shape \(4, 5\); got \(2, 5\)"),
        ({"silos": {"a": (X, Y)}, "feature_shape": (9,)}, r"a: .*the shape \(9,\); got \(4, 5\)"),
        ({"feature_shape": (4.0, 5)}, "feature_shape.*a whole number; got 4.0"),
        ({"feature_shape": 4}, "'feature_shape': must be a list; got 4"),
        ({"num_classes": 1}, "num_classes.*got 1"),
        ({"num_classes": None}, "num_classes"),
        ({"norm_bound": 0.0}, r"feature_norm_bound.*got 0\.0"),
        ({"test_fraction": 1.0}, r"test_fraction.*got 1\.0"),
        ({"split_seed": -1}, "split_seed.*got -1"),
    ],
)
def test_a_public_fact_that_is_none_is_one_clear_line(given: dict[str, Any], message: str) -> None:
    unread = {"a": TensorDataset(torch.ones(1))}
    facts = {
        "silos": {"a": (X, Y)} if "feature_shape" not in given or given["feature_shape"] == 4 else unread
    }
    with pytest.raises(ConfigurationError, match=message) as caught:
        Arrays(**{"num_classes": 3, **facts, **given}).public(capacity=9)
    assert "\n" not in str(caught.value)


def test_capacities_must_name_the_silos(arrays: Arrays) -> None:
    with pytest.raises(ConfigurationError, match="it differs in: south"):
        arrays.public(capacity={"west": 1, "north": 1, "east": 1, "south": 1})
    with pytest.raises(ConfigurationError, match="capacity must be a whole number from 1"):
        arrays.public(capacity=0)


def test_a_shape_may_be_a_list_and_arrays_are_shown_in_one_line() -> None:
    own = Arrays({"a": (X, Y)}, num_classes=3, feature_shape=[4, 5])
    assert own.feature_shape == SHAPE
    assert repr(own) == "Arrays(a; shape (4, 5), 3 classes)"
    assert discreet.Arrays is Arrays


def test_token_ids_are_never_divided_in_silence(silos: Silos, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"model": own_nets.Tokens, "rounds": 1}
    unstated, ids = Arrays(silos, num_classes=3), Arrays(silos, num_classes=3, pixels=False)
    with pytest.raises(
        ConfigurationError, match=r"'data.pixels' must be stated .*pixels = false for token ids"
    ):
        train(planned(unstated, **asked), unstated, out=tmp_path / "run", seed=3)
    assert not (tmp_path / "run").exists()
    assert train(planned(ids, **asked), ids, out=tmp_path / "run", seed=3).metrics
    with pytest.raises(ConfigurationError, match=r"call \.long\(\) before nn\.Embedding"):
        planned(ids, model=own_nets.floats)


class Records:
    """A data set of records of one type."""

    def __init__(self, silo: tuple[Any, Any], kind: type) -> None:
        self.features, self.labels = silo[0].astype(kind), silo[1]

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int) -> tuple[Any, int]:
        return self.features[place], int(self.labels[place])


@pytest.mark.parametrize(
    ("pixels", "kind", "note"),
    [
        (
            True,
            np.int64,
            "west: 60 of 60 records: int64 is taken as it is; pixels = true divides",
        ),
        (None, np.uint8, "west: 60 of 60 records: bytes are taken for pixels and divided by 255"),
        (None, np.int64, None),
        (True, np.uint8, None),
        (False, np.int64, None),
    ],
)
def test_data_sets_are_read_as_arrays_are_and_as_loudly(
    silos: Silos, pixels: bool | None, kind: type, note: str | None
) -> None:
    def read(held: Any) -> Federation:
        own = Arrays({"west": held}, num_classes=3, pixels=pixels, feature_shape=SHAPE)
        return federation_of(own.public(capacity=70), by_silo=own.by_silo)

    one, other = read(Records(silos["west"], kind)), read((silos["west"][0].astype(kind), silos["west"][1]))
    np.testing.assert_array_equal(one.silos[0].train.features, other.silos[0].train.features)
    assert one.guessed_pixels == other.guessed_pixels == (pixels is None and kind is np.uint8)
    assert len(one.warnings) == len(other.warnings) == (note is not None)
    assert all(line.startswith(str(note)) for line in one.warnings)
