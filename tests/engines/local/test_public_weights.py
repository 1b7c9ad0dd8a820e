"""Public weights in a plan: stated in every row, found under a silo's own path, and refused if others."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from discreet.config import parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.local import prepare, run
from discreet.errors import ConfigurationError
from discreet.models.adapters import LowRank
from discreet.models.public_weights import PublicWeights
from discreet.plan.public_model import public_model
from discreet.released import evaluate_file, load_model, score_file
from discreet.session import open_run
from discreet.session.finish import finish
from discreet.silo.check import dry_run
from discreet.silo.policy import PolicyRefusal, load_policy
from discreet.verify import VerificationFailure, verify
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
    with pytest.raises(PolicyRefusal, match=r"model\.pretrained\.file must be a file that 'data\.weights'"):
        dry_run(without, plan)
    own.write_bytes(Path(public(tmp_path, seed=2).path).read_bytes())
    with pytest.raises(PolicyRefusal, match="'sha256' must be that of the public weights"):
        dry_run(policy, plan)


def test_a_name_is_one_file(document: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "consortium"
    path = ConsortiumFolder(folder).policy(rehearse(parse_config(document), folder).facts.silos[0])
    (own,) = load_policy(path).data.weights
    text = path.read_text()
    path.write_text(text.replace(f'["{own}"]', f'["{own}", "elsewhere/{own.name}"]'))
    with pytest.raises(ConfigurationError, match=r"must be files of different names, .* occurs twice"):
        load_policy(path)
    stated = document["model"]["pretrained"] | {"file": f"elsewhere/{own.name}", "sha256": "0" * 64}
    document["data"] |= {"transform": "network:own:features", "pretrained": stated}
    with pytest.raises(
        ConfigurationError, match=r"'data\.pretrained' and 'model\.pretrained' must be files of"
    ):
        parse_config(document)


@pytest.mark.parametrize("several", [False, True])
def test_a_released_model_brings_the_weights_of_the_file_and_no_others(
    document: dict[str, Any], several: bool
) -> None:
    if several:
        use_several_labels(document)
    prepared = prepare(parse_config(document))
    tensors = {name: tensor.numpy() for name, tensor in prepared.model.state_dict().items()}
    Path(document["model"]["pretrained"]["file"]).unlink()
    value = "network.value" if several else "value"
    tensors[f"{value}.down.weight"] = tensors[f"{value}.down.weight"] + 1.0
    again, drawn = public_model(prepared.plan, tensors), f"{value}.down.weight"
    assert torch.equal(again.get_parameter(drawn), prepared.model.get_parameter(drawn)), "it is the seed's"
    tensors[f"{value}.layer.bias"] = tensors[f"{value}.layer.bias"] + np.float32(1e-6)
    with pytest.raises(
        ConfigurationError, match=r"'facts\.model_digest' must be that of the model built here"
    ):
        public_model(prepared.plan, tensors)


def two_outputs(feature_shape: tuple[int, ...], labels: int) -> nn.Module:
    return nn.Sequential(OrderedDict(value=nn.Linear(feature_shape[0], 4), head=nn.Linear(4, labels)))


def use_several_labels(document: dict[str, Any]) -> None:
    """The network is then a part of the model that is released."""
    folder = Path(document["model"]["pretrained"]["file"]).parent
    (folder / "rows.csv").write_text(
        "age,ill,old\n" + "".join(f"{age},{age % 2},{age // 50}\n" for age in range(48))
    )
    save_file(two_outputs((2,), 2).state_dict(), folder / "public-1.safetensors")
    digest = hashlib.sha256((folder / "public-1.safetensors").read_bytes()).hexdigest()
    data = document["data"]
    del data["num_classes"]
    data |= {"source": f"csv:{folder / 'rows.csv'}", "ranges": {"age": [0, 50]}, "label": ["ill", "old"]}
    data |= {"classes": ["0", "1"]}
    document["model"] |= {"name": f"{__name__}:two_outputs", "adapters": {"layers": ["value"], "rank": 1}}
    document["model"]["pretrained"]["sha256"] = digest


def verified(out: Path, **by: Any) -> str:
    """Returns what verification says of the model."""
    (found,) = [one for one in verify(out, own_code=True, **by) if one.subject == "model, state"]
    return found.detail


def trained(document: dict[str, Any], out: Path) -> Path:
    finish(run(parse_config(document | {"run": {"seed": 1}}), out), None)
    return out


def test_frozen_weights_are_compared_with_the_file_or_said_not_to_be(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "elsewhere.safetensors"
    honest = trained(document, tmp_path / "honest")
    public_file = Path(document["model"]["pretrained"]["file"]).rename(file)
    tokens = Path(document["data"]["source"].removeprefix("npz:"))
    model = load_model(honest, own_code=True)  # which needs no file of weights
    expected = open_run(honest, own_code=True).predict_proba(np.load(tokens)["x"])
    np.testing.assert_array_equal(score_file(model, tokens).probabilities, expected)
    assert evaluate_file(model, tokens).quality.records == 48
    with pytest.raises(ConfigurationError, match=r"\(--weights\) must be left out"):
        load_model(honest, own_code=True, weights=public_file)
    assert "frozen weights NOT COMPARED with the public file" in verified(honest)
    (sealed,) = [one for one in verify(honest) if one.subject == "state.safetensors"]
    assert "frozen weights NOT COMPARED" in sealed.detail, "nor where no code may be imported"
    assert "frozen weights are those of the file" in verified(honest, weights=public_file)
    with pytest.raises(VerificationFailure, match="must come with --own-code"):
        list(verify(honest, weights=file))
    # A coordinator states one file, and trains over another.
    other = public(tmp_path, seed=2)
    with monkeypatch.context() as forged:
        forged.setattr(PublicWeights, "read", lambda *_: Path(other.path).read_bytes())
        forgery = trained(document, tmp_path / "forged")
    assert "NOT COMPARED" in verified(forgery)
    with pytest.raises(VerificationFailure, match=r"'facts\.model_digest' must be that of the model built"):
        verified(forgery, weights=file)


def test_a_matrix_that_the_seed_does_not_give_is_found_without_the_file(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(self: LowRank, layer: nn.Linear, rank: int) -> None:
        drawn(self, layer, rank)
        nn.init.ones_(self.down.weight)

    drawn = LowRank.__init__
    with monkeypatch.context() as forged:
        forged.setattr(LowRank, "__init__", chosen)
        forgery = trained(document, tmp_path / "forged")
    with pytest.raises(VerificationFailure, match=r"'facts\.model_digest' must be that of the model built"):
        verified(forgery)


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
