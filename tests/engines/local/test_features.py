"""Every pairing of features and model of the papers can be named in a config."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from discreet.config import parse_config
from discreet.config.federation import federation_of
from discreet.engines.flower.consortium import rehearse
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError, PrivacyRefusal
from discreet.kinds.float_error import ROWS_ALIKE
from discreet.models.public_weights import PublicWeights
from discreet.models.residual import FrozenResidual
from discreet.silo.check import dry_run
from discreet.silo.policy import PolicyRefusal, RefusalCode, load_policy


def images(folder: Path, *shape: int) -> str:
    rng = np.random.default_rng(0)
    path = folder / "images.npz"
    np.savez(path, x=rng.integers(0, 256, (24, *shape), dtype=np.uint8), y=np.arange(24) % 3)
    return f"npz:{path}"


def document(source: str, transform: str | None, model: str, local: dict[str, Any]) -> dict[str, Any]:
    clips = {} if local["kind"] == "stable-steps" else {"clip_norm": 1.0}
    data = {"source": source, "num_classes": 3, "record_capacity": 24}
    data |= {"partition": {"kind": "iid", "silos": 3}} | ({"transform": transform} if transform else {})
    return {
        "data": data,
        "model": {"name": model},
        "training": {"rounds": 2, "local": local},
        "privacy": {"epsilon": 8.0, "delta": 1e-5} | clips,
        "aggregation": {"protocol": "ideal"},
    }


def residual_weights(folder: Path) -> Path:
    """The smallest network of the family: one block a stage, 2, 4 and 8 channels."""
    rng, widths, arrays = np.random.default_rng(1), {1: 2, 2: 4, 3: 8}, dict[str, Any]()

    def layer(name: str, norm: str, wide: int, narrow: int, side: int) -> None:
        arrays[f"{name}.weight"] = rng.normal(size=(wide, narrow, side, side)).astype(np.float32)
        arrays[f"{norm}.weight"] = arrays[f"{norm}.running_var"] = np.ones(wide, np.float32)
        arrays[f"{norm}.bias"] = arrays[f"{norm}.running_mean"] = np.zeros(wide, np.float32)

    layer("conv1", "bn1", 2, 3, 3)
    for stage, wide in widths.items():
        narrow, block = widths.get(stage - 1, 2), f"layer{stage}.0"
        layer(f"{block}.conv1", f"{block}.bn1", wide, narrow, 3)
        layer(f"{block}.conv2", f"{block}.bn2", wide, wide, 3)
        if wide != narrow:
            layer(f"{block}.downsample.0", f"{block}.downsample.1", wide, narrow, 1)
    path = folder / "weights.npz"
    np.savez(path, **arrays)
    return path


SINGLE, STABLE = {"kind": "single-step"}, {"kind": "stable-steps", "learning_rate": 0.01, "steps": 4}


@pytest.mark.parametrize(
    ("transform", "model", "local", "shape"),
    [
        ("scattering-maps", "cnn-group-norm", SINGLE, (81, 7, 7)),
        ("scattering", "logistic", STABLE, (81 * 7 * 7 + 1,)),
        ("centred-pixels", "logistic", STABLE, (28 * 28 + 1,)),
        (None, "cnn-tempered-sigmoid", SINGLE, (28, 28)),
        (None, "cnn-relu", SINGLE, (28, 28)),
    ],
)
def test_features_and_model_by_config_alone(
    tmp_path: Path, transform: str | None, model: str, local: dict[str, Any], shape: tuple[int, ...]
) -> None:
    config = parse_config(document(images(tmp_path, 28, 28), transform, model, local))
    prepared = prepare(config)
    assert prepared.plan.facts.feature_shape == shape
    assert prepared.federation.silos[0].train.features.shape[1:] == shape
    assumed = all(ROWS_ALIKE in row.assumptions for row in prepared.plan.guarantees)
    assert assumed or transform is None, "records are mapped many at a time"


def test_a_frozen_residual_network_by_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders differ from party to party, so the plan keeps the file's name alone."""
    monkeypatch.setenv("WEIGHTS", str(residual_weights(tmp_path).parent))
    source = images(tmp_path, 3, 16, 16)
    prepared = prepare(parse_config(document(source, "residual:$WEIGHTS/weights.npz", "logistic", STABLE)))
    assert prepared.plan.facts.feature_shape == (8 + 1,)
    assert cast(Any, prepared.plan.to_json())["config"]["data"]["transform"] == "residual:weights.npz"
    assert cast(Any, prepared.plan.to_json())["config"]["data"]["source"] == "npz:images.npz"


