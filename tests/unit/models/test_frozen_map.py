"""Frozen networks as feature maps: each record by itself, and never another network than was agreed."""

from __future__ import annotations

import hashlib
import signal
import stat
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from discreet.config import parse_config, parse_data
from discreet.config.federation import federation_of
from discreet.data.feature_cache import FeatureCache
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.models.frozen_map import FrozenMap
from discreet.models.public_weights import PublicWeights
from discreet.models.transforms import PublicMap
from discreet.silo.policy import PolicyRefusal
from discreet.silo.records import load_records

HERE = "tests.unit.models.test_frozen_map"
RECORDS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


class Panic(BaseException):
    """As compiled extensions raise it, which is no ``Exception``."""


class Picky(nn.Module):
    """Raises for a crafted record, and would mix the records of a batch; counts how often it was asked."""

    asked = 0

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        Picky.asked += 1
        if bool((records == 100.0).any()):
            raise RuntimeError("crafted")
        if bool((records == -100.0).any()):
            raise Panic
        if bool((records == 70.0).any()):
            raise KeyboardInterrupt
        if bool((records == 50.0).any()):
            return torch.complex(records[:, :2], records[:, :2])
        answer: torch.Tensor = self.norm(self.layer(records)) * records.mean()
        return answer


class Forgetful(Picky):
    """Answers otherwise the second time."""

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        return super().forward(records) + Picky.asked


def picky(feature_shape: tuple[int, ...]) -> nn.Module:
    return Picky()


def picky_too(feature_shape: tuple[int, ...]) -> nn.Module:
    return Picky()


def forgetful(feature_shape: tuple[int, ...]) -> nn.Module:
    return Forgetful()


def no_vector(feature_shape: tuple[int, ...]) -> nn.Module:
    return nn.Sequential(Picky(), nn.Unflatten(1, (2, 1)))


instance, part = nn.Linear(3, 2), partial(picky)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def stored(path: Path, network: nn.Module) -> PublicWeights:
    save_file(network.state_dict(), path)
    return PublicWeights(str(path), sha256(path))


@pytest.fixture
def weights(tmp_path: Path) -> PublicWeights:
    torch.manual_seed(3)
    return stored(tmp_path / "picky.safetensors", Picky())


def test_a_network_answers_with_its_file_and_its_running_statistics(weights: PublicWeights) -> None:
    network = Picky()
    network.load_state_dict(dict(weights.tensors()))
    expected = [network.eval()(torch.from_numpy(one[None])).detach()[0].numpy() for one in RECORDS]
    found = FrozenMap.network(f"{HERE}:picky", weights, (3,))(RECORDS)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_no_record_hears_of_another_even_if_the_network_raises_or_would_mix_them(
    weights: PublicWeights,
) -> None:
    found, crafted = FrozenMap.network(f"{HERE}:picky", weights, (3,)), RECORDS.copy()
    crafted[2], crafted[4], crafted[0] = 100.0, -100.0, 50.0
    answers, before = found(crafted), found(RECORDS)
    np.testing.assert_array_equal(np.delete(answers, [0, 2, 4], axis=0), np.delete(before, [0, 2, 4], axis=0))
    np.testing.assert_array_equal(found(RECORDS[3:4]), before[3:4])
    assert (answers[[0, 2, 4]] == 0.0).all()
    assert found.unusable == 3


def test_an_interrupt_is_the_records_where_ctrl_c_raises_none(weights: PublicWeights) -> None:
    """A serving silo would take part without any record, for the sake of one."""
    found, crafted = FrozenMap.network(f"{HERE}:picky", weights, (3,)), RECORDS.copy()
    crafted[2] = 70.0
    with pytest.raises(KeyboardInterrupt):
        found(crafted)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        answers = found(crafted)
    finally:
        signal.signal(signal.SIGINT, before)
    np.testing.assert_array_equal(np.delete(answers, 2, axis=0), np.delete(found(RECORDS), 2, axis=0))
    assert (answers[2] == 0.0).all()


def test_who_uses_a_model_is_told_once_of_records_without_features(weights: PublicWeights) -> None:
    made, crafted = PublicMap(f"network:{HERE}:picky", None, weights), RECORDS.copy()
    crafted[2] = 100.0
    assert np.linalg.norm(made.features(crafted), axis=1).max() <= 1.0
    (note,) = made.notes()
    assert note.startswith(f"feature map '{HERE}:picky': for 1 records it raised")
    made.features(RECORDS)
    assert made.notes() == ()


def test_weights_in_half_precision_are_loaded_exactly(tmp_path: Path) -> None:
    halves = {name: value.bfloat16() for name, value in Picky().state_dict().items() if "num" not in name}
    path = tmp_path / "half.safetensors"
    save_file(halves | {"norm.num_batches_tracked": torch.tensor(0)}, path)
    whole = stored(tmp_path / "whole.safetensors", _widened(halves))
    half = PublicWeights(str(path), sha256(path))
    first, second = (FrozenMap.network(f"{HERE}:picky", one, (3,))(RECORDS) for one in (half, whole))
    np.testing.assert_array_equal(first, second)


