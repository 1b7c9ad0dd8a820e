"""Public weights in a plan: stated in every row, found under a silo's own path, and refused if others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from discreet.config import parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.plan.public_model import public_model
from discreet.silo.check import dry_run
from discreet.silo.policy import PolicyRefusal, load_policy
from tests.unit.models import test_adapters as tuned
from tests.unit.models.test_adapters import public

ABOUT = {"source": "https://example.org/weights", "licence": "Apache-2.0"}


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    rng, weights = np.random.default_rng(0), public(tmp_path)
    source = tmp_path / "tokens.npz"
    np.savez(source, x=rng.normal(size=(48, *tuned.SHAPE)).astype(np.float32), y=np.arange(48) % 3)
    data = {"source": f"npz:{source}", "num_classes": 3, "record_capacity": 24, "test_fraction": 0}
    return {
        "data": data | {"partition": {"kind": "iid", "silos": 3}},
        "model": {
            "name": f"{tuned.HERE}:make",
            "trained": ["head"],
            "adapters": {"layers": ["query", "value"], "rank": 2},
            "pretrained": {"file": weights.path, "sha256": weights.sha256, **ABOUT},
        },
        "training": {"rounds": 2, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 8.0, "delta": 1e-5, "clip_norm": 1.0},
    }


def test_every_row_says_whose_weights_it_takes_for_public(document: dict[str, Any]) -> None:
    plan = prepare(parse_config(document)).plan
    for row in plan.guarantees:
        (said,) = [text for text in row.assumptions if text.startswith("the public weights of public-1.safe")]
        assert document["model"]["pretrained"]["sha256"][:12] in said
        assert said.endswith("https://example.org/weights, Apache-2.0")
    assert plan.facts.dimension == tuned.NUMBERS
    agreed = cast(Any, plan.to_json())["config"]["model"]["pretrained"]
    assert agreed["file"] == "public-1.safetensors"


def test_a_silo_opens_its_own_copy_and_refuses_other_weights(
    document: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "consortium"
    plan = rehearse(parse_config(document), folder)
    policy = load_policy(ConsortiumFolder(folder).policy(plan.facts.silos[0]))
    (own,) = policy.data.weights
    assert dry_run(policy, plan).plan.digest() == plan.digest()
    server = ConsortiumFolder(folder).server
    agreed = json.loads(server.plan.read_text())["plan"]["config"]["model"]["pretrained"]["file"]
    assert Path(server.weights(agreed)).read_bytes() == own.read_bytes()
    without = policy.model_copy(update={"data": policy.data.model_copy(update={"weights": ()})})
    with pytest.raises(PolicyRefusal, match=r"model\.pretrained\.file must be no file of weights"):
        dry_run(without, plan)
    own.write_bytes(Path(public(tmp_path, seed=2).path).read_bytes())
    with pytest.raises(PolicyRefusal, match="'sha256' must be that of the public weights"):
        dry_run(policy, plan)


def test_a_released_model_brings_its_frozen_weights_and_no_others(document: dict[str, Any]) -> None:
    prepared = prepare(parse_config(document))
    tensors = {name: tensor.numpy() for name, tensor in prepared.model.state_dict().items()}
    Path(document["model"]["pretrained"]["file"]).unlink()
    public_model(prepared.plan, tensors)
    tensors["value.layer.bias"] = tensors["value.layer.bias"] + np.float32(1e-6)
    with pytest.raises(
        ConfigurationError, match=r"'facts\.model_digest' must be that of the model built here"
    ):
        public_model(prepared.plan, tensors)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "mlp"}, "must be left out unless 'name' is a network of one's own"),
        ({"trained": None, "adapters": None}, "'trained' or 'adapters' must name what is trained"),
        ({"adapters": {"layers": [], "rank": 2}}, r"model\.adapters\.layers"),
        ({"pretrained": {"file": "x", "sha256": "abc", **ABOUT}}, r"model\.pretrained\.sha256"),
    ],
)
def test_a_config_that_trains_nothing_or_names_no_file_is_refused(
    document: dict[str, Any], model: dict[str, Any], message: str
) -> None:
    document["model"] = {
        key: value for key, value in (document["model"] | model).items() if value is not None
    }
    with pytest.raises(ConfigurationError, match=message):
        parse_config(document)
