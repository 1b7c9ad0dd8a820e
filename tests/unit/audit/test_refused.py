"""What an audit does not rehearse is refused before anything is read or planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import ConfigurationError

EXAMPLES = Path(__file__).parents[3] / "examples"
TABLES = """
name = "prepared"
privacy = { epsilon = 1.0, delta = 1e-5 }
data = { source = "heart-disease", record_capacity = 300%s }
training.local = { kind = "stable-steps"%s }
"""


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("paces.toml", "training.schedule"),
        ("segments.toml", "training.segments"),
        (TABLES % ("", ', class_weights = { kind = "private" }'), "training.local.class_weights"),
        (TABLES % (', centre = { kind = "private", share = 0.1 }', ""), "data.centre"),
    ],
)
def test_no_plan_is_made_to_be_refused(
    config: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("discreet.cli.audit.prepare")
    path = EXAMPLES / config
    if "\n" in config:
        path = tmp_path / "config.toml"
        path.write_text(config)
    error = CliRunner().invoke(app, ["audit", str(path)]).exception
    assert isinstance(error, ConfigurationError)
    assert f"'{key}' must be left out for an audit" in str(error)
