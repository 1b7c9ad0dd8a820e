"""``flwr run`` in Flower's own simulation (Ray): the third way to carry a plan out, with the same bytes.

Needs ``pip install 'flwr[simulation]'``. Ray's processes leave their parents; the environment marks them.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest.importorskip("flwr")
pytest.importorskip("ray")

from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.project import write_app
from discreet.engines.flower.up.deployment import environment
from discreet.engines.flower.up.processes import Children
from discreet.engines.local import run

SECONDS = 500.0


@pytest.fixture
def flower(tmp_path: Path) -> Iterator[Children]:
    """A SuperLink for simulations, with patience: `flwr run` alone gives its own 15 s to start."""
    with TemporaryDirectory(prefix="flwr-") as home, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        (Path(home) / "config.toml").write_text(
            f'[superlink.sim]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
        )
        with Children(tmp_path / "logs", environment(Path(home))) as children:
            superlink = children.start(
                "superlink",
                [Path(sys.executable).parent / "flower-superlink", "--insecure", "--simulation",
                 "--isolation", "subprocess", "--host", "127.0.0.1", "--port", str(port)],
            )  # fmt: skip
            deadline = time.monotonic() + SECONDS
            while not listening(port) and superlink.alive and time.monotonic() < deadline:
                time.sleep(0.2)
            assert listening(port), superlink.last_lines(5)
            yield children
        for number in running_in(home):
            os.kill(number, signal.SIGKILL)
        assert await_none(home)


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


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
def test_flowers_simulation_gives_the_bytes_of_the_local_engine(
    flower: Children, small_config: Any, tmp_path: Path
) -> None:
    run(small_config(), tmp_path / "local")
    with TemporaryDirectory(prefix="sim-") as short:
        folder = ConsortiumFolder(Path(short) / "c")
        plan = rehearse(small_config(), folder.path)
        write_app(folder.path / "app")
        done = subprocess.run(
            [
                Path(sys.executable).parent / "flwr", "run", folder.path / "app", "sim", "--stream",
                "--federation-config",
                f"num-supernodes={len(plan.facts.silos)} client-resources-num-cpus=1",
                "-c", f'folder="{folder.server.path}" rehearsal="{folder.silos}" patience=240.0',
            ],
            env=dict(flower.environment), capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        said = done.stdout[-4000:] + done.stderr[-2000:]
        assert folder.server.outcome.exists(), said
        assert '"status": "completed"' in folder.server.outcome.read_text(), said
        expected = (tmp_path / "local" / "model.safetensors").read_bytes()
        assert folder.server.run.model.read_bytes() == expected
