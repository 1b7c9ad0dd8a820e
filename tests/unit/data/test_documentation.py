"""docs/data.md is true: its code runs, its config loads, its error message is the real one."""

import re
import tomllib
from pathlib import Path

import pytest

from discreet.config import parse_config
from discreet.config.federation import federation_of
from discreet.data import load_federation
from discreet.data.load import BUNDLED

DOCUMENT = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    assert found is not None
    return found[1]


def test_the_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block("python"), "docs/data.md", "exec"), {})  # noqa: S102 (our own documentation)
    assert capsys.readouterr().out.startswith("cleveland 2")


def test_the_config_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = [f"{20 + n},{80 + n},{['female', 'male'][n % 2]},{'ab'[n % 2]},{n % 2}" for n in range(40)]
    Path("patients.csv").write_text("\n".join(["age,pressure,sex,hospital,disease", *cells]))
    rest = {
        "training": {"rounds": 1, "local": {"kind": "single-step"}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
    }
    config = parse_config({**tomllib.loads(block("toml")), **rest})
    federation = federation_of(config.data)
    assert federation.silo_names == ("a", "b")
    assert federation.feature_names == ("age", "pressure", "sex = female", "sex = male", "constant")
    Path("patients.csv").write_text(
        "\n".join(["age,pressure,sex,hospital,disease", *cells]).replace("20,", ",")
    )
    shown = re.search(r"^patients\.csv, column 'age'.*$", DOCUMENT, flags=re.MULTILINE)
    assert shown is not None
    assert federation_of(config.data).warnings == (shown[0].replace("3 of 512", "1 of 40"),)


def test_every_bundled_source_is_listed_with_its_size() -> None:
    for name in BUNDLED:
        row = re.search(rf"^\| `{name}` \| (\d+)", DOCUMENT, flags=re.MULTILINE)
        assert row is not None, name
        assert int(row[1]) == len(BUNDLED[name]().records)
    assert load_federation("heart-disease").feature_shape == (16,)
