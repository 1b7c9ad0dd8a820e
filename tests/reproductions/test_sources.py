"""The reproductions' own data sources: silos that overlap as stated, roles that are clients."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
from dp_accounting.rdp import RdpAccountant

from discreet.config import load_config
from discreet.models import build_model
from discreet.randomness import SeededRandom

ROOT = Path(__file__).parents[2] / "reproductions"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    """Imports a module of the reproductions by its path, as the catalogue lets configs do."""
    monkeypatch.syspath_prepend(str(ROOT))

    def loaded(path: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, Path(path).stem, module)
        spec.loader.exec_module(module)
        return module

    yield loaded
    sys.modules.pop("local_dp", None)


@pytest.mark.parametrize("silos", [10, 25, 100])
def test_every_image_is_in_a_tenth_of_the_silos(load: Any, silos: int) -> None:
    rows = load("overlapping.py").deals(600, silos, SeededRandom(1))
    assert [len(part) for part in rows] == [60] * silos
    assert all(len(np.unique(part)) == 60 for part in rows)
    holders = np.bincount(np.concatenate(rows), minlength=600)
    assert set(holders.tolist()) <= {silos // 10, -(-silos // 10)}
    assert not np.array_equal(rows[0], np.sort(rows[0]))


def test_overlapping_silos_hold_images_or_features(load: Any) -> None:
    records = load("overlapping.py").records
    labels = np.zeros(2, np.uint8)
    images = records(np.array([[[0, 255]], [[51, 0]]], np.uint8), labels).features
    assert images.tolist() == [[[0.0, 1.0]], [[pytest.approx(0.2), 0.0]]]
    features = records(np.array([[[1, 2]], [[3, 0]]], np.float16), labels).features
    assert features.shape == (2, 3)
    assert np.linalg.norm(features, axis=1) == pytest.approx([63.0, 63.0])


@pytest.mark.parametrize("path", ["p3-mnist/mnist.toml", "p2-grid/silos.toml", "p2-grid/secure_sum.toml"])
def test_configs_that_name_the_whole_file_have_room_for_it(path: str) -> None:
    """`discreet run` takes them as they are: MNIST's 60,000 training images, dealt out evenly."""
    data = load_config(ROOT / path).data
    assert cast(Any, data.record_capacity) * cast(Any, data.partition).silos >= 60_000


def test_schedules_pass_over_the_records_as_often_whatever_the_rounds(load: Any) -> None:
    schedule = load("local_dp.py").Schedule
    passes = []
    for epochs, rounds in ((1, 20), (4, 5), (20, 1)):
        changes = schedule(epochs, rounds, batch=250, records=6000).changes()
        steps, prob = changes["training.local"]["steps"], changes["training.sampling"]["probability"]
        passes.append(rounds * steps * prob)
    assert passes == pytest.approx([20.0] * 3)


@pytest.mark.parametrize(("stated", "tight"), [(2.93, 2.623), (2.7, 2.427), (1.2, 1.093)])
def test_the_papers_noise_is_what_renyi_accounting_asks_for(load: Any, stated: float, tight: float) -> None:
    local_dp = load("local_dp.py")
    schedule = local_dp.Schedule(epochs=1, rounds=20, batch=50, records=6000)
    noise = local_dp.paper_noise(stated, schedule)
    reference = RdpAccountant()
    steps = PoissonSampledDpEvent(50 / 6000, GaussianDpEvent(noise.multiplier))
    reference.compose(SelfComposedDpEvent(steps, 2400))
    assert reference.get_epsilon(local_dp.DELTA) == pytest.approx(stated, rel=1e-3)
    assert noise.epsilon == pytest.approx(tight, abs=1e-3)
    assert local_dp.paper_noise(stated, local_dp.Schedule(20, 1, 50, 6000)) == noise


def test_roles_hold_windows_of_their_own_text(
    load: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    speeches = [("p", "A", "ab" * 100), ("q", "A", "xyz" * 60), ("p", "A", "!"), ("p", "B", "too short")]
    with gzip.open(tmp_path / "shakespeare_roles.csv.gz", "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("play_id", "role", "text"))
        writer.writerows(speeches)
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    roles = load("p3-shakespeare/roles.py")
    federation = roles.roles(2, 5, 40, test_fraction=0.25, split_seed=3)
    assert sorted(federation.silo_names) == ["p: A", "q: A"]
    for silo in federation.silos:
        assert (len(silo.train), len(silo.test)) == (40, 10)
    (xyz,) = (silo for silo in federation.silos if silo.name == "q: A")
    code = {character: number + 1 for number, character in enumerate(roles.ALPHABET)}
    follows = {code["x"]: code["y"], code["y"]: code["z"], code["z"]: code["x"]}
    for window, label in zip(xyz.train.features.astype(int).tolist(), xyz.train.labels, strict=True):
        assert [follows[character] for character in window] == [*window[1:], label]


def test_small_network_takes_windows_of_characters(load: Any) -> None:
    load("p3-shakespeare/roles.py")
    model = build_model("roles:small_lstm", (20,), 69, seed=0)
    assert sum(weights.numel() for weights in model.parameters()) == 8205
