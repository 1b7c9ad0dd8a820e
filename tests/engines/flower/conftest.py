"""Commands that start processes of their own, none of which outlives the test, however that ends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest

from discreet.engines.flower.up.processes import Children


@pytest.fixture
def run_to_end(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Returns what runs a command to its end, and gives its exit code and all that it said."""
    numbers = count()

    def run(
        command: Sequence[str | Path],
        folder: Path | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> tuple[int, str]:
        with Children(tmp_path / f"said-{next(numbers)}", environment) as children:
            child = children.start("command", command, folder)
            return child.process.wait(), child.log.read_text(encoding="utf-8")

    return run
