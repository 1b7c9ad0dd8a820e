"""Frozen networks as feature maps: each record by itself, and never another network than was agreed."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, save_model
from safetensors.torch import save_file
from torch import nn

from discreet.config import parse_data
from discreet.config.federation import federation_of
from discreet.data.feature_cache import FeatureCache
from discreet.errors import ConfigurationError
from discreet.models.frozen_map import FrozenMap
from discreet.models.public_weights import PublicWeights

HERE = "tests.unit.models.test_frozen_map"
RECORDS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


class Picky(nn.Module):
    """Raises for a whole batch if one record is crafted; counts how often it was asked."""

    asked = 0

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(3, 2), nn.BatchNorm1d(2)

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        Picky.asked += 1
        if bool((records > 50).any()):
            raise RuntimeError("crafted")
        answer: torch.Tensor = self.norm(self.layer(records))
        return answer


class Mixes(Picky):
    def forward(self, records: torch.Tensor) -> torch.Tensor:
        answer: torch.Tensor = self.layer(records - records.mean(dim=0))
        return answer


def picky(feature_shape: tuple[int, ...]) -> nn.Module:
    return Picky()


def mixes(feature_shape: tuple[int, ...]) -> nn.Module:
    return Mixes()


def no_vector(feature_shape: tuple[int, ...]) -> nn.Module:
    network = Picky()
    network.norm = nn.Unflatten(1, (2, 1))  # type: ignore[assignment]
    return network


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def weights(tmp_path: Path) -> PublicWeights:
    torch.manual_seed(3)
    path = tmp_path / "picky.safetensors"
    save_file(Picky().state_dict(), path)
    return PublicWeights(str(path), sha256(path))


def onnx_file(path: Path, rows: Any, *, mix: bool = False) -> PublicWeights:
    """y = x + x, or with records mixed x minus the mean of all."""
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    if mix:
        nodes = [
            helper.make_node("ReduceMean", ["x", "axes"], ["m"]),
            helper.make_node("Sub", ["x", "m"], ["y"]),
        ]
    axes = [helper.make_tensor("axes", TensorProto.INT64, [1], [0])] if mix else []
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 3]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], initializer=axes)
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))
    return PublicWeights(str(path), sha256(path))


def test_a_network_answers_with_its_file_and_its_running_statistics(weights: PublicWeights) -> None:
    found = FrozenMap.network(f"{HERE}:picky", weights, (3,))
    network = Picky()
    network.load_state_dict(dict(weights.tensors()))
    np.testing.assert_allclose(
        found(RECORDS), network.eval()(torch.from_numpy(RECORDS)).detach(), rtol=1e-6, atol=1e-6
    )


def test_a_record_on_which_it_raises_harms_no_other(weights: PublicWeights) -> None:
    found, crafted = FrozenMap.network(f"{HERE}:picky", weights, (3,)), RECORDS.copy()
    crafted[2] = 100.0
    answers, before = found(crafted), found(RECORDS)
    np.testing.assert_array_equal(np.delete(answers, 2, axis=0), np.delete(before, 2, axis=0))
    assert (answers[2] == 0.0).all()
    assert found.unusable == 1


@pytest.mark.parametrize("rows", ["n", 1, 2])
def test_an_onnx_file_answers_in_batches_of_any_size(rows: Any, tmp_path: Path) -> None:
    if rows == 2:  # five records are no whole number of batches of two, nor are three probes
        with pytest.raises(ConfigurationError, match="must take records of shape"):
            FrozenMap.onnx(onnx_file(tmp_path / "f.onnx", rows), (3,))
        return
    np.testing.assert_allclose(
        FrozenMap.onnx(onnx_file(tmp_path / "f.onnx", rows), (3,))(RECORDS), 2 * RECORDS, rtol=1e-6
    )


def test_what_mixes_records_or_is_another_file_is_refused(weights: PublicWeights, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="features that depend on no other record"):
        FrozenMap.network(f"{HERE}:mixes", weights, (3,))
    with pytest.raises(ConfigurationError, match="features that depend on no other record"):
        FrozenMap.onnx(onnx_file(tmp_path / "m.onnx", "n", mix=True), (3,))
    with pytest.raises(ConfigurationError, match="'sha256' must be that of the public weights"):
        FrozenMap.onnx(PublicWeights(str(tmp_path / "m.onnx"), "0" * 64), (3,))
    with pytest.raises(ConfigurationError, match="must be an ONNX file with one input"):
        FrozenMap.onnx(weights, (3,))


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


def test_features_are_made_once_and_kept_for_their_owner_alone(
    tmp_path: Path, weights: PublicWeights
) -> None:
    data, kept = parse_data(document(tmp_path, weights)), tmp_path / "state" / "features"
    first = federation_of(data, cache=kept)
    (file,) = kept.iterdir()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, kept)] == [0o600, 0o700]
    Picky.asked = 0
    again = federation_of(data, cache=kept)
    assert Picky.asked == 2, "the two probes of a map, and no record"
    np.testing.assert_array_equal(first.silos[0].train.features, again.silos[0].train.features)
    file.write_bytes(b"damaged")
    Picky.asked = 0
    federation_of(data, cache=kept)
    assert Picky.asked == 3
    federation_of(data.model_copy(update={"feature_norm_bound": 2.0}), cache=kept)
    assert not file.exists(), "another bound makes other features, and the last are forgotten"


def test_another_record_has_another_place(tmp_path: Path) -> None:
    cache, changed = FeatureCache(tmp_path, "made by"), RECORDS.copy()
    changed[0, 0] += 1.0
    parts = [[RECORDS], [changed], [RECORDS[1:]], [RECORDS[:2], RECORDS[2:]]]
    assert len({cache.place(part) for part in parts}) == 4
    assert cache.place([RECORDS]) != FeatureCache(tmp_path, "made by others").place([RECORDS])
    cache.store(cache.place([RECORDS]), RECORDS)
    cache.store(cache.place([changed]), RECORDS)
    assert list(tmp_path.iterdir()) == [cache.place([changed])]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pretrained": None}, "'pretrained' must state the public weights of 'network:"),
        ({"transform": "onnx:f.onnx"}, r"'pretrained\.file' must be left out"),
        ({"transform": "scattering"}, "'pretrained' must be left out where no network makes features"),
        ({"transform": f"network:{HERE}:no_vector"}, r"must give one vector a record.*\(3, 2, 1\)"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path, weights: PublicWeights
) -> None:
    stated = {key: value for key, value in (document(tmp_path, weights) | changes).items() if value}
    if "no_vector" in message or "vector" in message:
        weights_of = {name: tensor for name, tensor in Picky().state_dict().items() if "layer" in name}
        save_file(weights_of, weights.path)
        stated["pretrained"] = stated["pretrained"] | {"sha256": sha256(Path(weights.path))}
    with pytest.raises(ConfigurationError, match=message):
        federation_of(parse_data(stated))
