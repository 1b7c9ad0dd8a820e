"""The tutorial's commands run as they are written."""

from __future__ import annotations

import csv
import importlib.util
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.engines.flower.up.processes import Children
from discreet.verify import verify

DOCS = Path(__file__).parents[3] / "docs"
TUTORIAL = DOCS / "tutorial" / "four-machines.md"
SILOS = ("cleveland", "hungary", "long_beach_va", "switzerland")
START_SECONDS = 240.0


def page_blocks(page: Any) -> Any:
    """Reads a page's blocks with the parser of the documentation's own tests."""
    path = DOCS.parent / "tests" / "docs" / "blocks.py"
    spec = importlib.util.spec_from_file_location("blocks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["blocks"] = module
    spec.loader.exec_module(module)
    return module.blocks(page.read_text(encoding="utf-8"))


def free_port() -> Any:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_(ready: Any, child: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        assert child.alive, child.last_lines(20)
        assert time.monotonic() < deadline, child.last_lines(20)
        time.sleep(0.1)


def listening(port: Any) -> Any:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Reader:
    """Does what a page says, with the substitutions that the page itself names.

    Attributes:
        scratch: stands for the page's ``/srv``.
        folder: where the next command runs.
        children: what stays.
        port: the server's, for the page's 8000.
    """

    scratch: Path
    folder: Path
    children: Children
    port: int

    def follow(self, block: Any) -> None:
        for silo in SILOS if block.each else SILOS[:1]:
            text = self.here(block.text.replace("cleveland", silo) if block.each else block.text)
            if block.file is not None:
                path = self.folder / block.file
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            elif block.stays:
                self.start(text, silo)
            else:
                self.run(text)

    def here(self, text: str) -> str:
        text = text.replace("SERVER", "127.0.0.1")
        text = text.replace("/srv/", f"{self.scratch}/")
        return text.replace("8000", str(self.port)).replace("9094", str(free_port()))

    def run(self, text: str) -> None:
        """Runs a block in a shell; its exports and its folder hold for the next one too."""
        state = self.scratch / "state"
        done = subprocess.run(
            ["/bin/bash", "-euc", f"{text}\nenv -0 > {state}; pwd >> {state}"],
            cwd=self.folder, env=self.children.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, text + done.stdout + done.stderr
        *variables, folder = state.read_text(encoding="utf-8").split("\0")
        self.children.environment = dict(variable.split("=", 1) for variable in variables)
        self.folder = Path(folder.strip())

    def start(self, text: str, silo: str) -> None:
        name = text.split(maxsplit=1)[0]
        child = self.children.start(f"{name}-{silo}", ["/bin/bash", "-euc", text], self.folder)
        if name == "flower-superlink":
            await_(lambda: listening(self.port), child)
        elif name == "discreet":
            await_((self.folder / "silos" / silo / "silo.sock").exists, child)

    def bring_records(self) -> None:
        """Makes up records for every silo: what the hospitals bring."""
        for number, silo in enumerate(SILOS):
            generator = np.random.default_rng(number)
            with (self.folder / "silos" / silo / "records.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["age", "blood_pressure", "sex", "sick"])
                for row in range(100):
                    writer.writerow([row % 90, 90 + row, "fm"[row % 2], int(generator.integers(2))])


@pytest.fixture
def reader(short_folder: Path) -> Iterator[Reader]:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    with Children(short_folder / "logs", {**os.environ, "PATH": path}) as children:
        yield Reader(short_folder, short_folder, children, free_port())


@pytest.mark.slow
@pytest.mark.loopback
def test_every_block_of_the_tutorial_runs_from_certificates_to_a_verified_model(reader: Reader) -> None:
    pytest.importorskip("flwr")
    for block in page_blocks(TUTORIAL):
        if "discreet check" in block.text:
            reader.bring_records()
        reader.follow(block)
    released = [reader.folder / "silos" / silo / "run" for silo in SILOS]
    assert len({(folder / "model.safetensors").read_bytes() for folder in released}) == 1
    assert {"signature", "server/run"} & {finding.subject for finding in verify(released[0])}
    log = (reader.folder / "server" / "server.log").read_text(encoding="utf-8")
    assert "round 5/5: 4 silos" in log


def test_only_what_other_tests_run_is_not_in_a_block() -> None:
    """An indented command is not executed; these are, elsewhere, or install."""
    indented = re.findall(
        r"^    (\S.*)$", re.sub(r"```.*?```", "", TUTORIAL.read_text(encoding="utf-8"), flags=re.S), re.M
    )
    assert indented == [
        "discreet up examples/heart.toml --silos 4",
        "discreet up examples/heart.toml --silos 4 --kill silo-2@round-3",
        "make flower",
        'export PATH="$PWD/.venv-flower/bin:$PATH"',
    ]