def test_a_missing_file_of_weights_is_named(tmp_path: Path) -> None:
    config = parse_config(document(images(tmp_path, 3, 16, 16), "residual:none.npz", "logistic", STABLE))
    with pytest.raises(ConfigurationError, match=r"Cannot read weights from none\.npz"):
        federation_of(config.data)
    with pytest.raises(ConfigurationError, match=r"Cannot read weights from \.: Is a directory"):
        PublicWeights(".", None).read()
    with pytest.raises(ConfigurationError) as caught:
        PublicWeights("ward/none.npz", None).read()
    assert str(caught.value).endswith(
        "from none.npz: No such file or directory. Its path is taken from the working folder."
    )
    with pytest.raises(ConfigurationError, match=r"from none\.npz: No such file or directory\.$"):
        PublicWeights(str(tmp_path / "none.npz"), None).read()


def test_residual_weights_of_another_hash_are_refused(tmp_path: Path) -> None:
    weights = residual_weights(tmp_path)
    table = document(images(tmp_path, 3, 16, 16), f"residual:{weights}", "logistic", STABLE)
    stated = {"sha256": hashlib.sha256(weights.read_bytes()).hexdigest(), "source": "here", "licence": "none"}
    table["data"]["pretrained"] = stated
    assert federation_of(parse_config(table).data).feature_shape == (8 + 1,)
    table["data"]["pretrained"] = stated | {"sha256": "0" * 64}
    with pytest.raises(ConfigurationError, match=r"'sha256' must be that of the public weights weights\.npz"):
        federation_of(parse_config(table).data)


def test_maps_for_networks_have_no_norm_to_scale_to(tmp_path: Path) -> None:
    changed = document(images(tmp_path, 28, 28), "scattering-maps", "cnn-group-norm", SINGLE)
    changed["data"]["feature_norm_bound"] = 1.0
    with pytest.raises(ConfigurationError, match="must be left out with scattering-maps"):
        federation_of(parse_config(changed).data)


def test_an_unknown_transform_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"data\.transform"):
        parse_config(document(images(tmp_path, 28, 28), "wavelets", "logistic", STABLE))


def test_a_rehearsing_silo_finds_records_and_weights_by_its_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan names both files without their folders, and the silo runs elsewhere."""
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    weights = residual_weights(Path())
    table = document(images(Path(), 3, 16, 16), f"residual:{weights}", "logistic", STABLE)
    folder = tmp_path / "consortium"
    plan = rehearse(parse_config(table | {"aggregation": {"protocol": "bonawitz"}}), folder)
    silo = plan.facts.silos[0]
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = dry_run(load_policy(folder / "silos" / silo / "policy.toml"), plan)
    assert (found.features, found.plan.digest()) == (8 + 1, plan.digest())
    honest = FrozenResidual.features
    monkeypatch.setattr(FrozenResidual, "features", lambda self, images: 1.01 * honest(self, images))
    with pytest.raises(PolicyRefusal, match="must be the feature map that the plan was made with") as refused:
        dry_run(load_policy(folder / "silos" / silo / "policy.toml"), plan)
    assert refused.value.code is RefusalCode.PLAN
    assert "answers public record" not in str(refused.value), "which a server is shown"
    assert "it answers public record" in refused.value.__notes__[0]
    assert str(tmp_path) not in str(refused.value)
    assert found.records


def test_a_network_whose_rows_depend_on_their_company_makes_no_features(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = residual_weights(tmp_path)
    data = parse_config(document(images(tmp_path, 3, 16, 16), f"residual:{weights}", "logistic", STABLE)).data
    batch_norm = partial(torch.nn.functional.batch_norm, training=True)
    monkeypatch.setattr("discreet.models.residual.functional.batch_norm", batch_norm)
    with pytest.raises(PrivacyRefusal, match=r"features must not depend .* those of 'residual:.* do\. Unset"):
        federation_of(data)
