"""A head over features of a public network, used on records: only with the network that the plan names."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from discreet.config import parse_config
from discreet.config.federation import federation_of
from discreet.engines.local import prepare
from discreet.engines.local import run as run_config
from discreet.errors import ConfigurationError, DataError
from discreet.plan import parse_plan
from discreet.released import (
    evaluate_file,
    load_model,
    onnx_program,
    public_map,
    score_file,
    torch_program,
)
from discreet.session import open_run
from discreet.session.finish import finish
from discreet.verify import VerificationFailure, verify
from tests.engines.local.test_features import residual_weights
from tests.unit.released.conftest import Said

pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper, save_model

HERE = "tests.unit.released.test_public_features"
SHAPES = {"network": (2, 3), "onnx": (2, 3), "residual": (3, 16, 16), "table": (4,)}
ROWS = 96


class Encoder(nn.Module):
    """Takes records of any shape, with batch norm that has been trained."""

    def __init__(self, length: int) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(length, 4), nn.BatchNorm1d(4)

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.norm(torch.tanh(self.layer(records.flatten(1))))
        return found


class Mixing(Encoder):
    """Answers a record otherwise among others."""

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        return super().forward(records) + records.mean()


def encoder(feature_shape: tuple[int, ...]) -> nn.Module:
    return Encoder(int(np.prod(feature_shape)))


def mixing(feature_shape: tuple[int, ...]) -> nn.Module:
    return Mixing(int(np.prod(feature_shape)))


def tuned(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return nn.Sequential(
        OrderedDict(base=nn.Linear(feature_shape[0], 3), head=nn.Linear(3, num_classes, bias=False))
    )


def onnx_file(path: Path, *, version: int = 13) -> None:
    """A batch of one alone, quantised by its largest number, in older operators than an export has.

    A number that is NaN makes all features NaN. Of version 11 it has an operator that the converter of
    versions changes: Hardmax over all numbers of a record becomes one over rows.
    """
    draw = np.random.default_rng(3)
    tensors = {"w": draw.normal(size=(6, 4)).astype(np.float32), "flat": np.array([1, 6])}
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["x too"]),
        helper.make_node("Add", ["x", "x too"], ["both"]),
        helper.make_node("Hardmax" if version < 13 else "Identity", ["both"], ["kept"]),
        helper.make_node("Reshape", ["kept", "flat"], ["row"]),
        helper.make_node("MatMul", ["row", "w"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
        initializer=[numpy_helper.from_array(one, name) for name, one in tensors.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
    save_model(made, str(path))


def weights_of(kind: str, folder: Path) -> Path:
    if kind == "residual":
        return residual_weights(folder)
    if kind == "onnx":
        onnx_file(folder / "public.onnx")
        return folder / "public.onnx"
    torch.manual_seed(3)
    network = encoder(SHAPES[kind])
    for _ in range(3):
        network(torch.randn(8, *SHAPES[kind]))
    save_file(network.state_dict(), folder / "public.safetensors")
    return folder / "public.safetensors"


def source_of(kind: str, folder: Path) -> dict[str, Any]:
    draw, shape = np.random.default_rng(0), SHAPES[kind]
    labels = draw.integers(0, 2, ROWS)
    if kind == "table":
        rows = [f"{age},{'fm'[label]},{['no', 'yes'][label]}" for age, label in enumerate(labels)]
        (folder / "rows.csv").write_text("\n".join(["age,sex,ill", *rows]) + "\n")
        stated = {"label": "ill", "classes": ["no", "yes"], "ranges": {"age": [0, 100]}}
        return stated | {"source": f"csv:{folder / 'rows.csv'}", "categories": {"sex": ["f", "m"]}}
    records = draw.normal(size=(ROWS, *shape)).astype(np.float32)
    records[labels == 1] += 0.7
    records[0] = np.nan
    np.savez(folder / "rows.npz", x=records, y=labels, id=[f"r{place}" for place in range(ROWS)])
    return {"source": f"npz:{folder / 'rows.npz'}", "num_classes": 2}


def config_of(kind: str, folder: Path, factory: str = "encoder") -> dict[str, Any]:
    weights = weights_of(kind, folder)
    stated: dict[str, Any] = {"sha256": hashlib.sha256(weights.read_bytes()).hexdigest()}
    stated |= {"source": "here", "licence": "CC0-1.0"}
    transform = f"{kind}:{weights}"
    if kind in ("network", "table"):
        transform, stated = f"network:{HERE}:{factory}", stated | {"file": str(weights)}
    return {
        "data": source_of(kind, folder)
        | {"record_capacity": ROWS, "partition": {"kind": "iid", "silos": 3}, "test_fraction": 0.4}
        | {"transform": transform, "pretrained": stated},
        "training": {"rounds": 2, "local": {"kind": "stable-steps", "learning_rate": 0.15, "steps": 8}},
        "privacy": {"epsilon": 60.0, "delta": 1e-5},
        "run": {"seed": 1},
    }


class Trained:
    """A finished run, the file of its network, and its held-out records as a file of their own."""

    def __init__(self, kind: str, folder: Path) -> None:
        config = config_of(kind, folder)
        self.kind, self.run = kind, folder / "run"
        finish(run_config(parse_config(config), self.run), None)
        self.weights, self.rows = weights_of(kind, folder), next(folder.glob("rows.*"))
        mapped = federation_of(parse_config(config).data)
        self.features = np.concatenate([silo.test.features for silo in mapped.silos])
        self.labels = np.concatenate([silo.test.labels for silo in mapped.silos])
        if kind != "table":
            del config["data"]["transform"], config["data"]["pretrained"]
            raw = federation_of(parse_config(config).data)
            self.raw = np.concatenate([silo.test.features for silo in raw.silos])
            self.rows = folder / "held-out.npz"
            np.savez(self.rows, x=self.raw, y=self.labels, name=[f"n{one}" for one in range(len(self.raw))])


@pytest.fixture(scope="module", params=SHAPES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained(request.param, tmp_path_factory.mktemp(request.param))


def test_records_are_predicted_by_the_plans_network_and_head(trained: Trained) -> None:
    """As well as the training's own evaluation says, which measured the same records."""
    model = load_model(trained.run, own_code=True, weights=trained.weights)
    heads = load_model(trained.run)
    if trained.kind == "table":
        rows = {"age": ["7", "61"], "sex": ["f", "m"]}
        found = model.predict_proba(rows)
        assert score_file(model, trained.rows).probabilities[:1].shape == (1, 2)
        assert evaluate_file(model, trained.rows).quality.records == ROWS
        assert set(model.predict(rows)) <= {"no", "yes"}
        by_run = open_run(trained.run, own_code=True).predict_proba(rows, weights=trained.weights)
        np.testing.assert_array_equal(by_run, found)
        return
    expected = heads.predict_proba(trained.features)
    assert len(np.unique(expected[:, 0])) > len(expected) // 2, "records tell the model something"
    np.testing.assert_array_equal(model.predict_proba(trained.raw), expected)
    few = model.predict_proba(torch.from_numpy(trained.raw[:3]))
    np.testing.assert_allclose(few, expected[:3], rtol=0, atol=1e-6)
    by_run = open_run(trained.run, own_code=True).predict_proba(trained.raw, weights=trained.weights)
    np.testing.assert_array_equal(by_run, expected)
    scores = score_file(model, trained.rows, id_column="name")
    np.testing.assert_array_equal(scores.probabilities, expected)
    assert scores.named[1][:2] == ("n0", "n1")
    measured = json.loads((trained.run / "evaluation.json").read_text())
    found_quality = evaluate_file(model, trained.rows).quality
    assert found_quality.records == measured["records"] == len(trained.labels)
    assert found_quality.accuracy.value == pytest.approx(measured["accuracy"][0])


