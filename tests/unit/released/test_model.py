"""A model is used from its file alone, and a file that is not whole is one line."""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import discreet
from discreet.data.frames import table_of
from discreet.errors import ConfigurationError, DataError
from discreet.models import model_file
from discreet.privacy.wire import canonical, digest
from discreet.released import Model, load_model
from discreet.session import Arrays, Run, Target, open_run, plan_training, train
from discreet.verify import VerificationFailure, seal
from tests.unit.released.conftest import ROWS

# Rows hold texts that no plan knows, of which a warning tells.
pytestmark = pytest.mark.filterwarnings("ignore:the records, column")


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    """The model file by itself, far from its run."""
    return Path(shutil.copy(run.path / "model.safetensors", tmp_path / "alone.safetensors"))


def rewrite(file: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Changes what a model file says of itself, its weights untouched."""
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    about = json.loads(header["__metadata__"]["discreet"])
    change(about)
    header["__metadata__"]["discreet"] = canonical(about).decode()
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


def test_the_file_alone_predicts_what_the_run_does(run: Run, file: Path) -> None:
    model = discreet.load_model(file)
    np.testing.assert_array_equal(model.predict_proba(ROWS), run.predict_proba(ROWS))
    assert model.predict(ROWS).tolist() == run.predict(ROWS).tolist()
    assert set(model.predict(ROWS)) == {"no", "yes"}
    assert model.classes == ("no", "yes")
    assert model.guarantees == run.guarantees
    assert model.plan.digest() == run.plan.digest()
    assert "SIMULATION" in repr(model)
    assert "PROVEN" in str(model)
    assert ", probabilities not calibrated" in repr(model)
    assert str(model).endswith(f"\n  {model.caveat}")
    assert "<table>" in model._repr_html_()


def test_a_folder_of_a_run_is_as_good(run: Run) -> None:
    by_folder = load_model(run.path)
    np.testing.assert_array_equal(by_folder.predict_proba(ROWS), run.predict_proba(ROWS))


def test_records_are_read_by_the_public_rules(run: Run, file: Path) -> None:
    """Age 130 counts as 90, an unknown text as none, and a blank number as the middle of its range."""
    odd = {"age": [130, 55], "weight": [None, 80], "sex": ["?", "m"]}
    plain = {"age": [90, 55], "weight": [80, 80], "sex": ["other", "m"]}
    model = load_model(file)
    np.testing.assert_array_equal(model.predict_proba(odd), model.predict_proba(plain))
    assert model.predict_proba({"age": [], "weight": [], "sex": []}).shape == (0, 2)


def test_a_missing_column_is_one_line(file: Path) -> None:
    with pytest.raises(DataError, match="no column 'weight'"):
        load_model(file).predict({"age": [1], "wieght": [1], "sex": ["f"]})


def test_of_arrays_a_model_of_tables_takes_encoded_rows_alone(run: Run) -> None:
    """Columns of a frame may be as many as features, the label in the constant's place."""
    model = load_model(run.path)
    (width,) = model.plan.facts.feature_shape
    rules = model.require_rules()
    encoded, _ = rules.features(table_of(ROWS, rules.used, name="rows"))
    expected = model.predict_proba(ROWS)
    np.testing.assert_array_equal(model.predict_proba(encoded), expected)
    np.testing.assert_allclose(model.predict_proba(encoded.astype(np.float16)), expected, atol=1e-3)
    assert model.predict_proba(encoded[:0]).shape == (0, 2)
    frame = np.column_stack([np.full(5, 61.0), np.full((5, width - 2), 70.0), np.ones(5)])
    for records in (
        frame,
        frame / 1e3,
        -encoded,
        np.vstack([encoded, frame]),
        np.where(encoded > 0, np.nan, encoded),
        frame.astype(object),
        frame.astype(str),
        frame[:, 1:],
        frame[0],
        np.array(1.0),
        frame.astype(np.uint8),
        frame.tolist(),
        torch.from_numpy(frame),
        None,
    ):
        for ask in (model.predict_proba, model.predict):
            with pytest.raises(
                DataError, match=r"a DataFrame or a mapping of columns, .* constant last"
            ) as caught:
                ask(records)
            assert "silo" not in str(caught.value)


def test_the_same_seed_gives_the_same_file(run: Run, tmp_path: Path) -> None:
    again = open_run(shutil.copytree(run.path, tmp_path / "run"))
    written = model_file(again.model, _weights(again.model), again.record.origin.text())
    assert written == (run.path / "model.safetensors").read_bytes()


def _weights(model: nn.Module) -> Any:
    return torch.cat([weight.detach().ravel() for weight in model.parameters()]).double().numpy()


def _altered_plan(about: dict[str, Any]) -> None:
    about["plan"]["plan"]["config"]["data"]["ranges"]["age"] = [0, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about.update(version=99), "version 2; got 99"),
        (lambda about: about.pop("version"), "cannot be read"),
        (_altered_plan, "must match its own digest"),
        (lambda about: about.update(seeded="no"), "'seeded' of Origin"),
        (lambda about: about.update(more=1), "no field 'more'"),
        (lambda about: about.pop("guarantees"), "'guarantees' of Origin"),
        (lambda about: about["guarantees"][0].update(epsilon=-1.0), "epsilon must be >= 0"),
        (lambda about: about.update(plan=[]), "must be a plan"),
    ],
)
def test_an_altered_description_is_one_line(
    file: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    rewrite(file, change)
    with pytest.raises(ConfigurationError, match=message) as caught:
        load_model(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "cannot be read"),
        (b"age,sex\n1,2\n", "cannot be read"),
        (struct.pack("<Q", 2) + b"{}", "does not say what it is"),
        (struct.pack("<Q", 20) + b'{"__metadata__":{}} ', "does not say what it is"),
    ],
)
def test_a_file_that_is_not_ours_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "other.safetensors").write_bytes(data)
    with pytest.raises(ConfigurationError, match=message):
        load_model(tmp_path / "other.safetensors")


