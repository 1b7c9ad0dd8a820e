"""Real SuperLink, SuperNodes and silos on loopback, with TLS and node authentication: minutes of work."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("flwr")

from discreet.config import load_config
from discreet.engines.flower.up import bring_up
from discreet.engines.flower.up.keeper import descendants
from discreet.engines.local import run
from discreet.privacy.ledger import read_ledger, spending
from discreet.verify import verify

pytestmark = pytest.mark.slow

THREE_SILOS = """
name = "three"

[data]
source = "digits"
record_capacity = 700
partition = { kind = "iid", silos = 3 }

[training]
rounds = 2
local = { kind = "single-step" }

[privacy]
epsilon = 3.0
delta = 1e-5
clip_norm = 1.0

[run]
seed = 3
evaluate = false
"""
PATIENCE = 60.0


@pytest.mark.loopback
def test_three_supernodes_give_the_bytes_of_the_local_engine_and_a_sealed_run(
    tmp_path: Path, run_to_end: Callable[..., tuple[int, str]]
) -> None:
    config, up = tmp_path / "three.toml", tmp_path / "up"
    config.write_text(THREE_SILOS)
    run(load_config(config), tmp_path / "local")
    code, said = run_to_end(
        [sys.executable, "-m", "discreet", "up", config, "--silos", "3", "--out", up, "--patience", "120"]
    )
    assert code == 0, said
    served, local = up / "server" / "run", tmp_path / "local"
    assert (served / "model.safetensors").read_bytes() == (local / "model.safetensors").read_bytes()
    states = [load_file(folder / "state.safetensors") for folder in (served, local)]
    assert states[0].keys() == states[1].keys()
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])
    assert [finding.subject for finding in verify(served)]
    assert not [path for path in up.rglob("*.sock") if path.is_socket()]
    assert not processes(str(up))


def test_a_power_cut_is_survived_and_accounted(tmp_path: Path, small_config: Any) -> None:
    done = bring_up(
        small_config(), tmp_path / "up", silos=4, kill="hungary@round-2", port=None,
        patience_seconds=PATIENCE, announce=print,
    )  # fmt: skip
    assert survivors(done) == [4, 3, 3]
    assert done.outcome["guarantee"]["epsilon"] == done.plan.spent(3).epsilon


@dataclass
class Freezing:
    """Stops processes as a cut line or a stuck machine would, without a word to anybody, and lets them go on.

    It listens to the server's log: at the first line that matches ``when`` it stops, at the first later one
    that matches ``until`` it goes on.
    """

    folder: Path
    names: tuple[str, ...]
    when: str
    until: str
    stopped: list[int] = field(default_factory=list)
    over: bool = False

    def __call__(self, line: str) -> None:
        if not self.stopped and re.match(self.when, line):
            self.stopped = [number for name in self.names for number in family(self.folder, name)]
            assert len(self.stopped) >= len(self.names)
            signal_all(self.stopped, signal.SIGSTOP)
        elif self.stopped and not self.over and re.search(self.until, line):
            signal_all(self.stopped, signal.SIGCONT)
            self.over = True


def signal_all(numbers: list[int], which: signal.Signals) -> None:
    for number in numbers:
        try:
            os.kill(number, which)
        except ProcessLookupError:  # it had ended by itself
            continue


def family(folder: Path, name: str) -> list[int]:
    """Returns the process that a log is named after, and what it started."""
    kind, _, silo = name.partition("-")
    own = {"silo": f"silos/{silo}/policy.toml", "supernode": f"silos/{silo}/supernode.key"}[kind]
    roots = processes(str(folder / own))
    return [*roots, *(process.number for root in roots for process in descendants(root))]


def processes(marker: str) -> list[int]:
    """Returns the processes whose command line holds ``marker``."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def survivors(done: Any) -> list[int]:
    lines = done.folder.server.run.metrics.read_text().splitlines()
    return [len(json.loads(line)["survivors"]) for line in lines]


def rehearse(config: Any, folder: Path, announce: Callable[[str], None]) -> Any:
    return bring_up(
        config, folder, silos=4, kill=None, port=None, patience_seconds=PATIENCE, announce=announce
    )


def longer(small_config: Any, **run_table: Any) -> Any:
    """Eight rounds: one to begin with, one or more without a silo, and some for it to come back."""
    training = {**small_config().model_dump(mode="json", exclude_none=True)["training"], "rounds": 8}
    return small_config(training=training, run={"seed": 7, "evaluate": False, **run_table})


@pytest.mark.parametrize("frozen", ["supernode-hungary", "silo-hungary"], ids=["network cut", "slow silo"])
def test_a_silent_silo_is_left_out_and_its_late_answer_never_enters(
    tmp_path: Path, small_config: Any, frozen: Any
) -> None:
    """The model is that of the local engine with the same silo missing in the same rounds, byte for byte."""
    folder = tmp_path / "up"
    freezing = Freezing(folder, (frozen,), when="round 1/", until="round 2/")
    done = rehearse(longer(small_config), folder, freezing)
    present = survivors(done)
    assert freezing.over
    assert (present[0], present[1], present[-1]) == (4, 3, 4), "out in round 2, back before the end"
    missing = [
        {"silo": "hungary", "round": number, "stage": "mask"}
        for number, count in enumerate(present, start=1)
        if count == 3
    ]
    run(longer(small_config, dropouts=missing), tmp_path / "local")
    expected = (tmp_path / "local" / "model.safetensors").read_bytes()
    assert done.folder.server.run.model.read_bytes() == expected


def test_too_many_silent_silos_abort_a_round_that_is_tried_again_with_fresh_randomness(
    tmp_path: Path, small_config: Any
) -> None:
    folder = tmp_path / "up"
    freezing = Freezing(
        folder,
        ("supernode-hungary", "supernode-switzerland"),
        when="round 1/",
        until="did not answer in time",
    )
    done = rehearse(longer(small_config), folder, freezing)
    spent = spending(line.entry for line in read_ledger(done.folder.server.run.ledger))
    assert freezing.over
    assert spent.aborted in {1, 2}, "the second attempt may come before they are back"
    assert (spent.charged, len(spent.completed)) == (8, 8)
    assert len({release.transcript for release in spent.completed}) == 8


@pytest.mark.parametrize("frozen", ["silo-switzerland", "supernode-switzerland"])
def test_a_frozen_silo_slows_no_sum_that_its_timetable_leaves_it_out_of(
    tmp_path: Path, small_config: Any, frozen: str
) -> None:
    """It stands still while four sums are made, and is in its own all the same, with the right bytes."""
    training = small_config().model_dump(mode="json", exclude_none=True)["training"]
    schedule = {"kind": "buffered", "buffer": 3, "pace": {"switzerland": 6}}
    config = small_config(training={**training, "rounds": 6, "schedule": schedule})
    folder = tmp_path / "up"
    freezing = Freezing(folder, (frozen,), when="round 1/", until="round 5/")
    done = rehearse(config, folder, freezing)
    assert freezing.over
    assert survivors(done) == [3, 3, 3, 3, 3, 4]
    lines = done.folder.server.run.metrics.read_text().splitlines()
    assert max(json.loads(line)["seconds"] for line in lines[:5]) < PATIENCE, "a sum waited for it"
    run(config, tmp_path / "local")
    expected = (tmp_path / "local" / "model.safetensors").read_bytes()
    assert done.folder.server.run.model.read_bytes() == expected