def test_what_is_exported_scores_records_as_we_do(trained: Trained) -> None:
    model = load_model(trained.run, own_code=True, weights=trained.weights)
    if trained.kind == "table":
        feeds: Any = {"age": np.array([[7.0], [np.nan]]), "sex": np.array([["f"], ["m"]])}
        expected = model.predict_proba({"age": ["7", ""], "sex": ["f", "m"]})
        taken: Any = (torch.from_numpy(feeds["age"]), torch.tensor([[0], [1]]))
    else:
        records = trained.raw[:7].copy()
        records[0].flat[0] = np.nan
        feeds, expected = {"features": records}, model.predict_proba(records)
        taken = (torch.from_numpy(records),)
    if trained.kind == "onnx":
        with pytest.raises(ConfigurationError, match=r"made by an ONNX file\. Export it with --onnx"):
            torch_program(model)
    else:
        program = torch.export.load(io.BytesIO(torch_program(model))).module()
        np.testing.assert_allclose(program(*taken).detach().numpy(), expected, rtol=0, atol=1e-6)
    if trained.kind in ("network", "residual"):  # ONNX of a module is that of a table's, and slow
        return
    pytest.importorskip("onnxscript")
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(onnx_program(model))
    np.testing.assert_allclose(session.run(["probabilities"], feeds)[0], expected, rtol=0, atol=1e-6)