def test_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no"):
        load_model(tmp_path)


def test_weights_of_another_shape_are_one_line(run: Run, tmp_path: Path) -> None:
    """A plan's description around the weights of another model."""
    other = nn.Linear(3, 1, bias=False)
    (tmp_path / "other.safetensors").write_bytes(model_file(other, _weights(other), run.record.origin.text()))
    with pytest.raises(ConfigurationError, match=r"'weight' as float32 \(1, 5\); got float32 \(1, 3\)"):
        load_model(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda about: about.update(seeded=False), "seeded"),
        (lambda about: about.update(completed=3), "completed"),
        (lambda about: about["guarantees"][0].update(epsilon=0.5), "guarantees.0.epsilon"),
    ],
)
def test_a_description_that_promises_more_is_found_although_it_was_sealed(
    run: Run, tmp_path: Path, change: Callable[[dict[str, Any]], Any], where: str
) -> None:
    copy = open_run(shutil.copytree(run.path, tmp_path / "run"))
    copy.verify()
    rewrite(copy.path / "model.safetensors", change)
    seal(copy.path)
    with pytest.raises(VerificationFailure, match=rf"model\.safetensors: '{where}'"):
        copy.verify()


def test_a_later_version_verifies_what_an_earlier_one_wrote(run: Run, tmp_path: Path) -> None:
    copy = open_run(shutil.copytree(run.path, tmp_path / "run"))
    model = copy.path / "model.safetensors"
    earlier = json.loads(copy.record.origin.text()) | {"software": "0.0.1"}
    model.write_bytes(model_file(copy.model, _weights(copy.model), canonical(earlier).decode()))
    seal(copy.path)
    assert copy.verify()


NET = """
from torch import nn
def make(shape, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, classes))
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A network of one's own over arrays of bytes, of shape (2, 3)."""
    (tmp_path / "ownnet.py").write_text(NET)
    monkeypatch.syspath_prepend(tmp_path)
    draw = np.random.default_rng(1)
    silos = {
        name: (draw.integers(0, 256, (40, 2, 3)).astype(np.uint8), draw.integers(0, 3, 40))
        for name in ("a", "b", "c")
    }
    arrays = Arrays(silos, num_classes=3, pixels=True)
    plan = plan_training(
        arrays.public(capacity=50),
        target=Target(8.0),
        rounds=1,
        model="ownnet:make",
        local={"kind": "single-step"},
        privacy={"clip_norm": 1.0},
    )
    run = train(plan, arrays, out=tmp_path / "own", seed=1)
    sys.modules.pop("ownnet")
    return run


@pytest.mark.filterwarnings("ignore:.*ownnet")
def test_a_model_of_ones_own_over_arrays_is_read_as_it_was_trained(own: Run) -> None:
    model = load_model(own.path, own_code=True)
    images = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    np.testing.assert_array_equal(model.predict_proba(images), own.predict_proba(images))
    network = load_model(own.path, own_code=True).network
    with torch.no_grad():
        by_hand = torch.softmax(network(torch.from_numpy(images).float() / 255).double(), dim=1)
    np.testing.assert_allclose(model.predict_proba(images), by_hand.numpy(), atol=1e-6)
    assert model.predict(images).dtype == np.int64
    with pytest.raises(DataError, match="shape"):
        model.predict(images[0])
    with pytest.raises(ConfigurationError, match=r"trained on tables.*arrays, of shape \(2, 3\)"):
        model.require_rules()


@pytest.mark.filterwarnings("ignore:.*ownnet")
def test_a_model_of_ones_own_is_not_imported_without_leave_nor_made_without_its_code(
    own: Run, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=r"'ownnet:make'.*--own-code"):
        load_model(own.path)
    assert "ownnet" not in sys.modules
    (tmp_path / "ownnet.py").unlink()
    with pytest.raises(ConfigurationError, match="Cannot import model factory 'ownnet:make'"):
        load_model(own.path, own_code=True)


def test_the_description_fits_its_plan(run: Run) -> None:
    about = json.loads(run.record.origin.text())
    assert about["plan"]["digest"] == digest(about["plan"]["plan"]) == run.plan.digest()
    assert about["software"] == discreet.__version__
    assert isinstance(run.released, Model)
