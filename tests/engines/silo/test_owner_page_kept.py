"""The owner's page beside a silo's own process: written after each event, and never in anybody's way."""

from __future__ import annotations

import errno
import html
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.data import Records
from discreet.plan import Plan
from discreet.report import owner
from discreet.report.owner import PAGE, OwnerPage
from discreet.rounds import contribute
from discreet.rounds.contribution import Contribution
from discreet.rounds.directory import write_durably
from discreet.silo.policy import load_policy
from discreet.silo.requests import Refused
from discreet.silo.silo import Surroundings, open_silo
from tests.engines.conftest import DirectWire, SmallConsortium

NAME = "cleveland"

Run = Callable[..., DirectWire]


def wait_for(place: Path, sought: str) -> str:
    end = time.monotonic() + 20.0
    text = ""
    while time.monotonic() < end:
        if place.exists() and sought in (text := words(place)):
            return text
        time.sleep(0.02)
    raise AssertionError(f"the page does not say {sought!r} but: {text}")


def words(place: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", place.read_text().partition("<body>")[2]))


@contextmanager
def kept(consortium: SmallConsortium, told: list[str], *, pause: float = 0.01) -> Iterator[Path]:
    """Restarts the silo with its page beside it, and gives where that is."""
    path = consortium.folder.policy(NAME)
    policy = load_policy(path)
    page = OwnerPage(policy, path, told.append, pause=pause)
    node = consortium.node(NAME)
    consortium.silos[node].close()
    consortium.silos[node] = open_silo(path, Surroundings(tell=page.observe))
    page.renew()
    try:
        yield policy.state / PAGE
    finally:
        page.close()


def test_it_is_written_again_after_joining_each_release_a_refusal_and_the_end(
    consortium: SmallConsortium, run_rounds: Run, tmp_path: Path
) -> None:
    told: list[str] = []
    with kept(consortium, told) as place:
        wait_for(place, "No training is under way")
        run_rounds(consortium)
        wait_for(place, "nothing has left this silo yet")
        run_rounds(consortium, 1, seed=2)
        wait_for(place, "is under way (plan " + consortium.plan.digest()[:16] + "): 1 of 3 releases so far")
        run_rounds(consortium, 2, seed=3)
        wait_for(place, "): 2 of 3 releases so far")
        assert place.stat().st_mode & 0o777 == 0o600
        plan = tmp_path / "plan.json"
        consortium.plan.save(plan)
        refusing = ["silo", "refuse", str(consortium.folder.policy(NAME)), str(plan)]
        assert CliRunner().invoke(app, refusing).exit_code == 0
        wire = run_rounds(consortium, seed=4)
        assert any(isinstance(reply, Refused) and reply.silo == NAME for reply in wire.answered)
        wait_for(place, "refused: the policy, or a person here, does not allow it")
        consortium.silos[consortium.node(NAME)].close()
    assert "No process answers for this silo" in words(place)
    assert told == []


def test_the_last_page_waits_for_no_pause(consortium: SmallConsortium, run_rounds: Run) -> None:
    told: list[str] = []
    with kept(consortium, told, pause=3600.0) as place:
        wait_for(place, "Nothing has left this silo")
        run_rounds(consortium, 1)
    assert "1 of 3 releases" in words(place)
    assert told == []


def test_a_decision_takes_a_plan_off_the_page_at_once(consortium: SmallConsortium, run_rounds: Run) -> None:
    consortium.edit_policy(NAME, "[require]\n", '[require]\napproval = "person"\n')
    with kept(consortium, []) as place:
        run_rounds(consortium)
        wait_for(place, "To take part")
    policy = load_policy(consortium.folder.policy(NAME))
    (plan,) = (policy.state / "pending").glob("*.json")
    approving = ["silo", "approve", str(consortium.folder.policy(NAME)), str(plan)]
    assert CliRunner().invoke(app, approving).exit_code == 0
    assert "No plan waits for a decision" in words(place)


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EROFS, errno.EACCES], ids=["full", "read-only", "closed"]
)
def test_a_page_that_cannot_be_written_is_told_once_and_stops_nothing(
    consortium: SmallConsortium, run_rounds: Run, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fails(path: Path, data: bytes, *, mode: int = 0o666) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(owner, "write_durably", fails)
    told: list[str] = []
    with kept(consortium, told) as place:
        wire = run_rounds(consortium, 1, 2)
    assert not any(isinstance(reply, Refused) for reply in wire.answered)
    assert not place.exists()
    assert len(told) == 1
    assert "the owner's page cannot be written" in told[0]
    assert os.strerror(number) in told[0]


def test_a_name_that_is_taken_stops_nothing_and_leaves_no_scraps(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    told: list[str] = []
    (load_policy(consortium.folder.policy(NAME)).state / PAGE).mkdir()  # nothing can take its name
    with kept(consortium, told) as place:
        run_rounds(consortium, 1, 2)
    assert len(told) == 1
    assert list(place.parent.glob(f"{PAGE}.*")) == []


def test_a_disk_that_never_answers_keeps_no_contribution_waiting(
    consortium: SmallConsortium, run_rounds: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck, begun = threading.Event(), threading.Event()

    def waits(path: Path, data: bytes, *, mode: int = 0o666) -> None:
        begun.set()
        assert stuck.wait(60.0)
        write_durably(path, data, mode=mode)

    monkeypatch.setattr(owner, "write_durably", waits)
    with kept(consortium, []) as place:
        assert begun.wait(20.0)
        wire = run_rounds(consortium, 1, 2)
        assert not any(isinstance(reply, Refused) for reply in wire.answered)
        assert not place.exists(), "the rounds are over, and the first page is still on its way"
        stuck.set()
        wait_for(place, "2 of 3 releases so far")


def test_what_the_page_says_hangs_on_no_record(
    consortium: SmallConsortium, run_rounds: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that cannot be trained on are answered by noise; the page must not tell them from others."""
    failed = []

    def fails_on_records(
        plan: Plan, silo: str, release: int, *, records: Records, **named: Any
    ) -> Contribution:
        if silo == NAME and len(records):
            failed.append(silo)
            raise ValueError("a record that nobody foresaw")
        return contribute(plan, silo, release, records=records, **named)

    def page(place: Path) -> str:
        return re.sub(r"\d\d:\d\d:\d\d", "", wait_for(place, "1 of 3 releases so far"))

    shutil.copytree(consortium.folder.path, consortium.folder.path.with_name("before"))
    with kept(consortium, []) as place:
        run_rounds(consortium, 1)
        first = page(place)
    for silo in consortium.silos.values():
        silo.close()
    monkeypatch.setattr("discreet.silo.training.contribute", fails_on_records)
    again = consortium.folder.path
    shutil.rmtree(again)
    shutil.move(again.with_name("before"), again)
    for name in consortium.plan.facts.silos:
        consortium.reopen(name)
    with kept(consortium, []) as place:
        run_rounds(consortium, 1)
        assert page(place) == first
    assert failed == [NAME]


def test_a_new_silo_has_its_folder_before_its_first_page_is_written(
    consortium: SmallConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = consortium.folder.policy(NAME)
    state = load_policy(path).state
    consortium.silos[consortium.node(NAME)].close()
    shutil.rmtree(state)
    there = []

    class NoPage:
        def __init__(self, policy: Any, *_: Any) -> None:
            there.append(policy.state.is_dir())
            raise KeyboardInterrupt

    monkeypatch.setattr("discreet.silo.hardening.harden", lambda: ())
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr(owner, "OwnerPage", NoPage)
    CliRunner().invoke(app, ["silo", "serve", str(path)])
    assert there == [True]
    assert state.stat().st_mode & 0o777 == 0o700


def test_a_silo_whose_ledger_was_rolled_back_does_not_serve_and_says_so_on_the_page(
    consortium: SmallConsortium, run_rounds: Run, short_folder: Path
) -> None:
    run_rounds(consortium, 1)
    consortium.silos[consortium.node(NAME)].close()
    path = consortium.folder.policy(NAME)
    ledger = load_policy(path).state / "ledger.jsonl"
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:1]))
    found = subprocess.run(
        [sys.executable, "-m", "discreet", "silo", "serve", path, "--socket", short_folder / "silo.sock"],
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode != 0
    text = words(load_policy(path).state / PAGE)
    assert "Look at this first" in text
    assert "what was spent cannot be told" in text
    assert "anchor" in text
    assert "No process answers for this silo" in text
