"""Real processes die at any time and in any order: the training goes on, and nothing is left running."""

from __future__ import annotations

import logging
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("flwr")

from discreet.config import parse_config
from discreet.engines.flower.outcome import finished_run
from discreet.engines.flower.up import bring_up, keeper
from discreet.engines.flower.up.keeper import descendants
from discreet.privacy.ledger import Completed, Intent, Lost, read_ledger, spending
from discreet.session.finish import finish
from discreet.verify import verify

pytestmark = pytest.mark.slow

THREE_SILOS = """
name = "three"

[data]
source = "digits"
record_capacity = 700
partition = { kind = "iid", silos = 3 }

[training]
rounds = 12
local = { kind = "single-step" }

[privacy]
epsilon = 3.0
delta = 1e-5
clip_norm = 1.0

[aggregation]
min_survivors = 2

[run]
evaluate = false
"""
PATIENCE = 60.0
SEED = int(os.environ.get("DISCREET_KILL_SEED", "1"))


def command_lines() -> Iterator[tuple[int, str]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                yield int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue


def programs(root: int, marker: str) -> list[int]:
    """Returns what descends from ``root`` and was started by a command with ``marker``, keepers left out."""
    family = {process.number for process in descendants(root)}
    return [
        number
        for number, command in command_lines()
        if number in family and marker in command and keeper.__file__ not in command
    ]


@dataclass
class Killer:
    """Kills programs of a deployment, each at a random moment after a round has followed the last kill."""

    folder: Path
    victims: list[tuple[str, ...]]
    random: random.Random
    rounds: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    killed: list[str] = field(default_factory=list)

    def work(self) -> None:
        for victims in self.victims:
            if not self.rounds.acquire(timeout=600.0):
                return
            time.sleep(self.random.uniform(0.0, 15.0))
            found = [number for victim in victims for number in self.wait_for(victim)]
            for number in found:
                os.kill(number, signal.SIGKILL)
            logging.getLogger(__name__).info("killed %s: %s", victims, found)
            self.killed.extend(victims)
            while self.rounds.acquire(blocking=False):  # rounds before the kill do not count
                pass

    def wait_for(self, victim: str) -> list[int]:
        marker = {
            "superlink": f"flower-superlink --ssl-ca-certfile {self.folder}",
            "serverapp": "flwr-serverapp",
            "supernode": f"{self.folder}/silos/silo-2/supernode.key",
            "silo": f"{self.folder}/silos/silo-1/policy.toml",
        }[victim]
        deadline = time.monotonic() + 60.0
        while not (found := programs(os.getpid(), marker)) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found[:1]


def announcing(killer: Killer) -> Callable[[str], None]:
    def announce(line: str) -> None:
        logging.getLogger(__name__).info(line)
        if line.startswith("round "):
            killer.rounds.release()

    return announce


def test_a_training_goes_on_whatever_is_killed(tmp_path: Path) -> None:
    """A silo, a SuperNode, the SuperLink, the ServerApp, and the last two together, in a random order."""
    chance = random.Random(SEED)
    victims = [("silo",), ("supernode",), ("superlink",), ("serverapp",), ("superlink", "serverapp")]
    chance.shuffle(victims)
    folder = tmp_path / "up"
    killer = Killer(folder, victims, chance)
    threading.Thread(target=killer.work, daemon=True).start()
    done = bring_up(
        parse_config(tomllib.loads(THREE_SILOS)), folder, silos=3, kill=None, port=None,
        patience_seconds=PATIENCE, announce=announcing(killer),
    )  # fmt: skip
    assert sorted(killer.killed) == sorted(victim for group in victims for victim in group)
    run = done.folder.server.run
    finish(finished_run(run), None)
    assert [finding.subject for finding in verify(run.path)]
    assert all(np.isfinite(tensor).all() for tensor in load_file(run.model).values())
    require_charges(done)
    assert not [number for number, command in command_lines() if str(folder) in command]


def require_charges(done: Any) -> None:
    """The server charges each planned release once; a silo charges all it was in, and no attempt twice."""
    entries = [line.entry for line in read_ledger(done.folder.server.run.ledger)]
    spent = spending(entries)
    assert (spent.charged, spent.pending) == (done.plan.rounds, None)
    assert len({release.transcript for release in spent.completed}) == len(spent.completed)
    attempts = sum(isinstance(entry, Intent) for entry in entries)
    assert attempts == len(spent.completed) + len(spent.lost) + spent.aborted
    for name in done.plan.facts.silos:
        own = [line.entry for line in read_ledger(done.folder.silo(name) / "state" / "ledger.jsonl")]
        charged = spending(own).charged
        took_part = sum(name in release.survivors for release in spent.completed)
        assert took_part <= charged <= attempts
        assert sum(isinstance(entry, Completed | Lost) for entry in own) <= sum(
            isinstance(entry, Intent) for entry in own
        )


@pytest.mark.loopback
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_signal_to_up_leaves_no_process(tmp_path: Path, number: Any) -> None:
    config, folder = tmp_path / "three.toml", tmp_path / "up"
    config.write_text(THREE_SILOS)
    said = tmp_path / "said"
    with said.open("wb") as file:
        # No keeper above it: what is left must have been ended by its own.
        command = [sys.executable, "-m", "discreet", "up", str(config), "--out", str(folder)]
        up = subprocess.Popen(command, stdout=file, stderr=file)
    try:
        await_(lambda: programs(up.pid, "flwr-serverapp") or up.poll() is not None)
        family = descendants(up.pid)
        # SuperLink, SuperNodes, their executors, silos, the submission, the ServerApp.
        assert len(family) >= 13, said.read_text()
        up.send_signal(number)
        assert up.wait(60.0) == (-number if number is signal.SIGKILL else 128 + number), said.read_text()
        await_(lambda: not any(process.alive for process in family))
        assert not [other for other, command in command_lines() if str(folder) in command]
    finally:
        up.kill()


def await_(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 240.0
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert condition()
