"""A plan of three rounds, and a policy that just allows it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.config import Config, parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.silo.policy import Policy, load_policy


def config(**privacy: Any) -> Config:
    return parse_config(
        {
            "name": "small",
            "data": {
                "source": "heart-disease",
                "record_capacity": {
                    "cleveland": 240, "hungary": 210, "switzerland": 50, "long_beach_va": 110
                },
            },
            "training": {
                "rounds": 3,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5, **privacy},
            "aggregation": {"min_survivors": 3, "max_colluding": 1},
        }
    )  # fmt: skip


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A consortium as it is written; tests have a copy."""
    path = tmp_path_factory.mktemp("consortium") / "c"
    rehearse(config(), path)
    return path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> ConsortiumFolder:
    return ConsortiumFolder(shutil.copytree(made, tmp_path / "c"))


@pytest.fixture
def document(folder: ConsortiumFolder) -> bytes:
    return (folder.server.path / "plan.json").read_bytes()


@pytest.fixture
def policy(folder: ConsortiumFolder) -> Policy:
    return load_policy(folder.policy("cleveland"))


@pytest.fixture
def altered(document: bytes) -> Callable[..., Any]:
    """Changes the plan and gives it the digest that fits: what a lying server would send."""
    from discreet.privacy.wire import digest

    def change(edit: Callable[..., Any]) -> bytes:
        data = json.loads(document)
        edit(data["plan"])
        data["digest"] = digest(data["plan"])
        return json.dumps(data).encode()

    return change