def _widened(halves: dict[str, torch.Tensor]) -> nn.Module:
    network = Picky()
    network.load_state_dict({name: value.float() for name, value in halves.items()}, strict=False)
    return network


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("forgetful", "must answer a record alike whatever it was asked before"),
        ("instance", "must be a function or a class.*got an object of the type Linear"),
        ("part", "must be a function or a class.*got an object of the type partial"),
        ("sha256", "must make a network for records of shape"),
    ],
)
def test_what_keeps_something_or_is_no_factory_is_refused(
    factory: str, message: str, weights: PublicWeights
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FrozenMap.network(f"{HERE}:{factory}", weights, (3,))


def document(tmp_path: Path, weights: PublicWeights) -> dict[str, Any]:
    path = tmp_path / "records.npz"
    np.savez(path, x=np.tile(RECORDS, (8, 1)), y=np.arange(40) % 2)
    stated = {"file": weights.path, "sha256": weights.sha256, "source": "here", "licence": "none"}
    return {
        "source": f"npz:{path}",
        "num_classes": 2,
        "partition": {"kind": "iid", "silos": 2},
        "transform": f"network:{HERE}:picky",
        "pretrained": stated,
    }


PROBES = 20


def test_features_are_made_once_and_kept_for_their_owner_alone(
    tmp_path: Path, weights: PublicWeights
) -> None:
    data, kept = parse_data(document(tmp_path, weights)), tmp_path / "state" / "features"
    first = federation_of(data, cache=kept)
    (file,) = kept.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, kept)] == [0o600, 0o700]
    Picky.asked = 0
    again = federation_of(data, cache=kept)
    assert Picky.asked == PROBES, "public records, and no other"
    np.testing.assert_array_equal(first.silos[0].train.features, again.silos[0].train.features)
    federation_of(data.model_copy(update={"feature_norm_bound": 2.0}), cache=kept)
    assert not file.exists(), "another bound makes other features, and the last are forgotten"


def _longer(features: Any) -> Any:
    return features * np.float32(1.01)


def _not_finite(features: Any) -> Any:
    return np.where(np.arange(len(features))[:, None] == 1, np.float32("nan"), features)


@pytest.mark.parametrize(
    "damage", [_longer, _not_finite, np.float64, lambda found: found[:, 1:], lambda found: found[1:]]
)
def test_kept_features_that_are_not_as_they_must_be_are_made_anew(
    damage: Callable[[Any], Any], tmp_path: Path, weights: PublicWeights
) -> None:
    data, kept = parse_data(document(tmp_path, weights)), tmp_path / "features"
    first = federation_of(data, cache=kept)
    (file,) = kept.iterdir()
    np.save(file, damage(np.load(file)))
    again = federation_of(data, cache=kept)
    np.testing.assert_array_equal(first.silos[0].train.features, again.silos[0].train.features)


