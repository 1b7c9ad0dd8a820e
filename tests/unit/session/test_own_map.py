"""Feature maps over arrays in memory: bundled ones and one's own, each record by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_data
from discreet.errors import ConfigurationError
from discreet.models.own_map import OwnMap
from discreet.models.transforms import PublicMap
from discreet.session import Arrays, Target, open_run, plan_training, train
from tests.unit.session import own_maps

SHAPE = (3, 4)
HERE = "tests.unit.session.own_maps"
CLIPPED = {"kind": "clipped-update", "learning_rate": 0.1}
ASSUMED = "the feature map that the plan names is a function of one record alone"


def arrays(features: Any, shape: tuple[int, ...] = SHAPE) -> Arrays:
    draw = np.random.default_rng(0)
    silos = {
        name: (draw.normal(size=(40, *shape)).astype(np.float32), np.arange(40) % 2)
        for name in ("a", "b", "c")
    }
    return Arrays(silos, num_classes=2, features=features)


def plan(held: Arrays, **settings: Any) -> Any:
    return plan_training(held.public(capacity=50), **{"target": Target(4.0), "rounds": 2, **settings})


def test_ones_own_map_plans_trains_and_predicts(tmp_path: Path) -> None:
    held = arrays(own_maps.edges)
    planned = plan(held)
    assert planned.data.transform == f"map:{HERE}:edges"
    assert planned.facts.feature_shape == (2 * 4 + 1 + 1,)
    assert planned.facts.feature_norm_bound == 1.0
    run = train(planned, held, out=tmp_path / "run", seed=1)
    run.verify()
    unseen = held.silos["a"][0]
    by_hand = PublicMap(f"map:{HERE}:edges", 1.0).features(unseen)
    assert np.linalg.norm(by_hand.astype(np.float64), axis=1).max() <= 1.0
    again = open_run(tmp_path / "run", own_code=True)
    np.testing.assert_array_equal(again.predict_proba(unseen), run.predict_proba(unseen))
    np.testing.assert_allclose(run.predict_proba(unseen[:1]), run.predict_proba(unseen)[:1])
    with pytest.raises(ConfigurationError, match="feature map must be imported by your leave"):
        open_run(tmp_path / "run").predict(unseen)


@pytest.mark.parametrize("unit", ["record", "client"])
def test_what_ones_own_map_promises_is_assumed_for_every_unit(unit: Any) -> None:
    settings = {} if unit == "record" else {"local": CLIPPED, "privacy": {"clip_norm": 1.0}}
    planned = plan(arrays(own_maps.edges), target=Target(30.0, unit=unit), **settings)
    assert all(any(text.startswith(ASSUMED) for text in row.assumptions) for row in planned.guarantees)


@pytest.mark.parametrize(
    ("name", "shape", "found"), [("centred-pixels", (8, 8), (65,)), ("scattering", (16, 16), (81 * 16 + 1,))]
)
def test_bundled_maps_suit_arrays(name: str, shape: tuple[int, ...], found: tuple[int, ...]) -> None:
    planned = plan(arrays(name, shape))
    assert planned.facts.feature_shape == found
    assert not any(text.startswith(ASSUMED) for row in planned.guarantees for text in row.assumptions)


def test_records_of_another_map_than_planned_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="'transform' of the records must be the plan's"):
        train(plan(arrays(own_maps.edges)), arrays(own_maps.spoils), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_record_on_which_a_map_fails_harms_no_other(tmp_path: Path) -> None:
    good = np.zeros((4, *SHAPE), dtype=np.float32) + 0.5
    crafted = good.copy()
    crafted[:3, 0, 0] = (1, 2, 3)
    found = PublicMap(f"map:{HERE}:unruly", 1.0).features(crafted)
    np.testing.assert_array_equal(found[3], PublicMap(f"map:{HERE}:unruly", 1.0).features(good)[3])
    np.testing.assert_allclose(found[:3], [[0.0, 0.0, 0.0, 1.0]] * 3, rtol=1e-6)
    silos = {"a": (crafted, np.arange(4) % 2), "b": (good, np.arange(4) % 2), "c": (good, np.arange(4) % 2)}
    held = Arrays(silos, num_classes=2, features=own_maps.unruly)
    with pytest.warns(UserWarning, match=r"for 3 records it raised, or gave no vector of 3 numbers"):
        train(plan(held), held, out=tmp_path / "run", seed=1)


def test_a_map_cannot_write_into_a_record() -> None:
    records = np.ones((2, *SHAPE), dtype=np.float32)
    OwnMap.of(f"{HERE}:spoils", SHAPE)(records)
    assert (records == 1.0).all()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda record: record, r"the feature map must be importable by its name; .*Give a function of one"),
        (own_maps.no_vector, r"for one of zeros it raised ValueError: it returned the shape \(3, 4\)"),
        ("map:nowhere:edges", "Cannot import feature map 'nowhere:edges'"),
        ("residual:weights.npz", "must be without a network's file"),
        ("unknown", "transform"),
    ],
)
def test_what_is_no_map_is_refused(features: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        plan(arrays(features))


def test_ones_own_map_is_for_arrays_alone() -> None:
    with pytest.raises(ConfigurationError, match="must be for arrays that a program hands over"):
        parse_data({"source": "digits", "transform": "map:mine:edges"})
