"""A frozen network is fine-tuned by its adapters: nothing else moves, travels, or escapes its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.kinds import SingleStep, Softmax, TangentSteps
from discreet.learning import local_update
from discreet.models import described, flatten, load_flat
from discreet.models.adapters import FineTuning, LowRank, merged
from discreet.models.build import build_model
from discreet.models.parameters import frozen
from discreet.models.public_weights import PublicWeights
from discreet.randomness import SeededRandom

HERE = "tests.unit.models.test_adapters"
SHAPE = (4, 6)
# B of two layers, 2 x 6 each, and the head.
NUMBERS = 2 * 2 * 6 + 6 * 3 + 3


class Attention(nn.Module):
    """Two tokens or more attend to each other."""

    scale: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.query, self.value = nn.Linear(6, 6), nn.Linear(6, 6)
        self.norm, self.head = nn.LayerNorm(6), nn.Linear(6, 3)
        self.register_buffer("scale", torch.tensor(6.0))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        scores = self.query(tokens) @ tokens.transpose(1, 2) / self.scale.sqrt()
        found: torch.Tensor = self.head(self.norm(scores.softmax(dim=2) @ self.value(tokens)).mean(dim=1))
        return found


def make(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return Attention()


def public(folder: Path, seed: int = 1) -> PublicWeights:
    torch.manual_seed(seed)
    path = folder / f"public-{seed}.safetensors"
    tensors = {name: torch.randn_like(tensor) for name, tensor in Attention().state_dict().items()}
    save_file(tensors | {"scale": torch.tensor(5.0), "unused": torch.zeros(1)}, path)
    return PublicWeights(str(path), hashlib.sha256(path.read_bytes()).hexdigest())


def tuned(weights: PublicWeights | None, **changes: Any) -> nn.Module:
    how: dict[str, Any] = {
        "trained": ("head",),
        "adapted": ("query", "val*"),
        "rank": 2,
        "weights": weights,
    } | changes
    return build_model(f"{HERE}:make", SHAPE, 3, seed=0, tuning=FineTuning(**how))


def records(count: int = 12) -> Records:
    rng = np.random.default_rng(0)
    return Records(rng.normal(size=(count, *SHAPE)).astype(np.float32), rng.integers(0, 3, count))


@pytest.mark.parametrize(
    "kind",
    [
        SingleStep(1.0),
        TangentSteps(Softmax(3), norm_bound=1.0, learning_rate=0.05, steps=3, record_capacity=20),
    ],
    ids=["single-step", "tangent-steps"],
)
def test_only_adapters_and_trained_layers_move(kind: Any, tmp_path: Path) -> None:
    model = tuned(public(tmp_path))
    before = {name: tensor.clone() for name, tensor in frozen(model).items()}
    start = flatten(model)
    update = local_update(kind, model, start, records(), SeededRandom(1))
    assert update.vector.shape == start.shape == (NUMBERS,)
    assert np.count_nonzero(update.vector) > NUMBERS * 0.9
    load_flat(model, start + update.vector)
    after = frozen(model)
    assert before.keys() == after.keys() >= {"norm.weight", "scale"}
    for name, tensor in before.items():
        assert tensor.numpy().tobytes() == after[name].detach().numpy().tobytes(), name


def test_it_begins_as_the_public_network_and_ends_as_one(tmp_path: Path) -> None:
    model, features = tuned(public(tmp_path)), torch.from_numpy(records().features)
    whole = merged(model)
    assert not any(isinstance(layer, LowRank) for layer in whole.modules())
    torch.testing.assert_close(whole(features), model(features))
    assert torch.equal(whole.get_parameter("query.weight"), model.get_parameter("query.layer.weight"))
    load_flat(model, flatten(model) + 1.0)
    other = Attention()
    other.load_state_dict(merged(model).state_dict())
    assert not torch.equal(other.query.weight, model.get_parameter("query.layer.weight"))
    torch.testing.assert_close(other(features), model(features), rtol=1e-4, atol=1e-5)
    assert isinstance(model.query, LowRank), "merging leaves the model as it was"


def test_the_digest_is_of_frozen_weights_too(tmp_path: Path) -> None:
    digests = {described(tuned(weights), SHAPE).model_digest for weights in map_seeds(tmp_path)}
    assert len(digests) == 3
    drawn_again = described(tuned(public(tmp_path)), SHAPE)
    assert drawn_again.model_digest in digests
    model = tuned(public(tmp_path))
    model.get_buffer("scale").add_(1.0)
    assert described(model, SHAPE).model_digest not in digests


def map_seeds(folder: Path) -> list[PublicWeights | None]:
    return [None, public(folder), public(folder, seed=2)]


def test_a_file_of_another_hash_is_refused(tmp_path: Path) -> None:
    weights = public(tmp_path)
    Path(weights.path).write_bytes(Path(public(tmp_path, seed=2).path).read_bytes())
    with pytest.raises(ConfigurationError, match=r"'sha256' must be that of the public weights public-1"):
        tuned(weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"adapted": ("quer",)},
            r"'model\.adapters\.layers' must name layers .* 'quer' fits none.*query, value",
        ),
        ({"adapted": ("norm",)}, r"of the type nn\.Linear; 'norm' is LayerNorm"),
        ({"adapted": ("head",)}, "'head' is trained whole"),
        ({"trained": ("*.head",)}, r"'model\.trained' must name layers"),
        ({"rank": 6}, r"'model\.adapters\.rank' must be below .* 6 of 'query'; got 6"),
    ],
)
def test_names_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        tuned(None, **changes)


class Tied(Attention):
    """A layer has its weights from another, whole or as a part of one array."""

    how = "same"

    def __init__(self) -> None:
        super().__init__()
        if self.how == "same":
            self.value.weight = self.query.weight
        if self.how == "view":
            self.head.weight = nn.Parameter(self.query.weight.detach()[:3])


def tied(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    return Tied()


@pytest.mark.parametrize(
    ("how", "adapted", "message"),
    [
        ("same", "query", r"query\.weight and value\.weight share their weights.*must all be trained"),
        ("same", "*e*r*", r"query\.weight and value\.weight share"),
        ("view", "value", r"query\.weight and head\.weight share"),
        ("none", "value", None),
        ("same", None, None),
    ],
)
def test_weights_on_both_sides_of_the_border_are_refused(
    how: str, adapted: str | None, message: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Tied, "how", how)
    tuning = FineTuning(("head",), () if adapted is None else (adapted,))
    if message is None:
        build_model(f"{HERE}:tied", SHAPE, 3, seed=0, tuning=tuning)
        return
    with pytest.raises(ConfigurationError, match=message):
        build_model(f"{HERE}:tied", SHAPE, 3, seed=0, tuning=tuning)


def in_half_precision(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    network = Attention()
    network.query.weight = nn.Parameter(network.query.weight.bfloat16())
    return network


def test_weights_that_no_released_file_could_hold_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"got torch\.bfloat16 in 'query\.weight'.*\.float\(\)"):
        build_model(f"{HERE}:in_half_precision", SHAPE, 3, seed=0, tuning=FineTuning(("head",)))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"query.weight": torch.zeros(6, 6)}, "must hold 'query.bias'; it holds query.weight, scale"),
        (
            {"query.weight": torch.zeros(6, 5)},
            r"in the network's shape \(6, 6\), torch\.float32; got \(6, 5\)",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    tensors: dict[str, torch.Tensor], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "other.safetensors"
    save_file(tensors | {"scale": torch.tensor(1.0)}, path)
    with pytest.raises(ConfigurationError, match=message):
        tuned(PublicWeights(str(path), None))
    header = b'{"scale":{"dtype":"F8_E8M0","shape":[1],"data_offsets":[0,1]}}'
    of_no_type = len(header).to_bytes(8, "little") + header + bytes(1)
    for data in (b"no tensors", of_no_type):
        path.write_bytes(data)
        with pytest.raises(ConfigurationError, match=r"other\.safetensors must be a safetensors file"):
            tuned(PublicWeights(str(path), None))