def test_a_run_is_measured_again_with_public_weights_that_lie_elsewhere(
    trained: Trained, tmp_path: Path
) -> None:
    shutil.copy(next(trained.run.parent.glob("rows.*")), tmp_path)
    by: dict[str, Any] = {"records": tmp_path, "own_code": trained.kind in ("network", "table")}
    found = list(verify(trained.run, **by, weights=trained.weights))
    assert "all of evaluation.json" in found[-1].detail
    with pytest.raises(VerificationFailure, match=r"lie elsewhere: give --weights FILE\."):
        list(verify(trained.run, **by))
    other = tmp_path / "other"
    other.write_bytes(trained.weights.read_bytes() + b" ")
    with pytest.raises(VerificationFailure, match=r"\(--weights\) must be .*; other has "):
        list(verify(trained.run, **by, weights=other))
    with pytest.raises(VerificationFailure, match="--weights must come with --records"):
        list(verify(trained.run, own_code=True, weights=trained.weights))


def test_a_file_of_weights_is_of_the_features_or_of_the_model_by_its_hash(tmp_path: Path) -> None:
    config, base, records = (
        config_of("network", tmp_path),
        tmp_path / "base.safetensors",
        tmp_path / "records",
    )
    torch.manual_seed(5)
    save_file({name: one for name, one in tuned((5,), 2).state_dict().items() if "base" in name}, base)
    stated = {"file": str(base), "sha256": hashlib.sha256(base.read_bytes()).hexdigest()}
    stated |= {"source": "here", "licence": "CC0-1.0"}
    config["model"] = {"name": f"{HERE}:tuned", "trained": ["head"], "pretrained": stated}
    config["training"] = {"rounds": 1, "local": {"kind": "single-step"}}
    config["privacy"]["clip_norm"] = 1.0
    finish(run_config(parse_config(config), tmp_path / "run"), None)
    records.mkdir()
    shutil.copy(tmp_path / "rows.npz", records)
    by: dict[str, Any] = {"records": records, "own_code": True}
    found = {
        one.subject: one.detail
        for one in verify(tmp_path / "run", **by, weights=weights_of("network", tmp_path))
    }
    assert "all of evaluation.json" in found["held-out records"]
    assert "NOT COMPARED" in found["model, state"]
    shutil.copy(weights_of("network", tmp_path), records)
    found = {one.subject: one.detail for one in verify(tmp_path / "run", **by, weights=base)}
    assert "frozen weights are those of the file" in found["model, state"]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    return Trained("network", tmp_path_factory.mktemp("network"))


