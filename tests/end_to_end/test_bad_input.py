"""Bad input: one clear line, exit code 2 (3 for a privacy refusal), and nothing written."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST, EXIT_PRIVACY_REFUSAL

HEART = (Path(__file__).parents[2] / "examples" / "heart.toml").read_text()

Run = Callable[[str], tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``discreet run`` on a config given as text and returns exit code and error output."""

    def run(text: str) -> tuple[int, str]:
        config, out = tmp_path / "config.toml", tmp_path / "out"
        config.write_text(text)
        monkeypatch.setattr(sys, "argv", ["discreet", "run", str(config), "--out", str(out)])
        with pytest.raises(SystemExit) as caught:
            main()
        assert not out.exists(), "something was written"
        return int(str(caught.value.code)), capsys.readouterr().err

    return run


def replaced(old: str, new: str) -> str:
    assert old in HEART
    return HEART.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            replaced("rounds = 8", "rounds = 8\nround = 3"),
            "unknown key 'training.round'. Did you mean 'rounds'?",
        ),
        (replaced("epsilon = 1.0", "epsilon = 0.0"), "'privacy.epsilon'"),
        (replaced("epsilon = 1.0", "epsilon = -1.0"), "'privacy.epsilon'"),
        (replaced("delta = 1e-5", "delta = 1.0"), "'privacy.delta'"),
        (replaced("min_survivors = 3", "min_survivors = 5"), "'aggregation.min_survivors' must be at most"),
        (replaced("max_colluding = 1", "max_colluding = 2"), "must be at least 2"),
        (
            replaced('protocol = "bonawitz"', 'protocol = "bonawitz"\nbits = 9'),
            "'aggregation.bits' must be at",
        ),
        (replaced('source = "heart-disease"', 'source = "hart-disease"'), "heart-disease"),
        (replaced('unit = "record"', 'unit = "client"'), "'privacy.unit' must be 'record' for stable-steps"),
        (replaced("learning_rate = 0.03", "learning_rate = 0.3"), "non-expansive"),
        (replaced("switzerland = 50", "geneva = 50"), "geneva, switzerland"),
        (replaced("switzerland = 50", "switzerland = 10"), "record_capacity"),
        (replaced('silo = "long_beach_va", round', 'silo = "bern", round'), "'run.dropouts.0.silo'"),
        (replaced('name = "logistic"', 'name = "logistics"'), "'logistic'"),
    ],
)
def test_one_line_and_nothing_written(run: Run, text: str, message: str) -> None:
    code, error = run(text)
    assert code == EXIT_BAD_REQUEST, error
    assert message in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1


def npz_config(path: Path, model: str = "logistic") -> str:
    return f"""
[data]
source = "npz:{path}"
num_classes = 2
feature_norm_bound = 1.0
record_capacity = 100
partition = {{ kind = "iid", silos = 4 }}
[model]
name = "{model}"
[training]
rounds = 2
local = {{ kind = "single-step" }}
[privacy]
epsilon = 1.0
delta = 1e-5
clip_norm = 1.0
"""


def write_npz(path: Path, features: np.ndarray, labels: np.ndarray) -> None:
    np.savez(path, x_train=features, y_train=labels, x_test=features[:10], y_test=labels[:10])


@pytest.mark.parametrize(
    ("poison", "message"),
    [(np.nan, "finite"), (np.inf, "finite")],
)
def test_records_that_are_not_finite(run: Run, tmp_path: Path, poison: float, message: str) -> None:
    features = np.ones((120, 3), dtype=np.float32)
    features[7, 1] = poison
    write_npz(tmp_path / "bad.npz", features, np.zeros(120, dtype=np.int64))
    code, error = run(npz_config(tmp_path / "bad.npz"))
    assert code == EXIT_BAD_REQUEST
    assert message in error


def test_labels_out_of_range(run: Run, tmp_path: Path) -> None:
    labels = np.zeros(120, dtype=np.int64)
    labels[3] = 7
    write_npz(tmp_path / "bad.npz", np.ones((120, 3), dtype=np.float32), labels)
    code, error = run(npz_config(tmp_path / "bad.npz"))
    assert code == EXIT_BAD_REQUEST
    assert "labels must be in" in error


def test_a_silo_without_records(run: Run, tmp_path: Path) -> None:
    write_npz(tmp_path / "few.npz", np.ones((3, 3), dtype=np.float32), np.array([0, 1, 0]))
    code, error = run(npz_config(tmp_path / "few.npz"))
    assert code == EXIT_BAD_REQUEST
    assert "record" in error


def test_a_model_with_batch_norm(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "batchnorm_model.py").write_text(
        "from torch import nn\n"
        "def make(shape, classes):\n"
        "    return nn.Sequential(nn.BatchNorm1d(shape[0]), nn.Linear(shape[0], classes))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    write_npz(tmp_path / "good.npz", np.ones((120, 3), dtype=np.float32), np.arange(120) % 2)
    code, error = run(npz_config(tmp_path / "good.npz", model="batchnorm_model:make"))
    assert code in (EXIT_BAD_REQUEST, EXIT_PRIVACY_REFUSAL)
    assert "BatchNorm1d" in error
    assert "GroupNorm" in error or "LayerNorm" in error


def test_a_directory_with_other_files_is_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config, out = tmp_path / "config.toml", tmp_path / "out"
    config.write_text(HEART)
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    for extra in ([], ["--overwrite"]):
        monkeypatch.setattr(sys, "argv", ["discreet", "run", str(config), "--out", str(out), *extra])
        with pytest.raises(SystemExit):
            main()
        assert "error: " in capsys.readouterr().err
        assert (out / "thesis.tex").read_text() == "years of work"
