"""``flwr run`` in Flower's own simulation (Ray): the third way to carry a plan out, with the same bytes.

Needs ``pip install 'flwr[simulation]'``. Flower starts a SuperLink that would go on running; it is ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("flwr")
pytest.importorskip("ray")

from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.project import write_app
from discreet.engines.flower.up.deployment import environment
from discreet.engines.local import run

SECONDS = 300.0


@pytest.fixture
def flower() -> Iterator[dict[str, str]]:
    """An environment for Flower's commands; whatever runs in it is ended afterwards."""
    with TemporaryDirectory(prefix="flwr-") as home:
        yield {**environment(Path(home)), "RAY_DEDUP_LOGS": "0"}
        for number in running_in(home):
            os.kill(number, signal.SIGKILL)
        assert await_none(home)


def running_in(home: str) -> list[int]:
    """Returns the living processes whose environment names this home of Flower."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if f"FLWR_HOME={home}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def await_none(home: str) -> bool:
    deadline = time.monotonic() + 20.0
    while running_in(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not running_in(home)


@pytest.mark.slow
def test_flowers_simulation_gives_the_bytes_of_the_local_engine(flower, small_config, tmp_path):
    run(small_config(), tmp_path / "local")
    with TemporaryDirectory(prefix="sim-") as short:
        folder = ConsortiumFolder(Path(short) / "c")
        plan = rehearse(small_config(), folder.path)
        write_app(folder.path / "app")
        done = subprocess.run(
            [
                Path(sys.executable).parent / "flwr", "run", folder.path / "app", "local", "--stream",
                "--federation-config",
                f"num-supernodes={len(plan.facts.silos)} client-resources-num-cpus=1",
                "-c", f'folder="{folder.server.path}" rehearsal="{folder.silos}" patience=60.0',
            ],
            env=flower, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert folder.server.outcome.exists(), done.stdout[-2000:] + done.stderr[-2000:]
        log = folder.server.log.read_text()
        assert '"status": "completed"' in folder.server.outcome.read_text(), log
        expected = (tmp_path / "local" / "model.safetensors").read_bytes()
        assert folder.server.run.model.read_bytes() == expected
