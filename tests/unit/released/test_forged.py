"""A model file that was tampered with is refused in one line, whatever is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from discreet.errors import ConfigurationError
from discreet.released import load_model, require_new
from discreet.rounds import parse_origin
from discreet.session import Run


def forged(run: Run, path: Path, **changes: Any) -> Path:
    """The run's model file with changed statements, tensors, or metadata as a whole."""
    data = run.record.directory.model.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    about = json.loads(header["__metadata__"]["discreet"])
    tensors = {name: changes.get("factor", 1.0) * array for name, array in load(data).items()}
    about["guarantees"] = [row | changes.get("guarantee", {}) for row in about["guarantees"]]
    text = json.dumps(about, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    path.write_bytes(save(tensors, metadata={"discreet": text}))
    return path


def test_a_file_states_no_stronger_guarantee_than_its_plan_gives(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="what its plan gives, epsilon"):
        load_model(forged(run, tmp_path / "m.safetensors", guarantee={"epsilon": 1e-6}))
    with pytest.raises(ConfigurationError, match="what its plan gives, epsilon"):
        load_model(forged(run, tmp_path / "m.safetensors", guarantee={"delta": 1e-9}))
    assert load_model(forged(run, tmp_path / "m.safetensors")).plan.digest() == run.plan.digest()


def test_weights_that_are_no_numbers_are_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="must hold finite numbers"):
        load_model(forged(run, tmp_path / "m.safetensors", factor=np.float32(np.nan)))


def test_metadata_of_another_form_are_one_line(run: Run, tmp_path: Path) -> None:
    data = run.record.directory.model.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] = None
    text = json.dumps(header).encode()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(ConfigurationError, match=r"m\.safetensors must be a model"):
        load_model(path)


def test_a_description_has_one_form(run: Run) -> None:
    text = run.record.origin.text()
    with pytest.raises(ConfigurationError, match="it was altered"):
        parse_origin(json.dumps(json.loads(text)), name="m")


def test_a_link_is_no_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="--out must be a new file"):
        require_new(tmp_path / "link", "--out")
