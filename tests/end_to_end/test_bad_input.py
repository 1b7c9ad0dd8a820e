"""Bad input: one clear line, exit code 2 (3 for a privacy refusal), and nothing written."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST, EXIT_PRIVACY_REFUSAL

HEART = (Path(__file__).parents[1] / "support" / "tuned_heart.toml").read_text()

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
        (
            replaced('unit = "record"', 'unit = "client"'),
            "'privacy.unit' must be record or person for stable-steps",
        ),
        (replaced("learning_rate = 0.03", "learning_rate = 0.3"), "non-expansive"),
        (replaced("switzerland = 50", "geneva = 50"), "geneva, switzerland"),
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


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``discreet run`` on a config given as text, which works; returns the notes on standard error."""

    def go(text: str) -> tuple[int, str]:
        config = tmp_path / "config.toml"
        config.write_text(text)
        out = tmp_path / "out"
        monkeypatch.setattr(sys, "argv", ["discreet", "run", str(config), "--out", str(out), "--overwrite"])
        with pytest.raises(SystemExit) as caught:
            main()
        assert (out / "model.safetensors").exists()
        return int(str(caught.value.code or 0)), capsys.readouterr().err

    return go


@pytest.mark.parametrize("poison", [np.nan, np.inf])
def test_a_record_that_is_not_finite_stops_nobody(go: Run, tmp_path: Path, poison: float) -> None:
    features = np.ones((120, 3), dtype=np.float32)
    features[7, 1] = poison
    write_npz(tmp_path / "bad.npz", features, np.zeros(120, dtype=np.int64))
    code, notes = go(npz_config(tmp_path / "bad.npz"))
    assert code == 0
    assert "records: bad.npz, arrays 'x_train' and 'y_train': 1 of 120 records hold NaN or Inf" in notes


def test_a_label_out_of_range_stops_nobody(go: Run, tmp_path: Path) -> None:
    labels = np.zeros(120, dtype=np.int64)
    labels[3] = 7
    write_npz(tmp_path / "bad.npz", np.ones((120, 3), dtype=np.float32), labels)
    code, notes = go(npz_config(tmp_path / "bad.npz"))
    assert code == 0
    assert "1 of 120 labels are not in [0, 2)" in notes


def test_a_silo_without_records_takes_part(go: Run, tmp_path: Path) -> None:
    write_npz(tmp_path / "few.npz", np.ones((3, 3), dtype=np.float32), np.array([0, 1, 0]))
    assert go(npz_config(tmp_path / "few.npz"))[0] == 0


def test_more_records_than_the_capacity_are_left_out(go: Run) -> None:
    code, notes = go(replaced("switzerland = 50", "switzerland = 10"))
    assert code == 0
    assert "silo 'switzerland': " in notes
    assert "more than its record_capacity of 10; they are left out" in notes


CSV_CONFIG = """
[data]
source = "csv:{path}"
label = "ill"
ranges = {{ age = [0, 100] }}
categories = {{ sex = ["f", "m"] }}
partition = {{ kind = "column", column = "site", names = ["a", "b", "empty"] }}
record_capacity = 40
test_fraction = {fraction}
[training]
rounds = 2
local = {{ kind = "stable-steps", learning_rate = 0.05, records_per_step = 16 }}
[privacy]
epsilon = 2.0
delta = 1e-5
[run]
compare = {compare}
"""


@pytest.mark.parametrize(("fraction", "compare"), [("0.25", "true"), ("0.0", "true"), ("0.0", "false")])
def test_a_table_with_bad_cells_and_an_empty_silo_trains(
    go: Run, tmp_path: Path, fraction: str, compare: str
) -> None:
    rows = [f"{'ab'[n % 2]},{20 + n},{'fm'[n % 3 % 2]},{n % 2}" for n in range(40)]
    rows[3], rows[5], rows[8], rows[9] = "a,eighty,?,1", "b,30,f,unknown", "a,30", "elsewhere,30,f,1"
    (tmp_path / "t.csv").write_text("\n".join(["site,age,sex,ill", *rows]))
    code, notes = go(CSV_CONFIG.format(path=tmp_path / "t.csv", fraction=fraction, compare=compare))
    assert code == 0
    for words in (
        "1 of 40 rows have another number of cells",
        "column 'ill': 1 of 39 cells are none of the classes 0, 1",
        "column 'age': 1 of 39 cells hold no finite number",
        "column 'sex': 1 of 39 cells are none of f, m",
        "1 of 38 records are of no silo of the federation",
    ):
        assert words in notes
    assert ("no record is held out, so nothing is measured" in notes) == (fraction == "0.0")
    assert "unknown" not in notes
    assert "eighty" not in notes
    report = (tmp_path / "out" / "report.html").read_text()
    assert ("no record was held out" in report) == (fraction == "0.0")


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
