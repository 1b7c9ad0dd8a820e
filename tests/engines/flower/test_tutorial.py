"""The tutorial's commands run as they are written."""

from __future__ import annotations

import csv
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorial" / "four-machines.md"
SILOS = ("cleveland", "hungary", "long_beach_va", "switzerland")


def write_records(folder):
    """Makes up records for every silo: what the hospitals bring."""
    for number, silo in enumerate(SILOS):
        generator = np.random.default_rng(number)
        with (folder / "silos" / silo / "records.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["age", "blood_pressure", "sex", "sick"])
            for row in range(100):
                writer.writerow([row % 90, 90 + row, "fm"[row % 2], int(generator.integers(2))])


@pytest.mark.slow
@pytest.mark.loopback
def test_the_blocks_of_the_tutorial_run_on_loopback(tmp_path, run_to_end):
    blocks = re.findall(r"```sh\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    folder = tmp_path
    for block in blocks:
        if "discreet check" in block:
            write_records(folder)
        code, said = run_to_end(["/bin/sh", "-euc", block], folder, {**os.environ, "PATH": path})
        assert code == 0, said
        folder = tmp_path / "study"
    assert "would take part" in said


def test_every_command_of_the_tutorial_exists():
    """A renamed verb would leave the tutorial behind."""
    from discreet.cli.lazy import SUMMARIES

    named = set(re.findall(r"discreet (\w+)", TUTORIAL.read_text(encoding="utf-8")))
    assert named <= SUMMARIES.keys()
    assert {"up", "new", "check", "silo", "consortium"} <= named