def test_without_the_right_weights_no_record_is_read(
    network: Trained, tmp_path: Path, discreet: Callable[..., Said]
) -> None:
    said = discreet("predict", network.run, network.rows, "--own-code", expect=2).err
    agreed = hashlib.sha256(network.weights.read_bytes()).hexdigest()
    assert (
        "Give weights=FILE to load_model, or to predict of a run (--weights FILE), and own_code=True to "
        f"load_model or open_run (--own-code): public.safetensors, SHA-256 {agreed}" in said
    )
    assert said.count("\n") == 1
    with pytest.raises(ConfigurationError, match=r"none are\. Give weights=FILE to load_model"):
        load_model(network.run).predict(network.raw)
    other = tmp_path / "other.safetensors"
    shutil.copy(network.weights, other)
    other.write_bytes(other.read_bytes() + b" ")
    got = hashlib.sha256(other.read_bytes()).hexdigest()
    for command in ("predict", "evaluate"):
        words = (command, network.run, network.rows, "--own-code", "--weights", other)
        assert f"SHA-256 {agreed}; other.safetensors has {got}. Take" in discreet(*words, expect=2).err
    with pytest.raises(ConfigurationError, match="feature network must be imported by your leave"):
        load_model(network.run, weights=network.weights)
    with pytest.raises(
        ConfigurationError, match=r"records must have the shape of those in training, \(2, 3\); got \(5,\)"
    ):
        load_model(network.run, own_code=True, weights=network.weights).predict(np.zeros((2, 5)))


def test_other_code_around_the_same_weights_is_refused_wherever_it_makes_features(
    network: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, discreet: Callable[..., Said]
) -> None:
    config, honest = parse_config(config_of("network", network.run.parent)), Encoder.forward
    agreed = open_run(network.run).plan
    assert prepare(config, agreed=agreed).plan.digest() == agreed.digest()
    monkeypatch.setattr(Encoder, "forward", lambda self, records: honest(self, records) * 1.01)
    by: dict[str, Any] = {"weights": network.weights}
    planned = "must be the feature map that the plan was made with; it answers public record "
    with pytest.raises(ConfigurationError, match=planned):
        load_model(network.run, own_code=True, **by)
    with pytest.raises(ConfigurationError, match=planned):
        open_run(network.run, own_code=True).predict(network.raw, **by)
    with pytest.raises(ConfigurationError, match=planned):
        prepare(config, agreed=agreed)
    with pytest.raises(VerificationFailure, match=f"features must be made as in training; .*{planned}"):
        list(verify(network.run, records=network.run.parent, own_code=True, **by))
    words = ("--own-code", "--public-weights", network.weights, "--torch", tmp_path / "m.pt2")
    said = discreet("export", network.run, *words, expect=2).err
    assert planned in said
    assert said.count("\n") == 1


def test_a_plan_that_does_not_say_what_its_network_answers_makes_no_features(network: Trained) -> None:
    plan = open_run(network.run).plan
    old = replace(plan, facts=replace(plan.facts, map_answers=None))
    assert parse_plan(old.document()).digest() == old.digest(), "it is read, as a ledger may name it"
    with pytest.raises(ConfigurationError, match=r"the plan must state what 'network:.* Use that version"):
        public_map(old, network.weights, own_code=True)
    with pytest.raises(ConfigurationError, match=r"the plan must state what 'network:"):
        prepare(parse_config(config_of("network", network.run.parent)), agreed=old)


def test_weights_that_are_swapped_after_a_model_was_opened_are_not_read(
    network: Trained, tmp_path: Path
) -> None:
    weights = tmp_path / "public.safetensors"
    shutil.copy(network.weights, weights)
    model = load_model(network.run, own_code=True, weights=weights)
    torch.manual_seed(4)
    save_file(encoder(SHAPES["network"]).state_dict(), weights)
    expected = load_model(network.run, own_code=True, weights=network.weights).predict_proba(network.raw)
    np.testing.assert_array_equal(model.predict_proba(network.raw), expected)