@pytest.mark.parametrize("head", [b"PK\x03\x04", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'shape': (", b""])
def test_damaged_files_of_features_are_made_anew(head: bytes, tmp_path: Path, weights: PublicWeights) -> None:
    data, kept = parse_data(document(tmp_path, weights)), tmp_path / "features"
    first = federation_of(data, cache=kept)
    (file,) = kept.iterdir()
    file.write_bytes(head + file.read_bytes()[len(head) :] if head else b"")
    again = federation_of(data, cache=kept)
    np.testing.assert_array_equal(first.silos[0].train.features, again.silos[0].train.features)


def test_a_full_disk_keeps_nothing_of_those_who_left_and_decides_nothing(
    tmp_path: Path, weights: PublicWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    data, kept = parse_data(document(tmp_path, weights)), tmp_path / "features"
    federation_of(data, cache=kept)
    np.savez(tmp_path / "records.npz", x=np.tile(RECORDS, (8, 1))[1:], y=np.arange(39) % 2)
    with monkeypatch.context() as undo:
        undo.setattr(np, "save", full)
        (note,) = [text for text in federation_of(data, cache=kept).warnings if "must be kept" in text]
    assert "No space left" in note
    assert not [file for file in kept.iterdir() if file.suffix == ".npy"]
    federation_of(data, cache=kept)
    assert [file.suffix for file in kept.iterdir()] == [".npy"], "what was half written is gone as well"


def test_the_features_of_held_out_records_are_kept_beside_the_others(
    tmp_path: Path, weights: PublicWeights
) -> None:
    data, kept = parse_data(document(tmp_path, weights)), tmp_path / "features"
    held_out = data.model_copy(update={"asked": "held-out"})
    for one in (data, held_out):
        federation_of(one, cache=kept)
    Picky.asked = 0
    for one in (data, held_out):
        federation_of(one, cache=kept)
    assert Picky.asked == 2 * PROBES
    np.savez(tmp_path / "records.npz", x=np.tile(RECORDS, (8, 1))[1:], y=np.arange(39) % 2)
    federation_of(data, cache=kept)
    assert not (kept / "held-out").exists(), "who left the records may have been held out"


def test_another_record_has_another_place(tmp_path: Path) -> None:
    cache, changed = FeatureCache(tmp_path, "made by"), RECORDS.copy()
    changed[0, 0] += 1.0
    parts = [[RECORDS], [changed], [RECORDS[1:]], [RECORDS[:2], RECORDS[2:]]]
    assert len({cache.place(part) for part in parts}) == 4
    assert cache.place([RECORDS]) != FeatureCache(tmp_path, "made by others").place([RECORDS])


HELPER = "def factor():\n    return {}\n"
NETWORK = """
import torch
from torch import nn
from {helper} import factor

class Net(nn.Linear):
    def forward(self, records):
        return super().forward(records) * factor()

def one(shape):
    return Net(3, 2)

def two(shape):
    return Net(3, 2)
"""


ENCODER = """
from torch import nn
from a_preparation import prepared

class Net(nn.Linear):
    def forward(self, records):
        return super().forward(prepared(records))

def made(shape):
    return Net(3, 2)
"""


def test_a_silo_keeps_and_finds_features_of_the_planned_map_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both codes answer records above 0 alike, and other records otherwise."""

    def code(of: str) -> None:
        (tmp_path / "a_preparation.py").write_text(f"def prepared(records):\n    return {of}\n")
        for name in ("a_preparation", "an_encoder"):
            sys.modules.pop(name, None)

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "an_encoder.py").write_text(ENCODER)
    table = document(tmp_path, stored(tmp_path / "net.safetensors", nn.Linear(3, 2)))
    table |= {
        "partition": {"kind": "iid", "silos": 3},
        "transform": "network:an_encoder:made",
        "record_capacity": 40,
    }
    np.savez(tmp_path / "records.npz", x=-np.abs(np.tile(RECORDS, (8, 1))), y=np.arange(40) % 2)
    code("records")
    plan = prepare(
        parse_config(
            {
                "data": table,
                "training": {"rounds": 1, "local": {"kind": "stable-steps"}},
                "privacy": {"epsilon": 8.0, "delta": 1e-5},
            }
        )
    ).plan
    read, kept = partial(load_records, table["source"], plan, plan.facts.silos[0]), tmp_path / "kept"
    code("records.clamp(min=0)")
    with pytest.raises(PolicyRefusal, match="must be the feature map that the plan was made with"):
        read(cache=kept)
    assert not kept.exists(), "no record was mapped"
    other = federation_of(parse_data(table | {"partition": None}), silo=plan.facts.silos[0], cache=kept)
    code("records")
    found = read(cache=kept).features
    np.testing.assert_array_equal(found, read().features)
    assert not np.array_equal(found, other.silos[0].train.features[: len(found)])


def test_what_decides_features_decides_where_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Name, weights, the factory's file, and, by answers to public records, the code that this imports."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    torch.manual_seed(0)
    first, second = (stored(tmp_path / f"{name}.safetensors", nn.Linear(3, 2)) for name in "ab")

    def made_of(
        spec: str = "a_network:one", weights: PublicWeights = first, text: str = "", by: int = 2
    ) -> str:
        (tmp_path / "a_helper.py").write_text(HELPER.format(by))
        (tmp_path / "a_network.py").write_text(NETWORK.format(helper="a_helper") + text)
        for name in ("a_helper", "a_network"):
            sys.modules.pop(name, None)
        return FrozenMap.network(spec, weights, (3,)).made_of

    others = [made_of("a_network:two"), made_of(weights=second), made_of(text="# more\n"), made_of(by=3)]
    assert len({made_of(), *others}) == 5
    assert made_of() == made_of()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pretrained": None}, "'pretrained' must state the public weights of 'network:"),
        ({"transform": "onnx:f.onnx"}, r"'pretrained\.file' must be left out"),
        ({"transform": "scattering"}, "'pretrained' must be left out where no network makes features"),
        ({"transform": f"network:{HERE}:no_vector"}, r"must give one vector for a record.*\(1, 2, 1\)"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path, weights: PublicWeights
) -> None:
    table = document(tmp_path, weights) | changes
    if "vector" in message:
        weights = stored(tmp_path / "other.safetensors", no_vector((3,)))
        table["pretrained"] |= {"file": weights.path, "sha256": weights.sha256}
    stated = {key: value for key, value in table.items() if value}
    with pytest.raises(ConfigurationError, match=message):
        federation_of(parse_data(stated))
