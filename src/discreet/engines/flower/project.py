"""The Flower app: a ``pyproject.toml`` alone, whose components are those of the installed package."""

from __future__ import annotations

from pathlib import Path

from discreet.version import __version__

_APP = """# The Flower app of a consortium: no code, both components are those of the installed package.
[project]
name = "discreet-consortium"
version = "{version}"
description = "Differentially private federated training with secure aggregation"
license = {{ file = "LICENSE" }}
dependencies = ["discreet[flower]>={version}", "flwr>=1.41,<2"]

[tool.flwr.app]
publisher = "consortium"
fab-format-version = 1
flwr-version-target = "1.41.0"

[tool.flwr.app.components]
serverapp = "discreet.engines.flower.server_app:app"
clientapp = "discreet.engines.flower.client_app:app"

[tool.flwr.app.config]
# On the server: the folder with plan.json and allow-list.json.
folder = ""
# Seconds that a stage waits for its slowest silo.
patience = 120.0
# Flower's simulation only: a folder of policies. Real silos leave it empty.
rehearsal = ""
"""

_LICENSE = "This folder holds configuration only; its owner decides who may use it.\n"


def write_app(folder: Path) -> None:
    """Writes the app into a new folder."""
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(_APP.format(version=__version__), encoding="utf-8")
    (folder / "LICENSE").write_text(_LICENSE, encoding="utf-8")