def test_a_file_of_records_is_read_by_commands(
    network: Trained, tmp_path: Path, discreet: Callable[..., Said]
) -> None:
    by = (network.run, network.rows, "--own-code", "--weights", network.weights)
    lines = discreet("predict", *by).out.splitlines()
    assert lines[0] == "row,prediction,probability of 0,probability of 1"
    assert len(lines) == 1 + len(network.raw)
    found = json.loads(discreet("evaluate", *by, "--json").out)
    assert found["records"] == len(network.labels)
    assert (
        "of each group into an .npz file of its own" in discreet("evaluate", *by, "--by", "x", expect=2).err
    )
    assert "must be given an .npz file" in discreet("predict", *by, "--separator", ",", expect=2).err
    out = tmp_path / "m.pt2"
    how = ("--own-code", "--public-weights", network.weights)
    discreet("export", network.run, "--torch", out, *how)
    assert out.exists()
    said = discreet("export", network.run, "--weights", network.weights, expect=2).err
    assert "Name another, for it is written; the weights of a feature network are given by --public" in said
    words = ("export", network.run, "--sklearn", tmp_path / "m.joblib", *how)
    assert "Export it with --onnx or --torch" in discreet(*words, expect=2).err


def test_a_network_that_mixes_records_is_no_part_of_a_program(tmp_path: Path) -> None:
    finish(run_config(parse_config(config_of("network", tmp_path, "mixing")), tmp_path / "run"), None)
    model = load_model(tmp_path / "run", own_code=True, weights=tmp_path / "public.safetensors")
    with pytest.raises(ConfigurationError, match="must answer records of a batch as it answers each alone"):
        torch_program(model)


def test_a_network_that_newer_operators_change_is_no_part_of_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxscript")
    monkeypatch.setitem(globals(), "onnx_file", partial(onnx_file, version=11))
    trained = Trained("onnx", tmp_path)
    with pytest.raises(ConfigurationError, match=r"must answer public records as the model does; this one"):
        onnx_program(load_model(trained.run, weights=trained.weights))


def test_bytes_are_read_as_in_training_from_a_file_and_from_a_program(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (30, 2, 3), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", x=images, y=np.where(draw.random(30) < 0.1, 7, draw.integers(0, 2, 30)))
    config = {
        "data": {"source": f"npz:{tmp_path / 'images.npz'}", "num_classes": 2, "record_capacity": 30}
        | {"partition": {"kind": "iid", "silos": 3}, "pixels": True},
        "model": {"name": "mlp"},
        "training": {"rounds": 1, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 8.0, "delta": 1e-5, "clip_norm": 1.0},
        "run": {"seed": 1},
    }
    finish(run_config(parse_config(config), tmp_path / "run"), None)
    model = load_model(tmp_path / "run")
    expected = model.predict_proba((images / np.float32(255.0)).astype(np.float32))
    np.testing.assert_array_equal(model.predict_proba(images), expected)
    np.testing.assert_array_equal(score_file(model, tmp_path / "images.npz").probabilities, expected)
    found = evaluate_file(model, tmp_path / "images.npz")
    known = int((np.load(tmp_path / "images.npz")["y"] < 2).sum())
    assert found.quality.records == known < 30
    assert any("labels are not in [0, 2)" in note for note in found.notes)
    for whole in (images.astype(np.int64), torch.from_numpy(images).int(), images.astype(np.uint16)):
        with pytest.raises(DataError, match=r"must be bytes \(uint8\).*got (u?int)\d+, which nothing would"):
            model.predict_proba(whole)
    undivided = images.astype(np.float32)
    with pytest.warns(UserWarning, match="the records: 30 of 30 records hold numbers above 1"):
        open_run(tmp_path / "run").predict_proba(undivided)
    np.savez(tmp_path / "floats.npz", x=undivided, y=np.zeros(30, dtype=np.int64))
    for found_notes in (
        score_file(model, tmp_path / "floats.npz").notes,
        evaluate_file(model, tmp_path / "floats.npz").notes,
    ):
        assert any("floats.npz: 30 of 30 records hold numbers above 1" in note for note in found_notes)
    extra = {"columns": "", "discreet": ""}
    torch.export.load(io.BytesIO(torch_program(model)), extra_files=extra)
    assert "numbers of 0 to 1" in json.loads(extra["columns"])[0]["holds"]
