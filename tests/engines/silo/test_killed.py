"""A silo under a filter dies at every point at which it writes: its limits stand, and it takes part again."""

from __future__ import annotations

import os
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch

from discreet.engines.flower.consortium import ConsortiumFolder
from discreet.privacy.ledger import read_ledger
from discreet.silo.policy import load_policy
from discreet.silo.policy.ledger import spent_by_training
from discreet.silo.policy.limits import Fixed
from discreet.silo.requests import Refused
from discreet.silo.silo import open_silo
from discreet.silo.state import SiloState
from tests.engines.conftest import DirectWire, SmallConsortium

NAME = "cleveland"
BEFORE, AFTER = "max_epsilon = 6.0", "max_epsilon = 7.0"
SESSIONS = count(2)
Run = Callable[..., DirectWire]


@pytest.fixture(params=["renyi", "gaussian"])
def filtered(consortium: SmallConsortium, request: pytest.FixtureRequest) -> SmallConsortium:
    """Nothing was contributed yet; every silo is closed, so that its folder may be copied."""
    path = consortium.folder.policy(NAME)
    text = path.read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    path.write_text(text.replace(old, f'composition = "{request.param}"\n{BEFORE}'))
    for silo in consortium.silos.values():
        silo.close()
    return consortium


def opened(consortium: SmallConsortium, path: Path) -> SmallConsortium:
    """The consortium whose folder lies at ``path``, its processes new."""
    folder, names = ConsortiumFolder(path), consortium.plan.facts.silos
    silos = {100 + number: open_silo(folder.policy(name)) for number, name in enumerate(names)}
    return SmallConsortium(folder, consortium.plan, silos)


def die_at(folder: Path, number: int) -> None:
    """Kills this process as it begins its ``number``-th fsync or replacement of a file below ``folder``.

    The fsync of a file that is about to replace another is no point of its own: a death there leaves what a
    death at the replacement leaves, and losing what was not synced takes more than the death of a process.
    """
    fsync, replace, points = os.fsync, os.replace, iter(range(number - 1))

    def point(path: str) -> None:
        if Path(path).is_relative_to(folder) and next(points, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched_fsync(file: int) -> None:
        path = os.readlink(f"/proc/self/fd/{file}")
        if not path.endswith(".tmp"):
            point(path)
        fsync(file)

    def watched_replace(source: Any, target: Any) -> None:
        point(os.fspath(target))
        replace(source, target)

    os.fsync, os.replace = watched_fsync, watched_replace  # type: ignore[assignment]


def dies(consortium: SmallConsortium, path: Path, number: int, run_rounds: Run) -> bool:
    """Runs a round in a process that dies at a point of writing; says whether there was such a point."""
    if (child := os.fork()) == 0:
        try:
            torch.set_num_threads(1)  # threads of the parent are not here
            die_at((path / "silos" / NAME).resolve(), number)
            run_rounds(opened(consortium, path), 1)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0
    return killed


def deaths(consortium: SmallConsortium, folder: Path, run_rounds: Run) -> Iterator[Path]:
    """Yields what each death leaves of a copy of the consortium, from the first point to the last."""
    number = 1
    while True:
        path = Path(shutil.copytree(consortium.folder.path, folder / f"death-{number}"))
        if not dies(consortium, path, number, run_rounds):
            return
        yield path
        shutil.rmtree(path)
        number += 1


def charged(path: Path) -> int:
    ledger = path / "silos" / NAME / "state" / "ledger.jsonl"
    entries = tuple(line.entry for line in read_ledger(ledger)) if ledger.exists() else ()
    return sum(spent.charged for spent in spent_by_training(entries).values())


def allow(path: Path, old: str, new: str) -> None:
    """The owner allows another budget."""
    policy = ConsortiumFolder(path).policy(NAME)
    policy.write_text(policy.read_text().replace(old, new))


def takes_part(consortium: SmallConsortium, path: Path, run_rounds: Run) -> bool:
    """Says whether the silo contributes to one more round, after a new start, and refuses nothing."""
    before, again = charged(path), opened(consortium, path)
    try:
        wire, node = run_rounds(again, 1, seed=next(SESSIONS)), again.node(NAME)
    finally:
        for silo in again.silos.values():
            silo.close()
    asked = [to for to, _ in wire.seen]
    replies = [reply for to, reply in zip(asked, wire.answered, strict=True) if to == node]
    return charged(path) > before and not any(isinstance(reply, Refused) for reply in replies)


def fixed(path: Path) -> tuple[Fixed | None, Fixed]:
    """The limits that stand, and those of the policy."""
    policy = load_policy(ConsortiumFolder(path).policy(NAME))
    return SiloState(policy).fixed(), policy.fixed


def test_a_death_at_any_point_leaves_no_charge_under_other_limits(
    filtered: SmallConsortium, tmp_path: Path, run_rounds: Run
) -> None:
    stood, charges = [], []
    for path in deaths(filtered, tmp_path / "deaths", run_rounds):
        standing, now = fixed(path)
        stood.append(standing is not None)
        charges.append(charged(path))
        assert standing in (None, now)
        assert standing is not None or not charges[-1], "charged under limits that stand nowhere"
        allow(path, BEFORE, AFTER)
        if charges[-1]:
            assert not takes_part(filtered, path, run_rounds)
            assert fixed(path)[0] == now
            allow(path, AFTER, BEFORE)
        assert takes_part(filtered, path, run_rounds)
        standing, now = fixed(path)
        assert standing == now
    assert (stood[0], stood[-1]) == (False, True)
    assert (charges[0], charges[-1]) == (0, 1)
    assert sum(stood) - sum(charges) >= 4, "deaths after the limits were written and before the charge"


def test_nor_is_a_silo_stuck_whose_limits_are_anchored_and_replaced(
    filtered: SmallConsortium, tmp_path: Path, run_rounds: Run
) -> None:
    state = SiloState(load_policy(filtered.folder.policy(NAME)))
    state.fix(charged=False)
    state.anchor_anew()
    allow(filtered.folder.path, BEFORE, AFTER)
    standing = []
    for path in deaths(filtered, tmp_path / "deaths", run_rounds):
        standing.append(fixed(path)[0])
        if charged(path):
            break
        assert takes_part(filtered, path, run_rounds)
    old, new = fixed(filtered.folder.path)
    assert old != new
    assert (standing[0], standing[-1]) == (old, new)
